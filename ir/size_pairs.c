/* Pairs up the symbols of two tables as they are met, and hashes expressions so that the order of terms does not count:
 *
 *   left   n*m + 2*n      n is the 1st symbol met, m the 2nd
 *   right  2*a + b*a      equal, where n was paired with a and m with b before
 */
#include "ir/size_pairs.h"

void laze_size_pairs_init(laze_size_pairs *pairs, laze_context *context, const laze_size_table *left,
                          const laze_size_table *right) {
  *pairs = (laze_size_pairs){.context = context, .tables = {left, right}};
}

void laze_size_pairs_deinit(laze_size_pairs *pairs) {
  for (int side = 0; side < 2; side++) {
    laze_free(pairs->context, pairs->hashes[side].entries);
    laze_free(pairs->context, pairs->partners[side].entries);
  }
  laze_free(pairs->context, pairs->stack);
}

static laze_word_entry *find_entry(const laze_word_map *map, laze_size key) {
  for (uint64_t at = laze_hash_mix((uint64_t)key, 1);; at++) {
    laze_word_entry *entry = &map->entries[at & (uint64_t)(map->capacity - 1)];
    if (!entry->used || entry->key == key) return entry;
  }
}

static const uint64_t *find(const laze_word_map *map, laze_size key) {
  const laze_word_entry *entry = map->capacity ? find_entry(map, key) : NULL;
  return entry && entry->used ? &entry->value : NULL;
}

static void insert(laze_size_pairs *pairs, laze_word_map *map, laze_size key, uint64_t value) {
  if (map->count * 2 >= map->capacity) {
    laze_word_map grown = {.capacity = map->capacity ? map->capacity * 2 : 16};
    grown.entries = laze_alloc_zero(pairs->context, grown.capacity * (int64_t)sizeof *grown.entries);
    if (!grown.entries) {
      pairs->failed = true;
      return;
    }
    for (int64_t i = 0; i < map->capacity; i++)
      if (map->entries[i].used) *find_entry(&grown, map->entries[i].key) = map->entries[i];
    laze_free(pairs->context, map->entries);
    map->entries = grown.entries;
    map->capacity = grown.capacity;
  }
  laze_word_entry *entry = find_entry(map, key);
  map->count += !entry->used;
  *entry = (laze_word_entry){key, value, true};
}

static void push(laze_size_pairs *pairs, laze_size size) {
  if (laze_grow(pairs->context, (void **)&pairs->stack, &pairs->stack_capacity, pairs->stack_count + 1, sizeof size,
                NULL) == LAZE_OK)
    pairs->stack[pairs->stack_count++] = size;
  else
    pairs->failed = true;
}

/* Whether the two symbols correspond; makes them do so where neither has a partner yet. */
static bool match_symbols(laze_size_pairs *pairs, laze_size left, laze_size right) {
  const uint64_t *forth = find(&pairs->partners[LAZE_LEFT], left);
  const uint64_t *back = find(&pairs->partners[LAZE_RIGHT], right);
  if (forth || back) return forth && back && (laze_size)*forth == right;
  insert(pairs, &pairs->partners[LAZE_LEFT], left, (uint64_t)right);
  insert(pairs, &pairs->partners[LAZE_RIGHT], right, (uint64_t)left);
  return true;
}

/* Equal for symbols that correspond. One that appears inside an expression before it stands alone is taken to
 * correspond to the one of the same number, in hashing as in comparing, so that equal graphs have equal hashes. */
static uint64_t hash_symbol(laze_size_pairs *pairs, int side, laze_size symbol) {
  if (!pairs->tables[LAZE_RIGHT]) return laze_hash_mix((uint64_t)laze_size_get(pairs->tables[side], symbol)->symbol, 3);
  if (side == LAZE_LEFT) return (uint64_t)symbol;
  const uint64_t *partner = find(&pairs->partners[LAZE_RIGHT], symbol);
  if (partner) return *partner;
  int64_t number = laze_size_get(pairs->tables[LAZE_RIGHT], symbol)->symbol;
  if (number >= laze_size_symbol_count(pairs->tables[LAZE_LEFT])) return (uint64_t)number;
  laze_size left = laze_size_symbol_at(pairs->tables[LAZE_LEFT], number);
  return match_symbols(pairs, left, symbol) ? (uint64_t)left : (uint64_t)number;
}

/* The hash of an operand of a node of that kind: terms of a sum and factors of a product are added up, so that neither
 * order nor grouping counts. */
static bool find_hash(const laze_size_pairs *pairs, int side, laze_size size, int parent_kind, uint64_t *out) {
  if (laze_size_is_constant(size)) {
    *out = laze_hash_mix((uint64_t)size, 2);
    return true;
  }
  const uint64_t *raw = find(&pairs->hashes[side], size);
  if (!raw) return false;
  int kind = laze_size_get(pairs->tables[side], size)->kind;
  bool joins = kind == parent_kind && (kind == LAZE_SIZE_ADD || kind == LAZE_SIZE_MUL);
  *out = joins ? *raw : laze_hash_mix(*raw, (uint64_t)kind + 3);
  return true;
}

static bool is_commutative(int kind) {
  return kind == LAZE_SIZE_ADD || kind == LAZE_SIZE_MUL || kind == LAZE_SIZE_MIN || kind == LAZE_SIZE_MAX;
}

/* Hashes the expression on top of the stack, or pushes what has to be hashed before. */
static void hash_top(laze_size_pairs *pairs, int side) {
  laze_size size = pairs->stack[pairs->stack_count - 1];
  const laze_size_node *node = laze_size_get(pairs->tables[side], size);
  uint64_t left = 0, right = 0, hash;
  if (node->kind == LAZE_SIZE_SYMBOL) {
    hash = hash_symbol(pairs, side, size);
  } else {
    bool left_known = find_hash(pairs, side, node->left, node->kind, &left);
    bool right_known = find_hash(pairs, side, node->right, node->kind, &right);
    if (!left_known) push(pairs, node->left);
    if (!right_known) push(pairs, node->right);
    if (!left_known || !right_known) return;
    hash = is_commutative(node->kind) ? left + right : laze_hash_mix(left * 3 + 1, right);
  }
  pairs->stack_count--;
  if (!find(&pairs->hashes[side], size)) insert(pairs, &pairs->hashes[side], size, hash);
}

static uint64_t hash_size(laze_size_pairs *pairs, int side, laze_size size) {
  uint64_t hash = 0;
  if (find_hash(pairs, side, size, -1, &hash)) return hash;
  pairs->stack_count = 0;
  push(pairs, size);
  while (!pairs->failed && pairs->stack_count > 0) hash_top(pairs, side);
  if (!find_hash(pairs, side, size, -1, &hash)) pairs->failed = true;
  return hash;
}

uint64_t laze_size_pairs_hash(laze_size_pairs *pairs, laze_size size) {
  bool alone = !laze_size_is_constant(size) && laze_size_get(pairs->tables[LAZE_LEFT], size)->kind == LAZE_SIZE_SYMBOL;
  if (alone && !find(&pairs->hashes[LAZE_LEFT], size))
    insert(pairs, &pairs->hashes[LAZE_LEFT], size, pairs->next_number++);
  return hash_size(pairs, LAZE_LEFT, size);
}

bool laze_size_pairs_equal(laze_size_pairs *pairs, laze_size left, laze_size right) {
  if (laze_size_is_constant(left) || laze_size_is_constant(right)) return left == right;
  if (pairs->tables[LAZE_LEFT] == pairs->tables[LAZE_RIGHT]) return left == right;
  int left_kind = laze_size_get(pairs->tables[LAZE_LEFT], left)->kind;
  int right_kind = laze_size_get(pairs->tables[LAZE_RIGHT], right)->kind;
  if (left_kind == LAZE_SIZE_SYMBOL && right_kind == LAZE_SIZE_SYMBOL)
    return match_symbols(pairs, left, right) && !pairs->failed;
  uint64_t left_hash = hash_size(pairs, LAZE_LEFT, left), right_hash = hash_size(pairs, LAZE_RIGHT, right);
  return left_hash == right_hash && !pairs->failed;
}

#include "ir/size_pairs.h"

#include <string.h>

void laze_size_pairs_init(laze_size_pairs *pairs, laze_context *context, const laze_size_table *left,
                          const laze_size_table *right) {
  *pairs = (laze_size_pairs){.context = context, .left = left, .right = right};
}

void laze_size_pairs_deinit(laze_size_pairs *pairs) {
  laze_free(pairs->context, pairs->slots);
  laze_free(pairs->context, pairs->symbols);
  laze_free(pairs->context, pairs->stack);
}

static laze_size_pair *find_slot(laze_size_pair *slots, int64_t capacity, laze_size key) {
  uint64_t at = laze_hash_mix((uint64_t)key, 1);
  for (;; at++) {
    laze_size_pair *slot = &slots[at & (uint64_t)(capacity - 1)];
    if (!slot->used || slot->left == key) return slot;
  }
}

static const laze_size_pair *find(laze_size_pair *slots, int64_t capacity, laze_size key) {
  const laze_size_pair *slot = capacity ? find_slot(slots, capacity, key) : NULL;
  return slot && slot->used ? slot : NULL;
}

static bool insert(laze_context *context, laze_size_pair **slots, int64_t *count, int64_t *capacity, laze_size key,
                   uint64_t value) {
  if (*count * 2 >= *capacity) {
    int64_t wanted = *capacity ? *capacity * 2 : 16;
    laze_size_pair *grown = laze_alloc_zero(context, wanted * (int64_t)sizeof *grown);
    if (!grown) return false;
    for (int64_t i = 0; i < *capacity; i++)
      if ((*slots)[i].used) *find_slot(grown, wanted, (*slots)[i].left) = (*slots)[i];
    laze_free(context, *slots);
    *slots = grown;
    *capacity = wanted;
  }
  *find_slot(*slots, *capacity, key) = (laze_size_pair){key, value, true};
  ++*count;
  return true;
}

static const laze_size_pair *find_known(laze_size_pairs *pairs, laze_size left) {
  return find(pairs->slots, pairs->capacity, left);
}

static bool learn(laze_size_pairs *pairs, laze_size left, uint64_t value) {
  return insert(pairs->context, &pairs->slots, &pairs->count, &pairs->capacity, left, value);
}

static bool push(laze_size_pairs *pairs, laze_size size) {
  if (laze_grow(pairs->context, (void **)&pairs->stack, &pairs->stack_capacity, pairs->stack_count + 1, sizeof size,
                NULL) != LAZE_OK)
    return false;
  pairs->stack[pairs->stack_count++] = size;
  return true;
}

/* Two symbols correspond unless one of them already corresponds to another. */
static bool match_symbols(laze_size_pairs *pairs, laze_size left, laze_size right) {
  const laze_size_pair *back = find(pairs->symbols, pairs->symbol_capacity, right);
  if (back) return (laze_size)back->right == left;
  return insert(pairs->context, &pairs->symbols, &pairs->symbol_count, &pairs->symbol_capacity, right, (uint64_t)left);
}

/* Matches the top two sizes of the stack, pushing what remains to be matched below them. */
static bool match_top(laze_size_pairs *pairs) {
  laze_size right = pairs->stack[--pairs->stack_count], left = pairs->stack[--pairs->stack_count];
  if (laze_size_is_constant(left) || laze_size_is_constant(right)) return left == right;
  const laze_size_pair *known = find_known(pairs, left);
  if (known) return (laze_size)known->right == right;
  const laze_size_node *a = laze_size_get(pairs->left, left), *b = laze_size_get(pairs->right, right);
  if (a->kind != b->kind || !learn(pairs, left, (uint64_t)right)) return false;
  if (a->kind == LAZE_SIZE_SYMBOL) return match_symbols(pairs, left, right);
  return push(pairs, a->left) && push(pairs, b->left) && push(pairs, a->right) && push(pairs, b->right);
}

bool laze_size_pairs_equal(laze_size_pairs *pairs, laze_size left, laze_size right) {
  if (laze_size_is_constant(left) || laze_size_is_constant(right)) return left == right;
  if (pairs->left == pairs->right && left == right) return true;
  pairs->stack_count = 0;
  bool equal = push(pairs, left) && push(pairs, right);
  while (equal && pairs->stack_count > 0) equal = match_top(pairs);
  return equal;
}

static uint64_t known_hash(laze_size_pairs *pairs, laze_size size, bool *known) {
  *known = true;
  if (laze_size_is_constant(size)) return laze_hash_mix((uint64_t)size, 2);
  const laze_size_pair *pair = find_known(pairs, size);
  *known = pair != NULL;
  return pair ? pair->right : 0;
}

/* Hashes the size on top of the stack, or pushes the operands it needs first. */
static bool hash_top(laze_size_pairs *pairs) {
  laze_size size = pairs->stack[pairs->stack_count - 1];
  const laze_size_node *node = laze_size_get(pairs->left, size);
  bool left_known = true, right_known = true;
  uint64_t left = 0, right = 0;
  if (node->kind == LAZE_SIZE_SYMBOL) {
    left = (uint64_t)pairs->symbol_count++; /* numbered as they are met, not by name */
  } else {
    left = known_hash(pairs, node->left, &left_known);
    right = known_hash(pairs, node->right, &right_known);
  }
  if (!left_known) return push(pairs, node->left);
  if (!right_known) return push(pairs, node->right);
  pairs->stack_count--;
  return find_known(pairs, size) ||
         learn(pairs, size, laze_hash_mix(laze_hash_mix(left, (uint64_t)node->kind + 3), right));
}

uint64_t laze_size_pairs_hash(laze_size_pairs *pairs, laze_size size, bool *failed) {
  bool known;
  uint64_t hash = known_hash(pairs, size, &known);
  if (known) return hash;
  pairs->stack_count = 0;
  bool going = push(pairs, size);
  while (going && pairs->stack_count > 0) going = hash_top(pairs);
  if (!going) *failed = true;
  return known_hash(pairs, size, &known);
}

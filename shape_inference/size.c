/* The table of size expressions: symbols, and nodes that are hash-consed over two sizes each.
 *
 *   2*n + 1     nodes:   0  symbol n
 *                        1  MUL  n, 2       a word below the constants names a node
 *                        2  ADD  1, 1       right: the constant 1
 *
 * What makes expressions simple before they get here is size_build.c. */
#include "shape_inference/size.h"

#include "base/checked.h"
#include "base/dtype.h"
#include "shape_inference/size_internal.h"

#include <assert.h>
#include <string.h>

/* Room for a few names, as most tables have: a module may have very many tables. */
enum { FIRST_SLOTS = 16, FIRST_NAMES = 112, LONGEST_NAME = 255 };

laze_status laze_size_table_create(laze_context *context, laze_size_table **out, laze_error *error) {
  laze_size_table *table = laze_alloc_zero(context, sizeof *table);
  if (!table) return laze_fail_memory(error, "a size table", sizeof *table);
  table->context = context;
  laze_arena_init(&table->names, context);
  *out = table;
  return LAZE_OK;
}

void laze_size_table_destroy(laze_size_table *table) {
  if (!table) return;
  laze_context *context = table->context;
  laze_arena_deinit(&table->names);
  laze_free(context, table->nodes);
  laze_free(context, table->slots);
  laze_free(context, table->symbols);
  laze_free(context, table->hints);
  laze_free(context, table->facts);
  laze_free(context, table->carried);
  laze_free(context, table->fact_slots);
  laze_free(context, table->left.items);
  laze_free(context, table->right.items);
  laze_free(context, table->result.items);
  laze_free(context, table->factors);
  laze_free(context, table);
}

int64_t laze_size_table_bytes(const laze_size_table *table) {
  return (int64_t)sizeof *table + table->names.bytes + table->node_capacity * (int64_t)sizeof *table->nodes +
         (table->slot_count + table->fact_slot_count) * (int64_t)sizeof *table->slots +
         table->symbol_capacity * (int64_t)sizeof *table->symbols +
         table->hint_capacity * (int64_t)sizeof *table->hints + table->fact_capacity * (int64_t)sizeof *table->facts +
         table->carried_capacity * (int64_t)sizeof *table->carried +
         (table->left.capacity + table->right.capacity + table->result.capacity) * (int64_t)sizeof(laze_size_term) +
         table->factor_capacity * (int64_t)sizeof *table->factors;
}

static uint64_t hash_node(const laze_size_node *node) {
  if (node->kind == LAZE_SIZE_SYMBOL) return laze_hash_bytes(node->name, strlen(node->name)).low;
  return laze_hash_mix(laze_hash_mix((uint64_t)node->left, (uint64_t)node->right), (uint64_t)node->kind);
}

static bool same_node(const laze_size_node *a, const laze_size_node *b) {
  if (a->kind != b->kind) return false;
  if (a->kind == LAZE_SIZE_SYMBOL) return strcmp(a->name, b->name) == 0;
  return a->left == b->left && a->right == b->right;
}

/* The slot that holds a node equal to `node`, or the free one where it belongs. */
static int32_t *find_slot(const laze_size_table *table, const laze_size_node *node) {
  uint64_t mask = (uint64_t)table->slot_count - 1;
  for (uint64_t at = hash_node(node);; at++) {
    int32_t *slot = &table->slots[at & mask];
    if (*slot < 0 || same_node(&table->nodes[*slot], node)) return slot;
  }
}

static laze_status grow_slots(laze_size_table *table, laze_error *error) {
  int64_t count = table->slot_count ? table->slot_count * 2 : FIRST_SLOTS;
  int32_t *slots = laze_alloc_array(table->context, count, sizeof *slots);
  if (!slots) return laze_fail_memory(error, "the hash table of sizes", count * (int64_t)sizeof *slots);
  memset(slots, 0xff, (size_t)count * sizeof *slots);
  laze_free(table->context, table->slots);
  table->slots = slots;
  table->slot_count = count;
  for (int64_t i = 0; i < table->node_count; i++) *find_slot(table, &table->nodes[i]) = (int32_t)i;
  return LAZE_OK;
}

/* Finds or adds `node`. Its name is copied, its range is the caller's. */
static laze_status add_node(laze_size_table *table, laze_size_node node, bool *is_new, laze_size *out,
                            laze_error *error) {
  if (table->node_count * 2 >= table->slot_count) LAZE_TRY(grow_slots(table, error));
  int32_t *slot = find_slot(table, &node);
  *is_new = *slot < 0;
  if (*is_new) {
    if (table->node_count == INT32_MAX)
      return laze_fail(error, LAZE_OUT_OF_RANGE, "a size table cannot hold more than %d expressions", INT32_MAX);
    LAZE_TRY(laze_grow(table->context, (void **)&table->nodes, &table->node_capacity, table->node_count + 1,
                       sizeof *table->nodes, error));
    if (node.name && !(node.name = laze_arena_copy_string(&table->names, node.name)))
      return laze_fail_memory(error, "the name of a size", -1);
    *slot = (int32_t)table->node_count;
    table->nodes[table->node_count++] = node;
  }
  *out = laze_size_from_index(*slot);
  return LAZE_OK;
}

static void set_order(const laze_size_table *table, laze_size_node *node) {
  uint64_t shapes[2];
  node->first = INT64_MAX;
  node->last = -1;
  node->degree = 0;
  for (int i = 0; i < 2; i++) {
    laze_size operand = i == 0 ? node->left : node->right;
    shapes[i] = laze_hash_mix((uint64_t)operand, 1);
    if (laze_size_is_constant(operand)) continue;
    const laze_size_node *part = laze_size_get(table, operand);
    shapes[i] = part->shape;
    if (part->first < node->first) node->first = part->first;
    if (part->last > node->last) node->last = part->last;
    node->degree += part->degree;
  }
  if (node->kind != LAZE_SIZE_MUL) node->degree = 1;
  node->shape = laze_hash_mix(laze_hash_mix(shapes[0], shapes[1]), (uint64_t)node->kind);
}

laze_status laze_size_intern(laze_size_table *table, laze_size_kind kind, laze_size left, laze_size right,
                             laze_size *out, laze_error *error) {
  laze_size_range range =
      laze_size_range_apply(kind, laze_size_get_range(table, left), laze_size_get_range(table, right));
  laze_size_node node = {.kind = kind, .left = left, .right = right, .low = range.low, .high = range.high};
  node.defined = laze_size_is_defined(table, left) || laze_size_is_defined(table, right);
  set_order(table, &node);
  bool is_new;
  return add_node(table, node, &is_new, out, error);
}

bool laze_size_name_is_reserved(const char *name) {
  static const char *const words[] = {"true", "false", "none", "inf", "nan", "token"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(words[i], name) == 0) return true;
  return laze_dtype_find(name) != LAZE_DTYPE_NONE;
}

/* Names are what the text form can read back. */
static bool is_name(const char *name) {
  if (*name >= '0' && *name <= '9') return false;
  int64_t length = 0;
  for (; name[length]; length++) {
    char c = name[length];
    bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (!good || length == LONGEST_NAME) return false;
  }
  return length > 0;
}

laze_status laze_size_symbol(laze_size_table *table, const char *name, laze_size *out, laze_error *error) {
  if (!name || !is_name(name))
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "\"%.40s\" cannot name a size; use letters, digits and _, a letter or _ first, at most %d",
                     name ? name : "(null)", LONGEST_NAME);
  if (laze_size_name_is_reserved(name))
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "\"%s\" cannot name a size, for it is a word of the text form; choose another name", name);
  LAZE_TRY(laze_grow(table->context, (void **)&table->symbols, &table->symbol_capacity, table->symbol_count + 1,
                     sizeof *table->symbols, error));
  LAZE_TRY(laze_grow(table->context, (void **)&table->hints, &table->hint_capacity, table->symbol_count + 1,
                     sizeof *table->hints, error));
  laze_size_node node = {.kind = LAZE_SIZE_SYMBOL, .symbol = table->symbol_count, .high = LAZE_SIZE_CONSTANT_MAX};
  node.name = name;
  node.first = node.last = table->symbol_count;
  node.degree = 1;
  node.shape = laze_hash_mix((uint64_t)table->symbol_count, 2);
  if (table->symbol_count == 0 && !laze_arena_reserve(&table->names, FIRST_NAMES))
    return laze_fail_memory(error, "the names of sizes", FIRST_NAMES);
  bool is_new;
  LAZE_TRY(add_node(table, node, &is_new, out, error));
  if (is_new) {
    table->hints[table->symbol_count] = -1;
    table->symbols[table->symbol_count++] = *out;
  }
  return LAZE_OK;
}

laze_size laze_size_find_symbol(const laze_size_table *table, const char *name) {
  if (table->slot_count == 0) return 0;
  int32_t slot = *find_slot(table, &(laze_size_node){.kind = LAZE_SIZE_SYMBOL, .name = name});
  return slot < 0 ? 0 : laze_size_from_index(slot);
}

int64_t laze_size_symbol_count(const laze_size_table *table) {
  return table ? table->symbol_count : 0;
}

laze_size laze_size_symbol_at(const laze_size_table *table, int64_t index) {
  assert(index >= 0 && index < table->symbol_count);
  return table->symbols[index];
}

const char *laze_size_symbol_name(const laze_size_table *table, int64_t index) {
  return laze_size_get(table, laze_size_symbol_at(table, index))->name;
}

bool laze_size_is_valid(const laze_size_table *table, laze_size size) {
  return laze_size_is_constant(size) || (laze_size_index(size) >= 0 && laze_size_index(size) < table->node_count);
}

const laze_size_node *laze_size_get(const laze_size_table *table, laze_size size) {
  assert(table && !laze_size_is_constant(size) && laze_size_index(size) < table->node_count);
  return &table->nodes[laze_size_index(size)];
}

const char *laze_size_kind_name(laze_size_kind kind) {
  static const char *const names[] = {
      [LAZE_SIZE_SYMBOL] = "symbol",      [LAZE_SIZE_ADD] = "+",   [LAZE_SIZE_MUL] = "*",
      [LAZE_SIZE_FLOOR_DIV] = "floordiv", [LAZE_SIZE_MOD] = "mod", [LAZE_SIZE_MIN] = "min",
      [LAZE_SIZE_CEIL_DIV] = "ceildiv",   [LAZE_SIZE_MAX] = "max",
  };
  return names[kind];
}

static int64_t ceil_div(int64_t a, int64_t b) {
  return laze_floor_div(a, b) + (laze_floor_mod(a, b) != 0);
}

laze_status laze_size_apply(laze_size_kind kind, int64_t a, int64_t b, int64_t *out, laze_error *error) {
  bool overflow = false;
  bool divides = kind == LAZE_SIZE_FLOOR_DIV || kind == LAZE_SIZE_CEIL_DIV || kind == LAZE_SIZE_MOD;
  if (divides && b == 0)
    return laze_fail(error, LAZE_OUT_OF_RANGE, "%s(%lld, 0): a size is divided by zero; the divisor must not be 0",
                     laze_size_kind_name(kind), (long long)a);
  if (divides && b == -1) overflow = a == INT64_MIN;
  switch (kind) {
  case LAZE_SIZE_ADD: overflow = laze_add_overflows(a, b, out); break;
  case LAZE_SIZE_MUL: overflow = laze_mul_overflows(a, b, out); break;
  case LAZE_SIZE_FLOOR_DIV: *out = laze_floor_div(a, b); break;
  case LAZE_SIZE_CEIL_DIV: *out = ceil_div(a, b); break;
  case LAZE_SIZE_MOD: *out = laze_floor_mod(a, b); break;
  case LAZE_SIZE_MIN: *out = a < b ? a : b; break;
  default: *out = a > b ? a : b; break;
  }
  if (!overflow) return LAZE_OK;
  return laze_fail(error, LAZE_OUT_OF_RANGE, "%lld %s %lld: size arithmetic overflows; sizes must stay below 2^62",
                   (long long)a, laze_size_kind_name(kind), (long long)b);
}

laze_size_range laze_size_get_range(const laze_size_table *table, laze_size size) {
  if (laze_size_is_constant(size)) return (laze_size_range){size, size};
  const laze_size_node *node = laze_size_get(table, size);
  return (laze_size_range){node->low, node->high};
}

static int64_t saturating_add(int64_t a, int64_t b) {
  int64_t sum;
  if (laze_add_overflows(a, b, &sum)) return a < 0 ? INT64_MIN : INT64_MAX;
  return sum;
}

static int64_t saturating_mul(int64_t a, int64_t b) {
  int64_t product;
  if (laze_mul_overflows(a, b, &product)) return (a < 0) != (b < 0) ? INT64_MIN : INT64_MAX;
  return product;
}

static int64_t corner(laze_size_kind kind, int64_t a, int64_t b) {
  if (kind == LAZE_SIZE_MUL) return saturating_mul(a, b);
  if (a == INT64_MIN && b == -1) return INT64_MAX;
  return kind == LAZE_SIZE_FLOOR_DIV ? laze_floor_div(a, b) : ceil_div(a, b);
}

/* Products, and quotients by what has one sign, are monotone in each operand: their extremes are at the corners. */
static laze_size_range range_of_corners(laze_size_kind kind, laze_size_range a, laze_size_range b) {
  int64_t corners[] = {corner(kind, a.low, b.low), corner(kind, a.low, b.high), corner(kind, a.high, b.low),
                       corner(kind, a.high, b.high)};
  laze_size_range range = {corners[0], corners[0]};
  for (int i = 1; i < 4; i++) {
    if (corners[i] < range.low) range.low = corners[i];
    if (corners[i] > range.high) range.high = corners[i];
  }
  return range;
}

static laze_size_range range_of_mod(laze_size_range a, laze_size_range b) {
  if (b.low > 0 && a.low >= 0 && a.high < b.low) return a;
  laze_size_range range = {b.low < 0 ? b.low + 1 : 0, b.high > 0 ? b.high - 1 : 0};
  if (b.low >= 0 && a.low >= 0 && a.high < range.high) range.high = a.high;
  return range;
}

laze_size_range laze_size_range_apply(laze_size_kind kind, laze_size_range a, laze_size_range b) {
  switch (kind) {
  case LAZE_SIZE_ADD: return (laze_size_range){saturating_add(a.low, b.low), saturating_add(a.high, b.high)};
  case LAZE_SIZE_MUL: return range_of_corners(kind, a, b);
  case LAZE_SIZE_MOD: return range_of_mod(a, b);
  case LAZE_SIZE_MIN: return (laze_size_range){a.low < b.low ? a.low : b.low, a.high < b.high ? a.high : b.high};
  case LAZE_SIZE_MAX: return (laze_size_range){a.low > b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
  default: break;
  }
  /* A divisor is never 0 where the quotient has a value. */
  if (b.low == 0) b.low = 1;
  if (b.high == 0) b.high = -1;
  if (b.low > b.high || (b.low < 0 && b.high > 0)) return (laze_size_range){INT64_MIN, INT64_MAX};
  return range_of_corners(kind, a, b);
}

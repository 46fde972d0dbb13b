/* The table of unknown sizes, and how pending nodes learn numbers. A node with unknown sizes keeps those of its results
 * twice, as they were recorded, by which it is predicted, and as they are:
 *
 *   ... attributes | f32[min(u0,8)] | f32[5] | types of operands ...
 *                    recorded         learned: where cells look
 */
#include "lazy/value/unknown.h"

#include "ir/attribute.h"
#include "ir/op.gen.h"
#include "lazy/lazy.h"
#include "lazy/thread.h"
#include "lazy/value/failure.h"
#include "lazy/value/grad_node.h"
#include "lazy/value/pending.h"

laze_status laze_unknowns_reserve(laze_lazy *lazy, laze_error *error) {
  laze_unknowns *unknowns = &lazy->unknowns;
  if (!unknowns->table) {
    LAZE_TRY(laze_size_table_create(lazy->context, &unknowns->table, error));
    laze_size_table_set_asking(unknowns->table);
  }
  int64_t count = laze_size_symbol_count(unknowns->table) + 1;
  void *array = unknowns->definers;
  LAZE_TRY(laze_grow(lazy->context, &array, &unknowns->definer_capacity, count, sizeof *unknowns->definers, error));
  unknowns->definers = array;
  array = unknowns->numbers;
  LAZE_TRY(laze_grow(lazy->context, &array, &unknowns->number_capacity, count, sizeof *unknowns->numbers, error));
  unknowns->numbers = array;
  unknowns->definers[count - 1] = NULL;
  return LAZE_OK;
}

void laze_unknowns_deinit(laze_unknowns *unknowns, laze_context *context) {
  laze_size_table_destroy(unknowns->table);
  laze_free(context, unknowns->definers);
  laze_free(context, unknowns->numbers);
  *unknowns = (laze_unknowns){0};
}

bool laze_type_is_unknown(const laze_type *type) {
  for (int i = 0; i < type->rank; i++)
    if (!laze_size_is_constant(type->sizes[i])) return true;
  return false;
}

typedef struct {
  const laze_unknowns *unknowns;
  void (*visit)(void *self, laze_pending *definer);
  void *self;
} definer_visit;

static void visit_definer(void *self, int64_t symbol) {
  const definer_visit *visit = self;
  laze_pending *definer = visit->unknowns->definers[symbol];
  if (definer && definer->listed) visit->visit(visit->self, definer);
}

laze_status laze_unknowns_each_definer(laze_lazy *lazy, const laze_size *sizes, int32_t count,
                                       void (*visit)(void *self, laze_pending *definer), void *self,
                                       laze_error *error) {
  definer_visit inner = {&lazy->unknowns, visit, self};
  for (int32_t i = 0; i < count; i++)
    LAZE_TRY(laze_size_each_defined(lazy->unknowns.table, sizes[i], visit_definer, &inner, error));
  return LAZE_OK;
}

static bool has_bounds(const laze_pending *definer, int64_t index, int64_t low, int64_t high) {
  const laze_attribute *attributes = definer->attributes;
  return attributes[LAZE_SIZE_FROM_INDEX].value.integer == index &&
         attributes[LAZE_SIZE_FROM_LOW].value.integer == low && attributes[LAZE_SIZE_FROM_HIGH].value.integer == high;
}

laze_pending *laze_unknowns_definer_of(const laze_lazy *lazy, const laze_cell *cell, int64_t index, int64_t low,
                                       int64_t high) {
  laze_pending *definer = cell->symbol > 0 ? lazy->unknowns.definers[cell->symbol - 1] : NULL;
  if (!definer || !definer->listed || definer->operands[0] != cell) return NULL; /* it is another value's by now */
  return has_bounds(definer, index, low, high) ? definer : NULL;
}

typedef struct {
  const laze_cell *a, *b;
} cell_pair;

/* Whether two nodes are the same call, their operands aside: with what has no order among other calls. */
static bool is_same_call(const laze_pending *a, const laze_pending *b) {
  const laze_op_info *info = laze_op_get(a->op);
  bool same = a->op == b->op && a->operand_count == b->operand_count && a->definer_count == b->definer_count &&
              info->effect != LAZE_EFFECT_ORDERED;
  for (int i = 0; same && i < info->segment_count; i++)
    same = (a->segments ? a->segments[i] : 1) == (b->segments ? b->segments[i] : 1);
  for (int i = 0; same && i < info->attribute_count; i++)
    same = laze_attribute_equal(&a->attributes[i], &b->attributes[i]);
  return same;
}

/* Whether two values are computed in the same way from the same values, in a few steps. */
static bool is_same_value(const laze_cell *a, const laze_cell *b) {
  enum { MOST_PAIRS = 16 };
  cell_pair pairs[MOST_PAIRS] = {{a, b}};
  int count = 1;
  for (int at = 0; at < count; at++) {
    a = pairs[at].a, b = pairs[at].b;
    if (a == b) continue;
    if (!laze_cell_is_pending(a) || !laze_cell_is_pending(b) || laze_cell_result(a) != laze_cell_result(b) ||
        !is_same_call(a->node, b->node) || count + a->node->operand_count > MOST_PAIRS)
      return false;
    for (int32_t i = 0; i < a->node->operand_count; i++)
      pairs[count++] = (cell_pair){a->node->operands[i], b->node->operands[i]};
  }
  return true;
}

laze_pending *laze_unknowns_same_definer(const laze_lazy *lazy, const laze_cell *cell, int64_t index, int64_t low,
                                         int64_t high) {
  enum { LATEST = 32 };
  laze_pending *definer = laze_unknowns_definer_of(lazy, cell, index, low, high);
  const int64_t count = laze_size_symbol_count(lazy->unknowns.table);
  for (int64_t i = count; !definer && i-- > 0 && i >= count - LATEST;) {
    laze_pending *other = lazy->unknowns.definers[i];
    if (other && other->listed && has_bounds(other, index, low, high) && is_same_value(other->operands[0], cell))
      definer = other;
  }
  return definer;
}

laze_size laze_pending_defines(const laze_pending *node) {
  int32_t defines = laze_op_get(node->op)->defines;
  return defines > 0 ? node->attributes[defines - 1].value.size : 0;
}

static int64_t symbol_number(const laze_unknowns *unknowns, const laze_pending *definer) {
  return laze_size_get(unknowns->table, laze_pending_defines(definer))->symbol;
}

/* Sizes of a result, as recorded. */
static int64_t *recorded_sizes(const laze_pending *node, int32_t result) {
  int64_t *sizes = (int64_t *)(uintptr_t)(node->attributes + laze_op_get(node->op)->attribute_count);
  for (int32_t i = 0; i < result; i++) sizes += node->cells[i].rank;
  return sizes;
}

static int64_t *learned_sizes(const laze_pending *node, int32_t result) {
  return recorded_sizes(node, node->result_count) + (recorded_sizes(node, result) - recorded_sizes(node, 0));
}

void laze_pending_recorded_type(const laze_pending *node, int32_t result, laze_type *out) {
  const int64_t *sizes = recorded_sizes(node, result);
  laze_cell_type(&node->cells[result], out);
  for (int i = 0; i < out->rank; i++) out->sizes[i] = sizes[i];
}

/* Whether all sizes are known. */
static bool are_known(const int64_t *sizes, int count) {
  for (int i = 0; i < count; i++)
    if (!laze_size_is_constant(sizes[i])) return false;
  return true;
}

void laze_unknowns_take_up(laze_lazy *lazy, laze_pending *node) {
  laze_unknowns *unknowns = &lazy->unknowns;
  laze_size symbol = laze_pending_defines(node);
  if (symbol == 0) return;
  int64_t number = symbol_number(unknowns, node);
  laze_pending *before = unknowns->definers[number];
  unknowns->definers[number] = node;
  unknowns->numbers[number] = symbol;
  node->kept_by |= LAZE_KEPT_BY_SYMBOL;
  node->operands[0]->symbol = (int32_t)number + 1;
  if (before && before != node) laze_pending_let_go(lazy, before, LAZE_KEPT_BY_SYMBOL);
}

void laze_unknowns_drop_definers(laze_lazy *lazy) {
  laze_unknowns *unknowns = &lazy->unknowns;
  for (int64_t i = laze_size_symbol_count(unknowns->table); i-- > 0;) {
    if (unknowns->definers[i]) laze_pending_let_go(lazy, unknowns->definers[i], LAZE_KEPT_BY_SYMBOL);
    unknowns->definers[i] = NULL;
  }
}

void laze_unknowns_begin(laze_lazy *lazy, laze_pending *node) {
  for (int32_t i = 0; i < node->result_count; i++) {
    laze_cell *cell = &node->cells[i];
    cell->sizes = recorded_sizes(node, i);
    if (!are_known(cell->sizes, cell->rank)) cell->state = LAZE_CELL_UNKNOWN;
  }
  laze_unknowns_take_up(lazy, node);
}

void laze_unknowns_note(laze_unknowns *unknowns, const laze_pending *definer, int64_t number) {
  unknowns->numbers[symbol_number(unknowns, definer)] = number;
}

/* Puts numbers in the place of symbols whose numbers were found. */
static laze_status replace(laze_lazy *lazy, laze_size *size, laze_error *error) {
  laze_size_table *table = lazy->unknowns.table;
  return laze_size_import(table, table, *size, lazy->unknowns.numbers, size, error);
}

laze_status laze_unknowns_learn(laze_lazy *lazy, laze_cell *cell, laze_error *error) {
  int64_t *sizes = learned_sizes(cell->node, laze_cell_result(cell));
  for (int i = 0; i < cell->rank; i++) {
    laze_size size = cell->sizes[i];
    LAZE_TRY(replace(lazy, &size, error));
    if (laze_size_is_constant(size) && size < 0)
      return laze_fail(error, LAZE_OUT_OF_RANGE, "%s: axis %d has size %lld; sizes are 0 to 2^62",
                       laze_op_get(cell->node->op)->name, i, (long long)size);
    sizes[i] = size;
  }
  cell->sizes = sizes;
  if (are_known(sizes, cell->rank)) cell->state = LAZE_CELL_PENDING;
  return LAZE_OK;
}

static laze_status learn_attributes(laze_lazy *lazy, laze_op op, const laze_attribute *attributes, bool *changed,
                                    laze_error *error) {
  const laze_op_info *info = laze_op_get(op);
  *changed = false;
  for (int i = 0; i < info->attribute_count && info->defines == 0; i++) {
    const laze_size *found;
    int32_t count;
    if (!laze_attribute_find_sizes(&attributes[i], &found, &count)) continue;
    laze_size *sizes = (laze_size *)(uintptr_t)found; /* in the node's own block */
    for (int32_t k = 0; k < count; k++) {
      laze_size before = sizes[k];
      LAZE_TRY(replace(lazy, &sizes[k], error));
      *changed |= sizes[k] != before;
    }
  }
  return LAZE_OK;
}

/* The node is predicted from now on for calls with its numbers: never, where it has operands, whose types may have been
 * others with the symbol. */
static void record_learned(laze_pending *node) {
  for (int32_t i = 0; i < node->result_count; i++)
    for (int k = 0; k < node->cells[i].rank; k++) recorded_sizes(node, i)[k] = node->cells[i].sizes[k];
  if (laze_pending_call_operands(node) > 0) *(int64_t *)(uintptr_t)node->operand_types = -1;
}

static laze_status learn_node(laze_lazy *lazy, laze_pending *node, laze_error *error) {
  bool changed;
  for (int32_t i = 0; i < node->result_count; i++)
    if (node->cells[i].state == LAZE_CELL_UNKNOWN) LAZE_TRY(laze_unknowns_learn(lazy, &node->cells[i], error));
  LAZE_TRY(learn_attributes(lazy, node->op, node->attributes, &changed, error));
  if (changed) record_learned(node);
  return LAZE_OK;
}

static void fail_node(laze_thread_state *thread, laze_pending *node, const laze_error *error) {
  laze_lazy *lazy = thread->lazy;
  laze_failure *failure = laze_failure_create(lazy, error);
  laze_scope_note(thread, failure);
  for (int32_t i = node->result_count; i-- > 0 && node->listed && failure;)
    if (node->cells[i].references > 0 && laze_cell_is_pending(&node->cells[i]))
      laze_cell_fail(lazy, &node->cells[i], failure);
  laze_failure_release(lazy, failure);
}

void laze_unknowns_spread(laze_thread_state *thread) {
  laze_lazy *lazy = thread->lazy;
  bool failed = false;
  laze_error error;
  for (laze_pending *node = lazy->oldest, *newer; node; node = newer) {
    newer = node->newer; /* what a failed node lets go of is older */
    if (!node->unknown || learn_node(lazy, node, &error) == LAZE_OK) continue;
    fail_node(thread, node, &error);
    failed = true;
  }
  for (laze_grad_node *node = lazy->unknown_grad_node; node; node = node->older) {
    bool changed;
    if (learn_attributes(lazy, node->op, node->attributes, &changed, &error) != LAZE_OK) node->lost = true;
  }
  if (failed) laze_cell_spread_failures(lazy, lazy->oldest);
}

void laze_unknowns_give_up(laze_cell *cell) {
  int64_t *sizes = learned_sizes(cell->node, laze_cell_result(cell));
  for (int i = 0; i < cell->rank; i++) sizes[i] = laze_size_is_constant(cell->sizes[i]) ? cell->sizes[i] : -1;
  cell->sizes = sizes;
}

/* Cells: how long they and the nodes that compute them live.
 *
 * A cell keeps its node, a node keeps its operands' cells. Once no referenced cell of a node is pending, the node lets
 * go of its operands and leaves the context's list; once none is referenced, its block is given back, or kept by the
 * script that predicts it.
 */
#include "lazy/value/cell.h"

#include "lazy/lazy.h"
#include "lazy/thread.h"
#include "lazy/value/failure.h"
#include "lazy/value/pending.h"
#include "lazy/value/unknown.h"

void laze_cell_set_type(laze_cell *cell, const laze_type *type, int64_t *sizes) {
  cell->kind = type->kind;
  cell->dtype = type->dtype;
  cell->rank = type->rank;
  cell->sizes = sizes;
  for (int i = 0; i < type->rank; i++) sizes[i] = type->sizes[i];
}

static int64_t alone_size(int rank) {
  return (int64_t)sizeof(laze_cell) + rank * (int64_t)sizeof(int64_t);
}

laze_cell *laze_cell_create(laze_lazy *lazy, laze_cell_state state, const laze_type *type) {
  laze_cell *cell = laze_pool_take(&lazy->pool, alone_size(type->rank));
  if (!cell) return NULL;
  *cell = (laze_cell){.references = 1, .depth = LAZE_NO_DEPTH, .state = (uint8_t)state};
  laze_cell_set_type(cell, type, (int64_t *)(cell + 1));
  return cell;
}

void laze_cell_retain(laze_cell *cell) {
  if (cell->references++ == 0) cell->node->referenced++;
}

static void list_remove(laze_lazy *lazy, laze_pending *node) {
  if (!node->listed) return;
  node->listed = false;
  *(node->newer ? &node->newer->older : &lazy->newest) = node->older;
  *(node->older ? &node->older->newer : &lazy->oldest) = node->newer;
  laze_backlog_remove(&node->thread->backlog, node->bytes);
}

static bool has_pending_result(const laze_pending *node) {
  for (int i = 0; i < node->result_count; i++)
    if (node->cells[i].references > 0 && laze_cell_is_pending(&node->cells[i])) return true;
  return false;
}

/* Puts a node that needs its operands no longer on the list of those to clean up, linked by `older`. */
static void settle(laze_lazy *lazy, laze_pending *node, laze_pending **dying) {
  if (node->dying || (node->referenced > 0 && has_pending_result(node))) return;
  list_remove(lazy, node);
  node->dying = true;
  node->older = *dying;
  *dying = node;
}

static void drop_reference(laze_lazy *lazy, laze_cell *cell, laze_pending **dying) {
  if (--cell->references > 0) return;
  if (cell->state == LAZE_CELL_BUFFER) laze_lazy_drop_buffer(lazy, cell->value.buffer);
  if (cell->state == LAZE_CELL_ERROR) laze_failure_release(lazy, cell->value.failure);
  if (!cell->node) {
    laze_pool_give(&lazy->pool, cell, alone_size(cell->rank));
    return;
  }
  cell->node->referenced--;
  settle(lazy, cell->node, dying);
}

static void clean_up(laze_lazy *lazy, laze_pending *dying) {
  while (dying) {
    laze_pending *node = dying;
    dying = node->older;
    int32_t count = node->operand_count;
    node->operand_count = 0;
    for (int32_t i = 0; i < count; i++) __builtin_prefetch(&node->operands[i]->references, 1);
    for (int32_t i = 0; i < count; i++) drop_reference(lazy, node->operands[i], &dying);
    node->dying = false;
    if (node->referenced == 0 && node->kept_by == 0) laze_pool_give(&lazy->pool, node, node->block_size);
  }
}

void laze_pending_let_go(laze_lazy *lazy, laze_pending *node, laze_pending_keeper keeper) {
  node->kept_by &= (uint8_t)~keeper;
  if (node->referenced == 0 && node->kept_by == 0) laze_pool_give(&lazy->pool, node, node->block_size);
}

void laze_cell_release(laze_lazy *lazy, laze_cell *cell) {
  laze_pending *dying = NULL;
  if (!cell) return;
  drop_reference(lazy, cell, &dying);
  clean_up(lazy, dying);
}

void laze_cell_resolve(laze_lazy *lazy, laze_cell *cell, laze_buffer *buffer) {
  laze_pending *dying = NULL;
  cell->state = LAZE_CELL_BUFFER;
  cell->value.buffer = buffer;
  settle(lazy, cell->node, &dying);
  clean_up(lazy, dying);
}

void laze_cell_fail(laze_lazy *lazy, laze_cell *cell, laze_failure *failure) {
  laze_pending *dying = NULL;
  if (cell->state == LAZE_CELL_UNKNOWN) laze_unknowns_give_up(cell);
  cell->state = LAZE_CELL_ERROR;
  cell->value.failure = failure;
  failure->references++;
  settle(lazy, cell->node, &dying);
  clean_up(lazy, dying);
}

void laze_cell_lose(laze_lazy *lazy, laze_cell *cell, laze_failure *failure) {
  laze_lazy_drop_buffer(lazy, cell->value.buffer);
  cell->state = LAZE_CELL_ERROR;
  cell->value.failure = failure;
  failure->references++;
}

static laze_failure *failed_operand(const laze_pending *node) {
  for (int32_t i = 0; i < node->operand_count; i++)
    if (node->operands[i]->state == LAZE_CELL_ERROR) return node->operands[i]->value.failure;
  return NULL;
}

void laze_cell_spread_failures(laze_lazy *lazy, laze_pending *oldest) {
  /* Oldest first: operands before their users. What a failed node lets go of is older than it. */
  for (laze_pending *node = oldest, *newer; node; node = newer) {
    newer = node->newer;
    laze_failure *failure = failed_operand(node);
    if (!failure) continue;
    failure->references++; /* the operand that has it goes with the last result */
    for (int i = node->result_count; i-- > 0 && node->listed;)
      if (node->cells[i].references > 0 && laze_cell_is_pending(&node->cells[i]))
        laze_cell_fail(lazy, &node->cells[i], failure);
    laze_failure_release(lazy, failure);
  }
}

void laze_cell_type(const laze_cell *cell, laze_type *out) {
  out->kind = cell->kind;
  out->dtype = cell->dtype;
  out->rank = cell->rank;
  for (int i = 0; i < cell->rank; i++) out->sizes[i] = cell->sizes[i];
}

bool laze_cell_lacks_type(const laze_cell *cell) {
  if (cell->dtype == LAZE_DTYPE_NONE) return true;
  for (int i = 0; i < cell->rank; i++)
    if (cell->sizes[i] < 0) return true;
  return false;
}

int64_t laze_cell_elements(const laze_cell *cell) {
  int64_t elements = 1; /* fits: inference refuses types whose bytes do not, unless a size is 0 */
  for (int i = 0; i < cell->rank; i++)
    if (cell->sizes[i] == 0) return 0;
  for (int i = 0; i < cell->rank; i++) elements *= cell->sizes[i];
  return elements;
}

bool laze_cell_is_held(const laze_cell *cell) {
  return cell->holds > 0 || (cell->node && cell->depth < cell->node->thread->scope->depth);
}

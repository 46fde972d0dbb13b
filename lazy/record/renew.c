/* A new table has the symbols of the definers that are pending, in their order, and the expressions that pending nodes
 * and nodes of backward graphs have. These are imported first, and written to the nodes once nothing can fail any more.
 *
 *   u0 u1 ... u611   min(u5,8) ... min(u611,8)      ->      u0   min(u0,8)
 *
 * Scripts have words of the old table, by which they would predict: they forget those nodes.
 */
#include "lazy/record/renew.h"

#include "ir/attribute.h"
#include "lazy/lazy.h"
#include "lazy/record/record_state.h"
#include "lazy/run/trace_sizes.h"
#include "lazy/thread.h"
#include "lazy/value/grad_node.h"
#include "lazy/value/pending.h"

typedef struct {
  laze_lazy *lazy;
  laze_size_mapping mapping;
  laze_size *words; /* what was imported, in the order of the walk */
  int64_t count, capacity;
  int64_t written;
} renewal;

typedef laze_status (*size_visit)(renewal *self, laze_size *size, laze_error *error);

/* Calls `visit` with each place of a call's attributes where a symbol may be. */
static laze_status each_attribute_size(renewal *self, laze_op op, const laze_attribute *attributes, size_visit visit,
                                       laze_error *error) {
  for (int i = 0; i < laze_op_get(op)->attribute_count; i++) {
    const laze_size *sizes;
    int32_t count;
    if (!laze_attribute_find_sizes(&attributes[i], &sizes, &count)) continue;
    for (int32_t k = 0; k < count; k++) LAZE_TRY(visit(self, (laze_size *)(uintptr_t)&sizes[k], error));
  }
  return LAZE_OK;
}

/* The same of a pending node, and of its results. */
static laze_status each_size(renewal *self, laze_pending *node, size_visit visit, laze_error *error) {
  LAZE_TRY(each_attribute_size(self, node->op, node->attributes, visit, error));
  for (int32_t i = 0; i < node->result_count; i++) {
    const laze_cell *cell = &node->cells[i];
    for (int k = 0; cell->state == LAZE_CELL_UNKNOWN && k < cell->rank; k++)
      LAZE_TRY(visit(self, (laze_size *)(uintptr_t)&cell->sizes[k], error));
  }
  return LAZE_OK;
}

static laze_status import_size(renewal *self, laze_size *size, laze_error *error) {
  void *array = self->words;
  LAZE_TRY(laze_grow(self->lazy->context, &array, &self->capacity, self->count + 1, sizeof *self->words, error));
  self->words = array;
  return laze_size_mapping_map(&self->mapping, self->lazy, *size, &self->words[self->count++], error);
}

static laze_status write_size(renewal *self, laze_size *size, laze_error *error) {
  (void)error;
  *size = self->words[self->written++];
  return LAZE_OK;
}

static laze_status import_all(renewal *self, laze_error *error) {
  for (laze_pending *node = self->lazy->oldest; node; node = node->newer) {
    laze_size symbol;
    if (!node->unknown) continue;
    if (laze_pending_defines(node) != 0)
      LAZE_TRY(laze_size_mapping_define(&self->mapping, self->lazy, node, &symbol, error));
    LAZE_TRY(each_size(self, node, import_size, error));
  }
  for (laze_grad_node *node = self->lazy->unknown_grad_node; node; node = node->older)
    LAZE_TRY(each_attribute_size(self, node->op, node->attributes, import_size, error));
  return LAZE_OK;
}

/* Nothing here can fail. */
static void change_over(renewal *self) {
  laze_lazy *lazy = self->lazy;
  laze_unknowns *unknowns = &lazy->unknowns;
  for (laze_thread_state *thread = lazy->threads; thread; thread = thread->next)
    laze_script_drop_unknown(thread->record);
  laze_unknowns_drop_definers(lazy);
  laze_size_table_destroy(unknowns->table);
  unknowns->table = self->mapping.to;
  unknowns->kept = laze_size_symbol_count(unknowns->table);
  for (laze_pending *node = lazy->oldest; node; node = node->newer) {
    if (!node->unknown) continue;
    (void)(each_size(self, node, write_size, NULL) == LAZE_OK);
    laze_unknowns_take_up(lazy, node);
  }
  for (laze_grad_node *node = lazy->unknown_grad_node; node; node = node->older)
    (void)(each_attribute_size(self, node->op, node->attributes, write_size, NULL) == LAZE_OK);
}

void laze_renew_unknowns(laze_lazy *lazy) {
  renewal self = {.lazy = lazy};
  laze_error error;
  laze_status status = laze_size_table_create(lazy->context, &self.mapping.to, &error);
  if (status == LAZE_OK) status = import_all(&self, &error);
  if (status == LAZE_OK) {
    laze_size_table_set_asking(self.mapping.to);
    change_over(&self);
  } else {
    laze_size_table_destroy(self.mapping.to);
  }
  laze_size_mapping_deinit(&self.mapping, lazy->context);
  laze_free(lazy->context, self.words);
}

/* Nodes of the backward graph: what they keep, and how they go. */
#include "lazy/value/grad_node.h"

#include "lazy/lazy.h"
#include "lazy/value/cell.h"
#include "lazy/value/handle.h"

#include <string.h>

laze_grad_node *laze_grad_node_create(laze_lazy *lazy, int64_t size) {
  laze_grad_node *node = laze_pool_take(&lazy->pool, size);
  if (!node) return NULL;
  memset(node, 0, (size_t)size);
  node->references = 1;
  node->block_size = size;
  node->number = ++lazy->grad_nodes;
  laze_metrics_add(laze_context_metrics(lazy->context), LAZE_METRIC_AUTOGRAD_NODES, 1);
  return node;
}

laze_grad_node *laze_grad_leaf_create(laze_lazy *lazy) {
  laze_grad_node *leaf = laze_grad_node_create(lazy, sizeof *leaf);
  if (leaf) leaf->result_count = 1;
  return leaf;
}

void laze_saved_keep(laze_saved *saved, laze_cell *cell, laze_storage *storage) {
  saved->cell = cell;
  saved->held = true;
  laze_cell_retain(cell);
  cell->holds++;
  saved->storage = storage;
  if (!storage) return;
  storage->references++;
  saved->version = storage->version;
}

static void let_go(laze_lazy *lazy, laze_saved *saved) {
  if (saved->held) saved->cell->holds--;
  laze_cell_release(lazy, saved->cell);
  if (saved->storage) laze_storage_release(lazy, saved->storage);
  *saved = (laze_saved){.cell = NULL};
}

void laze_grad_node_note_unknown(laze_lazy *lazy, laze_grad_node *node) {
  node->unknown = true;
  node->older = lazy->unknown_grad_node;
  if (node->older) node->older->newer = node;
  lazy->unknown_grad_node = node;
}

static void forget_unknown(laze_lazy *lazy, laze_grad_node *node) {
  if (!node->unknown) return;
  if (node->newer)
    node->newer->older = node->older;
  else
    lazy->unknown_grad_node = node->older;
  if (node->older) node->older->newer = node->newer;
  node->older = node->newer = NULL;
  node->unknown = false;
}

void laze_grad_node_release_saved(laze_lazy *lazy, laze_grad_node *node) {
  forget_unknown(lazy, node);
  for (int32_t i = 0; i < node->definer_count; i++) laze_cell_release(lazy, node->definers[i]);
  node->definer_count = 0;
  const int32_t count = node->saved ? node->operand_count + node->result_count : 0;
  for (int32_t i = 0; i < count; i++) let_go(lazy, &node->saved[i]);
  node->released = true;
}

/* One reference less; puts a node that nothing refers to on the list. */
static void drop(laze_edge edge, laze_grad_node **dying) {
  if (!edge.node || --edge.node->references > 0) return;
  edge.node->next = *dying;
  *dying = edge.node;
}

static void clean_up(laze_lazy *lazy, laze_grad_node *dying) {
  while (dying) {
    laze_grad_node *node = dying;
    dying = node->next;
    laze_grad_node_release_saved(lazy, node);
    for (int32_t i = 0; i < node->operand_count; i++) drop(node->edges[i], &dying);
    if (node->gradient) {
      node->gradient->holds--;
      laze_cell_release(lazy, node->gradient);
    }
    drop(node->history, &dying);
    laze_metrics_add(laze_context_metrics(lazy->context), LAZE_METRIC_AUTOGRAD_NODES, -1);
    laze_pool_give(&lazy->pool, node, node->block_size);
  }
}

void laze_edge_release(laze_lazy *lazy, laze_edge edge) {
  laze_grad_node *dying = NULL;
  drop(edge, &dying);
  clean_up(lazy, dying);
}

void laze_grad_leaf_enter(laze_grad_node *leaf) {
  if (leaf && laze_grad_node_is_leaf(leaf)) leaf->handles++;
}

void laze_grad_leaf_leave(laze_lazy *lazy, laze_grad_node *leaf) {
  if (leaf && laze_grad_node_is_leaf(leaf) && --leaf->handles == 0)
    laze_grad_leaf_set(lazy, leaf, NULL, (laze_edge){NULL, 0});
}

void laze_grad_leaf_set(laze_lazy *lazy, laze_grad_node *leaf, laze_cell *cell, laze_edge history) {
  laze_cell *old = leaf->gradient;
  const laze_edge old_history = leaf->history;
  leaf->gradient = cell;
  leaf->history = history;
  if (cell) cell->holds++;
  if (old) old->holds--;
  laze_cell_release(lazy, old);
  laze_edge_release(lazy, old_history);
}

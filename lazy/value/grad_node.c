/* Nodes of the backward graph: what they keep, and how they go. */
#include "lazy/value/grad_node.h"

#include "base/dtype.h"
#include "lazy/lazy.h"
#include "lazy/value/cell.h"
#include "lazy/value/handle.h"
#include "lazy/value/view.h"

#include <string.h>

laze_grad_node *laze_grad_node_create(laze_lazy *lazy, int64_t size) {
  laze_grad_node *node = laze_pool_take(&lazy->pool, size);
  if (!node) return NULL;
  memset(node, 0, (size_t)size);
  node->references = 1;
  node->block_size = size;
  node->number = ++lazy->grad_nodes;
  lazy->counts.grad_nodes++;
  return node;
}

laze_grad_node *laze_grad_leaf_create(laze_lazy *lazy) {
  laze_grad_node *leaf = laze_grad_node_create(lazy, sizeof *leaf);
  if (leaf) leaf->result_count = 1;
  return leaf;
}

static void hold(laze_lazy *lazy, laze_saved *saved, laze_cell *cell) {
  laze_type type;
  laze_cell_type(cell, &type);
  saved->cell = cell;
  saved->held = true;
  saved->dropped = false;
  saved->bytes = laze_type_is_unknown(&type) ? 0 : laze_cell_elements(cell) * laze_dtype_size(cell->dtype);
  laze_cell_retain(cell);
  cell->holds++;
  lazy->counts.saved_bytes += saved->bytes;
}

static void let_go_of_value(laze_lazy *lazy, laze_saved *saved) {
  if (saved->held) saved->cell->holds--;
  laze_cell_release(lazy, saved->cell);
  lazy->counts.saved_bytes -= saved->bytes;
  saved->cell = NULL;
  saved->held = false;
  saved->bytes = 0;
}

void laze_saved_keep(laze_lazy *lazy, laze_saved *saved, laze_cell *cell, laze_storage *storage) {
  hold(lazy, saved, cell);
  if (saved->storage || !storage) return; /* computed again: it is checked what was used the first time */
  saved->storage = storage;
  storage->references++;
  saved->version = laze_storage_version(storage);
}

void laze_saved_release(laze_lazy *lazy, laze_saved *saved) {
  let_go_of_value(lazy, saved);
  if (saved->storage) laze_storage_release(lazy, saved->storage);
  *saved = (laze_saved){.cell = NULL};
}

void laze_grad_node_drop_saved(laze_lazy *lazy, laze_grad_node *node) {
  for (int32_t i = 0; i < node->saved_count; i++) {
    laze_saved *saved = &node->saved[i];
    if (!saved->held) continue;
    let_go_of_value(lazy, saved);
    saved->dropped = node->dropped = true;
    if (!saved->storage || saved->storage->references > 1) continue;
    laze_storage_release(lazy, saved->storage);
    saved->storage = NULL;
  }
}

void laze_grad_checkpoint_enter(laze_grad_checkpoint *checkpoint, laze_grad_node *node, int32_t place) {
  laze_callback_retain(&checkpoint->callback);
  node->checkpoint = checkpoint;
  node->checkpoint_place = place;
  checkpoint->nodes[place] = node;
  checkpoint->nodes_alive++;
}

static void leave_checkpoint(laze_lazy *lazy, laze_grad_node *node) {
  laze_grad_checkpoint *checkpoint = node->checkpoint;
  checkpoint->nodes[node->checkpoint_place] = NULL;
  node->checkpoint = NULL;
  if (--checkpoint->nodes_alive == 0) {
    for (int32_t i = 0; i < checkpoint->input_count; i++) laze_saved_release(lazy, &checkpoint->inputs[i]);
    laze_free(lazy->context, checkpoint->nodes);
    checkpoint->nodes = NULL;
    checkpoint->node_count = checkpoint->input_count = 0;
  }
  laze_callback_release(lazy, &checkpoint->callback);
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
  node->released |= node->definer_count > 0 || node->dropped;
  forget_unknown(lazy, node);
  for (int32_t i = 0; i < node->definer_count; i++) laze_cell_release(lazy, node->definers[i]);
  node->definer_count = 0;
  for (int32_t i = 0; i < node->saved_count; i++) {
    node->released |= node->saved[i].cell != NULL;
    laze_saved_release(lazy, &node->saved[i]);
  }
  node->dropped = false;
}

const char *laze_grad_node_name(const laze_grad_node *node) {
  if (node->function) return node->function->name;
  return laze_grad_node_is_leaf(node) ? "leaf" : laze_op_get(node->op)->name;
}

const int64_t *laze_grad_type_read(const int64_t *words, laze_type *out) {
  out->kind = (uint8_t)*words;
  out->dtype = (uint8_t)(*words >> 8);
  out->rank = (uint8_t)(*words >> 16);
  words++;
  for (int i = 0; i < out->rank; i++) out->sizes[i] = *words++;
  return words;
}

static void disown(laze_lazy *lazy, laze_grad_node *node, const laze_storage *storage) {
  for (int32_t i = 0; i < node->saved_count; i++) {
    if (node->saved[i].storage != storage) continue;
    laze_storage_release(lazy, node->saved[i].storage);
    node->saved[i].storage = NULL;
  }
}

void laze_grad_edge_disown(laze_lazy *lazy, laze_edge edge, uint64_t since, const laze_storage *storage) {
  const uint64_t mark = ++lazy->mark;
  laze_grad_node *visited = edge.node && edge.node->number > since ? edge.node : NULL;
  if (visited) visited->next = NULL;
  while (visited) {
    laze_grad_node *node = visited;
    visited = node->next;
    node->mark = mark;
    disown(lazy, node, storage);
    for (int32_t i = 0; i < node->operand_count; i++) {
      laze_grad_node *older = node->edges[i].node;
      if (!older || older->number <= since || older->mark == mark) continue;
      older->mark = mark;
      older->next = visited;
      visited = older;
    }
  }
}

/* One reference less; puts a node that nothing refers to on the list. */
static void drop(laze_edge edge, laze_grad_node **dying) {
  if (!edge.node || --edge.node->references > 0) return;
  edge.node->next = *dying;
  *dying = edge.node;
}

/* What a function's node refers to besides. */
static void drop_function(laze_lazy *lazy, laze_grad_node *node, laze_grad_node **dying) {
  laze_grad_function *function = node->function;
  for (int32_t i = 0; i < node->saved_count; i++)
    if (function->saved_edges[i].node != node) drop(function->saved_edges[i], dying);
  drop(function->forward, dying);
  laze_callback_release(lazy, &function->callback);
}

static void drop_retained(laze_lazy *lazy, laze_grad_node *node, laze_grad_node **dying) {
  while (node->retained) {
    laze_grad_retained *retained = node->retained;
    node->retained = retained->next;
    drop(retained->place, dying);
    laze_pool_give(&lazy->pool, retained, sizeof *retained);
  }
}

static void destroy(laze_lazy *lazy, laze_grad_node *node) {
  laze_grad_node_release_saved(lazy, node);
  while (node->hooks) laze_grad_hook_remove(lazy, node->hooks);
  drop_retained(lazy, node, &lazy->dying_nodes);
  if (node->function) drop_function(lazy, node, &lazy->dying_nodes);
  if (node->checkpoint) leave_checkpoint(lazy, node);
  for (int32_t i = 0; i < node->operand_count; i++) drop(node->edges[i], &lazy->dying_nodes);
  laze_grad_leaf_set(lazy, node, NULL);
  lazy->counts.grad_nodes--;
  laze_pool_give(&lazy->pool, node, node->block_size);
}

/* What a node has saved may release edges in its turn: these wait until it is done. */
void laze_edge_release(laze_lazy *lazy, laze_edge edge) {
  drop(edge, &lazy->dying_nodes);
  if (lazy->frees_nodes) return;
  lazy->frees_nodes = true;
  while (lazy->dying_nodes) {
    laze_grad_node *node = lazy->dying_nodes;
    lazy->dying_nodes = node->next;
    destroy(lazy, node);
  }
  lazy->frees_nodes = false;
}

void laze_grad_node_enter(laze_grad_node *node) {
  if (node) node->handles++;
}

void laze_grad_node_leave(laze_lazy *lazy, laze_grad_node *node) {
  if (!node || --node->handles > 0) return;
  if (laze_grad_node_is_leaf(node)) laze_grad_leaf_set(lazy, node, NULL);
  drop_retained(lazy, node, &lazy->dying_nodes);
  laze_edge_release(lazy, (laze_edge){NULL, 0});
}

laze_grad_node *laze_grad_place(laze_edge edge) {
  if (!edge.node || laze_grad_node_is_leaf(edge.node)) return edge.node;
  for (const laze_grad_retained *retained = edge.node->retained; retained; retained = retained->next)
    if (retained->result == edge.result) return retained->place.node;
  return NULL;
}

bool laze_grad_retain_result(laze_lazy *lazy, laze_edge edge) {
  if (laze_grad_place(edge)) return true;
  laze_grad_retained *retained = laze_pool_take(&lazy->pool, sizeof *retained);
  laze_grad_node *place = retained ? laze_grad_leaf_create(lazy) : NULL;
  if (!place) {
    if (retained) laze_pool_give(&lazy->pool, retained, sizeof *retained);
    return false;
  }
  *retained = (laze_grad_retained){.next = edge.node->retained, .place = {place, 0}, .result = edge.result};
  edge.node->retained = retained;
  return true;
}

void laze_grad_retained_move(laze_lazy *lazy, laze_edge from, laze_edge to) {
  const bool is_node = to.node && !laze_grad_node_is_leaf(to.node);
  if (!from.node || !is_node || (from.node == to.node && from.result == to.result)) return;
  for (laze_grad_retained **place = &from.node->retained; *place; place = &(*place)->next) {
    laze_grad_retained *moved = *place;
    if (moved->result != from.result) continue;
    *place = moved->next;
    moved->next = NULL;
    if (laze_grad_place(to)) { /* what another tensor keeps there */
      laze_edge_release(lazy, moved->place);
      laze_pool_give(&lazy->pool, moved, sizeof *moved);
      return;
    }
    moved->result = to.result;
    moved->next = to.node->retained;
    to.node->retained = moved;
    return;
  }
}

/* --- hooks: those of a context lie in the order of their ids, and leave a gap when they go --- */

/* Closes the gaps. */
static void pack_hooks(laze_hooks *hooks) {
  int64_t count = 0;
  for (int64_t i = 0; i < hooks->count; i++)
    if (hooks->items[i].hook) hooks->items[count++] = hooks->items[i];
  hooks->count = count;
}

static laze_hook_entry *find_hook(const laze_hooks *hooks, int64_t id) {
  int64_t low = 0, high = hooks->count;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (hooks->items[middle].id < id)
      low = middle + 1;
    else
      high = middle;
  }
  return low < hooks->count && hooks->items[low].id == id ? &hooks->items[low] : NULL;
}

bool laze_grad_hook_add(laze_lazy *lazy, laze_grad_node *node, laze_grad_hook *hook) {
  laze_hooks *hooks = &lazy->hooks;
  void *array = hooks->items;
  if (laze_grow(lazy->context, &array, &hooks->capacity, hooks->count + 1, sizeof *hooks->items, NULL) != LAZE_OK)
    return false;
  hooks->items = array;
  hook->id = ++hooks->last_id;
  hooks->items[hooks->count++] = (laze_hook_entry){hook->id, hook};
  hooks->registered++;
  hook->node = node;
  hook->previous = node->hooks ? node->hooks->previous : hook;
  if (node->hooks) hook->previous->next = hook;
  if (node->hooks)
    node->hooks->previous = hook;
  else
    node->hooks = hook;
  return true;
}

laze_grad_hook *laze_grad_hook_find(const laze_lazy *lazy, int64_t id) {
  const laze_hook_entry *entry = find_hook(&lazy->hooks, id);
  return entry ? entry->hook : NULL;
}

void laze_grad_hook_remove(laze_lazy *lazy, laze_grad_hook *hook) {
  laze_grad_node *node = hook->node;
  if (!node) return;
  if (hook == node->hooks)
    node->hooks = hook->next;
  else
    hook->previous->next = hook->next;
  if (hook->next)
    hook->next->previous = hook->previous;
  else if (node->hooks)
    node->hooks->previous = hook->previous;
  find_hook(&lazy->hooks, hook->id)->hook = NULL;
  if (--lazy->hooks.registered < lazy->hooks.count / 2) pack_hooks(&lazy->hooks);
  hook->node = NULL;
  laze_callback_release(lazy, &hook->callback);
}

void laze_grad_leaf_set(laze_lazy *lazy, laze_grad_node *leaf, laze_slot *gradient) {
  laze_slot *old = leaf->gradient;
  leaf->gradient = gradient;
  if (old) laze_handle_drop(lazy, old);
}

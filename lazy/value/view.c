/* Views: how they, their bases and their cells come and go. */
#include "lazy/value/view.h"

#include "ir/attribute.h"
#include "lazy/lazy.h"
#include "lazy/value/cell.h"
#include "lazy/value/scope.h"

/* --- steps --- */

static int64_t round_up(int64_t bytes) {
  return (bytes + 7) & -8;
}

laze_view_step *laze_view_step_create(laze_lazy *lazy, laze_view_step *before, laze_op op,
                                      const laze_attribute *attributes, bool repeats) {
  const int32_t count = laze_op_get(op)->attribute_count;
  int64_t size = round_up((int64_t)sizeof(laze_view_step) + count * (int64_t)sizeof *attributes);
  const int64_t first = size;
  for (int32_t i = 0; i < count; i++) size += round_up(laze_attribute_payload_bytes(&attributes[i]));
  laze_view_step *step = laze_pool_take(&lazy->pool, size);
  if (!step) return NULL;
  *step = (laze_view_step){.before = before, .references = 1, .block_size = size, .op = op};
  step->count = before ? before->count + 1 : 1;
  step->repeats = repeats || (before && before->repeats);
  if (before) before->references++;
  char *cursor = (char *)step + first;
  for (int32_t i = 0; i < count; i++) {
    step->attributes[i] = attributes[i];
    laze_attribute_copy_payload(&step->attributes[i], cursor);
    cursor += round_up(laze_attribute_payload_bytes(&attributes[i]));
  }
  return step;
}

void laze_view_step_release(laze_lazy *lazy, laze_view_step *step) {
  while (step && --step->references == 0) {
    laze_view_step *before = step->before;
    laze_pool_give(&lazy->pool, step, step->block_size);
    step = before;
  }
}

/* --- the list of a base --- */

static void put_in_front(laze_view *view) {
  view->previous = NULL;
  view->next = view->base->views;
  if (view->next) view->next->previous = view;
  view->base->views = view;
}

static void take_out(laze_view *view) {
  *(view->previous ? &view->previous->next : &view->base->views) = view->next;
  if (view->next) view->next->previous = view->previous;
}

/* --- holding --- */

static bool leans(const laze_view *view) {
  return view->listed && view->own->holds > 0 && (!view->own->cell || !view->base->slot);
}

/* A view leans on its base, or not, as before what was done meanwhile. */
static void update_leaning(const laze_view *view, bool before) {
  if (leans(view) != before) laze_storage_hold(view->base, before ? -1 : 1);
}

/* A base is no view: this calls itself once at most. */
void laze_storage_hold(laze_storage *storage, int change) {
  const laze_view *view = laze_storage_is_view(storage) ? storage->view : NULL;
  const bool leaned = view && leans(view), held = storage->holds > 0;
  storage->holds += change;
  if (storage->cell && held != (storage->holds > 0)) storage->cell->holds += change;
  if (view) update_leaning(view, leaned);
}

/* --- coming --- */

static int64_t view_size(int rank) {
  return (int64_t)sizeof(laze_view) + 2 * rank * (int64_t)sizeof(int64_t);
}

static void fill(laze_view *view, const laze_view_recipe *recipe, const laze_cell *cell) {
  const laze_geometry *geometry = recipe->geometry;
  view->unsized = recipe->unsized;
  view->foreign = recipe->foreign;
  view->whole = recipe->whole;
  view->dtype = cell->dtype;
  view->rank = cell->rank;
  view->offset = recipe->unsized ? 0 : geometry->offset;
  for (int i = 0; i < cell->rank; i++) {
    view->extents[i] = recipe->unsized ? -1 : geometry->sizes[i];
    view->extents[cell->rank + i] = recipe->unsized ? -1 : geometry->strides[i];
  }
}

laze_status laze_view_attach(laze_lazy *lazy, laze_slot *slot, const laze_view_recipe *recipe, laze_error *error) {
  laze_storage *own = slot->storage, *parent = recipe->parent;
  const laze_view *above = parent->view;
  laze_view *view = laze_pool_take(&lazy->pool, view_size(own->cell->rank));
  if (!view) return laze_fail_memory(error, "a view", view_size(own->cell->rank));
  *view = (laze_view){.own = own,
                      .base = above ? above->base : parent,
                      .origin = recipe->detached         ? NULL
                                : above && above->origin ? above->origin
                                                         : parent,
                      .last = recipe->unsized ? NULL : recipe->last,
                      .family = recipe->family,
                      .listed = true};
  fill(view, recipe, own->cell);
  if (view->last) view->last->references++;
  view->base->references++;
  if (view->origin) view->origin->references++;
  if (view->origin) view->origin->followers++;
  own->view = view;
  own->inference = parent->inference;
  own->kind = recipe->kind == LAZE_VIEW_DEFAULT ? parent->kind : (uint32_t)recipe->kind;
  put_in_front(view);
  update_leaning(view, false);
  return LAZE_OK;
}

laze_status laze_view_share(laze_lazy *lazy, laze_slot *view, const laze_slot *of, bool detached, laze_error *error) {
  laze_storage *storage = of->storage;
  laze_geometry geometry;
  laze_type type;
  if (storage->cell->state == LAZE_CELL_ERROR && laze_cell_lacks_type(storage->cell)) return LAZE_OK;
  laze_cell_type(storage->cell, &type);
  const bool sized = laze_view_geometry(storage, &type, &geometry);
  const laze_view_recipe recipe = {.parent = storage,
                                   .last = storage->view ? storage->view->last : NULL,
                                   .geometry = &geometry,
                                   .detached = detached,
                                   .unsized = !sized,
                                   .whole = laze_storage_is_whole(storage)};
  LAZE_TRY(laze_view_attach(lazy, view, &recipe, error));
  if (!detached) laze_slot_set_edge(lazy, view, laze_slot_edge(of));
  return LAZE_OK;
}

/* From the first element of a view to its last one, along axes whose strides are below `row`; -1: it has none. */
static int64_t length_of(const laze_view *view, int64_t row) {
  int64_t length = 0;
  for (int k = 0; k < view->rank; k++) {
    const int64_t size = view->extents[k], stride = view->extents[view->rank + k];
    if (size == 0) return -1;
    if (stride < row) length += (size - 1) * stride;
  }
  return length;
}

static int64_t longest_stride(const laze_view *view, int64_t least) {
  for (int k = 0; k < view->rank; k++)
    if (view->extents[k] > 1 && view->extents[view->rank + k] > least) least = view->extents[view->rank + k];
  return least;
}

bool laze_views_apart(const laze_view *a, const laze_view *b) {
  if (a->family != 0 && a->family == b->family) return true;
  if (a->unsized || b->unsized) return false;
  int64_t lengths[2] = {length_of(a, INT64_MAX), length_of(b, INT64_MAX)};
  if (lengths[0] < 0 || lengths[1] < 0) return true;
  if (a->dtype != b->dtype) return false;
  if (a->offset + lengths[0] < b->offset || b->offset + lengths[1] < a->offset) return true;
  /* Columns of one matrix: each within a row, and none of one among those of the other. */
  const int64_t row = longest_stride(a, longest_stride(b, 1)), first[2] = {a->offset % row, b->offset % row};
  lengths[0] = length_of(a, row);
  lengths[1] = length_of(b, row);
  if (first[0] + lengths[0] >= row || first[1] + lengths[1] >= row) return false;
  return first[0] + lengths[0] < first[1] || first[1] + lengths[1] < first[0];
}

laze_status laze_view_lay(laze_lazy *lazy, laze_slot *slot, const laze_geometry *geometry, laze_error *error) {
  laze_storage *own = slot->storage;
  laze_view *view = laze_pool_take(&lazy->pool, view_size(own->cell->rank));
  if (!view) return laze_fail_memory(error, "a view", view_size(own->cell->rank));
  const laze_view_recipe recipe = {.geometry = geometry};
  *view = (laze_view){.own = own, .base = own};
  fill(view, &recipe, own->cell);
  own->view = view;
  return LAZE_OK;
}

/* --- going --- */

static void drop_cell(laze_lazy *lazy, laze_storage *storage) {
  laze_cell *cell = storage->cell;
  if (cell && storage->holds > 0) cell->holds--;
  storage->cell = NULL;
  laze_cell_release(lazy, cell);
}

static void drop_edge(laze_lazy *lazy, laze_storage *storage) {
  const laze_edge edge = {storage->grad_node, storage->grad_result};
  storage->grad_node = NULL;
  laze_edge_release(lazy, edge);
}

/* Takes a view off its base's list, and from those that follow its origin. */
static void unlist(laze_lazy *lazy, laze_view *view) {
  if (!view->listed) return;
  const bool leaned = leans(view);
  view->listed = false;
  update_leaning(view, leaned);
  take_out(view);
  if (view->origin && --view->origin->followers == 0 && !view->origin->slot) drop_edge(lazy, view->origin);
}

/* Whether the views of a base that has no handle can do without it: they share nothing with each other, and nothing
 * else asks for its version or for its leaf. */
static bool is_dispensable(const laze_storage *base) {
  enum { MOST = 64 }; /* as each is compared with each */
  int32_t references = 0, count = 0;
  for (const laze_view *view = base->views; view; view = view->next) {
    const laze_edge edge = view->origin ? laze_storage_edge(view->origin) : (laze_edge){NULL, 0};
    if (++count > MOST || !view->own->cell || view->unsized || view->own->followers > 0) return false;
    if (view->last && view->last->repeats) return false;
    if (edge.node && laze_grad_node_is_leaf(edge.node)) return false;
    for (const laze_view *other = view->next; other; other = other->next)
      if (!laze_views_apart(view, other)) return false;
    references += view->origin == base ? 2 : 1;
  }
  return references == base->references;
}

/* A view is its own base from now on. */
static void part_from_base(laze_lazy *lazy, laze_view *view) {
  laze_storage *base = view->base, *origin = view->origin;
  if (base == view->own) return;
  view->base = view->own;
  view->origin = NULL;
  laze_view_step_release(lazy, view->last);
  view->last = NULL;
  if (origin) laze_storage_release(lazy, origin);
  laze_storage_release(lazy, base);
}

static void free_storage(laze_lazy *lazy, laze_storage *storage) {
  if (storage->view) {
    part_from_base(lazy, storage->view);
    laze_pool_give(&lazy->pool, storage->view, view_size(storage->view->rank));
  }
  drop_cell(lazy, storage);
  laze_pool_give(&lazy->pool, storage, sizeof *storage);
}

/* A base without a handle goes as soon as its views can do without it: then each is its own base. */
static void dissolve(laze_lazy *lazy, laze_storage *base) {
  if (base->slot || (base->views && !is_dispensable(base))) return;
  base->references++; /* which also keeps what follows from beginning anew */
  while (base->views) {
    laze_view *view = base->views;
    unlist(lazy, view);
    view->own->version = base->version;
    part_from_base(lazy, view);
  }
  drop_cell(lazy, base);
  if (--base->references == 0) free_storage(lazy, base);
}

void laze_view_detach(laze_lazy *lazy, laze_storage *storage) {
  laze_storage *origin = storage->view ? storage->view->origin : NULL;
  if (!origin) return;
  storage->view->origin = NULL;
  if (storage->view->listed && --origin->followers == 0 && !origin->slot) drop_edge(lazy, origin);
  laze_storage_release(lazy, origin);
}

void laze_view_part(laze_lazy *lazy, laze_storage *storage) {
  const int64_t version = laze_storage_version(storage);
  unlist(lazy, storage->view);
  part_from_base(lazy, storage->view);
  storage->version = version;
}

void laze_storage_release(laze_lazy *lazy, laze_storage *storage) {
  if (--storage->references == 0)
    free_storage(lazy, storage);
  else
    dissolve(lazy, storage);
}

/* The handle of a storage goes: views that are held lean on their base from then on. */
static void leave_slot(laze_storage *storage) {
  laze_slot *slot = storage->slot;
  for (const laze_view *view = storage->views; view; view = view->next) {
    storage->slot = slot;
    const bool leaned = leans(view);
    storage->slot = NULL;
    update_leaning(view, leaned);
  }
  storage->slot = NULL;
}

void laze_view_leave(laze_lazy *lazy, laze_storage *storage, laze_edge edge) {
  leave_slot(storage);
  if (storage->followers > 0) {
    storage->grad_node = edge.node;
    storage->grad_result = edge.result;
  } else {
    laze_edge_release(lazy, edge);
  }
  if (!laze_storage_is_view(storage)) return; /* its views may need it: laze_storage_release() */
  laze_storage *base = storage->view->base;
  unlist(lazy, storage->view);
  drop_cell(lazy, storage);
  dissolve(lazy, base);
}

/* --- fresh and not --- */

/* The scope of a handle keeps the cell for it. */
static void keep_for(const laze_slot *slot, laze_cell *cell) {
  if (slot && slot->scope && slot->scope->depth < cell->depth) cell->depth = slot->scope->depth;
}

void laze_views_outdate(laze_lazy *lazy, laze_storage *base) {
  for (laze_view *view = base->views; view && view->own->cell; view = view->next) {
    laze_storage *own = view->own;
    laze_cell *cell = own->cell;
    if (own->slot->scope && cell->depth == own->slot->scope->depth) cell->depth = LAZE_NO_DEPTH;
    keep_for(own->slot, base->cell);
    const bool leaned = leans(view);
    drop_cell(lazy, own);
    update_leaning(view, leaned);
  }
}

void laze_view_renew(laze_lazy *lazy, laze_storage *storage, laze_cell *cell) {
  const bool leaned = leans(storage->view);
  laze_cell_retain(cell);
  drop_cell(lazy, storage);
  storage->cell = cell;
  if (storage->holds > 0) cell->holds++;
  update_leaning(storage->view, leaned);
  keep_for(storage->slot, cell);
  take_out(storage->view);
  put_in_front(storage->view);
  dissolve(lazy, storage->view->base);
}

/* --- questions --- */

bool laze_view_geometry(const laze_storage *storage, const laze_type *type, laze_geometry *out) {
  const laze_view *view = storage->view;
  *out = (laze_geometry){.dtype = type->dtype, .rank = type->rank, .offset = view ? view->offset : 0};
  int64_t stride = 1;
  for (int i = type->rank; i-- > 0;) {
    if (!laze_size_is_constant(type->sizes[i]) || (view && view->unsized)) return false;
    out->sizes[i] = type->sizes[i];
    out->strides[i] = view ? view->extents[type->rank + i] : stride;
    stride *= out->sizes[i] > 1 ? out->sizes[i] : 1; /* fits where the elements do, but for sizes beside a 0 */
  }
  return true;
}

void laze_slot_type(const laze_slot *slot, laze_type *out) {
  const laze_storage *storage = slot->storage;
  if (storage->cell || storage->view->unsized) {
    laze_cell_type(storage->cell ? storage->cell : storage->view->base->cell, out);
    return;
  }
  *out = (laze_type){.kind = LAZE_TYPE_TENSOR, .dtype = storage->view->dtype, .rank = storage->view->rank};
  for (int i = 0; i < out->rank; i++) out->sizes[i] = storage->view->extents[i];
}

laze_edge laze_storage_edge(const laze_storage *storage) {
  return storage->slot ? laze_slot_edge(storage->slot) : (laze_edge){storage->grad_node, storage->grad_result};
}

void laze_storage_set_edge(laze_lazy *lazy, laze_storage *storage, laze_edge edge) {
  if (storage->slot) {
    laze_slot_set_edge(lazy, storage->slot, edge);
    return;
  }
  (void)laze_edge_retain(edge);
  drop_edge(lazy, storage);
  storage->grad_node = edge.node;
  storage->grad_result = edge.result;
}

bool laze_slot_requires_grad(const laze_slot *slot) {
  const laze_storage *storage = slot->storage;
  const bool is_leaf = slot->grad_node && laze_grad_node_is_leaf(slot->grad_node);
  if (storage->cell || !storage->view->origin || is_leaf) return slot->grad_node != NULL;
  return storage->kind != LAZE_VIEW_NO_GRAD && laze_storage_edge(storage->view->origin).node != NULL;
}

bool laze_slot_is_leaf(const laze_slot *slot) {
  if (!laze_slot_requires_grad(slot)) return true;
  return slot->grad_node && laze_grad_node_is_leaf(slot->grad_node);
}

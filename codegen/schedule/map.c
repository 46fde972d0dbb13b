/* Making access maps, splitting the axes that they depend on, and comparing them (map.h has the picture; taking a map
 * to another view is map_refine.c, what a set of them covers map_cover.c). */
#include "codegen/schedule/map.h"

#include <string.h>

static laze_status memory_error(const laze_mapper *mapper) {
  return laze_fail_memory(mapper->error, "an access map", -1);
}

int32_t laze_domain_add_axis(laze_domain *domain, laze_size extent, int32_t position) {
  if (domain->axis_count == LAZE_MAX_AXES) return -1;
  int32_t axis = domain->axis_count++;
  domain->axes[axis] = (laze_axis){.extent = extent, .outer = -1, .inner = -1};
  if (position < 0) position = domain->order_count;
  memmove(&domain->order[position + 1], &domain->order[position],
          (size_t)(domain->order_count - position) * sizeof *domain->order);
  domain->order[position] = axis;
  domain->order_count++;
  return axis;
}

int32_t laze_domain_position(const laze_domain *domain, int32_t axis) {
  for (int32_t i = 0; i < domain->order_count; i++)
    if (domain->order[i] == axis) return i;
  return -1;
}

laze_status laze_size_is_one(laze_mapper *mapper, laze_size size, bool *out) {
  *out = size == 1;
  if (laze_size_is_constant(size)) return LAZE_OK;
  return laze_size_ask_equal(mapper->sizes, size, 1, out, mapper->error);
}

static laze_status multiply(laze_mapper *mapper, laze_size a, laze_size b, laze_size *out) {
  return laze_size_binary(mapper->sizes, LAZE_SIZE_MUL, a, b, out, mapper->error);
}

static laze_status add(laze_mapper *mapper, laze_size a, laze_size b, laze_size *out) {
  return laze_size_binary(mapper->sizes, LAZE_SIZE_ADD, a, b, out, mapper->error);
}

/* Components */

static const laze_component zero_component = {.dynamic = -1};

laze_status laze_component_scale(laze_mapper *mapper, const laze_component *component, laze_size factor,
                                 laze_component *out) {
  *out = *component;
  if (factor == 1) return LAZE_OK;
  laze_term *terms = laze_arena_alloc_array(mapper->arena, component->term_count, sizeof *terms);
  if (!terms) return memory_error(mapper);
  for (int32_t i = 0; i < component->term_count; i++) {
    terms[i].axis = component->terms[i].axis;
    LAZE_TRY(multiply(mapper, component->terms[i].coefficient, factor, &terms[i].coefficient));
  }
  out->terms = terms;
  LAZE_TRY(multiply(mapper, component->offset, factor, &out->offset));
  return multiply(mapper, component->dynamic_coefficient, factor, &out->dynamic_coefficient);
}

/* Terms on the same axis join. At most one of the two has a dynamic part: callers see to that. `out` may be an operand.
 */
laze_status laze_component_add(laze_mapper *mapper, const laze_component *a, const laze_component *b,
                               laze_component *out) {
  const laze_component *with_dynamic = a->dynamic >= 0 ? a : b;
  laze_term *terms = laze_arena_alloc_array(mapper->arena, a->term_count + b->term_count, sizeof *terms);
  if (!terms) return memory_error(mapper);
  int32_t count = a->term_count;
  laze_size offset;
  LAZE_TRY(add(mapper, a->offset, b->offset, &offset));
  if (count > 0) memcpy(terms, a->terms, (size_t)count * sizeof *terms);
  for (int32_t i = 0; i < b->term_count; i++) {
    int32_t same = 0;
    while (same < count && terms[same].axis != b->terms[i].axis) same++;
    if (same == count)
      terms[count++] = b->terms[i];
    else
      LAZE_TRY(add(mapper, terms[same].coefficient, b->terms[i].coefficient, &terms[same].coefficient));
  }
  *out = (laze_component){.terms = terms,
                          .term_count = count,
                          .offset = offset,
                          .dynamic = with_dynamic->dynamic,
                          .dynamic_coefficient = with_dynamic->dynamic_coefficient};
  return LAZE_OK;
}

laze_size laze_component_coefficient(const laze_component *component, int32_t axis) {
  for (int32_t i = 0; i < component->term_count; i++)
    if (component->terms[i].axis == axis) return component->terms[i].coefficient;
  return 0;
}

static bool component_equal(const laze_component *a, const laze_component *b) {
  if (a->term_count != b->term_count || a->dynamic != b->dynamic || a->offset != b->offset) return false;
  if (a->dynamic >= 0 && a->dynamic_coefficient != b->dynamic_coefficient) return false;
  for (int32_t i = 0; i < a->term_count; i++)
    if (laze_component_coefficient(b, a->terms[i].axis) != a->terms[i].coefficient) return false;
  return true;
}

static bool guards_equal(const laze_guard *a, const laze_guard *b) {
  for (; a && b && a != b; a = a->next, b = b->next)
    if (a->low != b->low || a->high != b->high || !component_equal(&a->component, &b->component)) return false;
  return a == b;
}

laze_status laze_map_create(laze_mapper *mapper, const laze_size *sizes, const laze_component *components, int rank,
                            const laze_guard *guards, const laze_map **out) {
  laze_map *map = laze_arena_alloc(mapper->arena, sizeof *map);
  if (!map) return memory_error(mapper);
  map->rank = rank;
  map->sizes = laze_arena_copy(mapper->arena, sizes, rank * (int64_t)sizeof *sizes);
  map->components = laze_arena_copy(mapper->arena, components, rank * (int64_t)sizeof *components);
  map->guards = guards;
  if (!map->sizes || !map->components) return memory_error(mapper);
  *out = map;
  return LAZE_OK;
}

laze_status laze_map_flat(laze_mapper *mapper, laze_size extent, const laze_map **out) {
  if (extent == 1) return laze_map_create(mapper, NULL, NULL, 0, NULL, out);
  laze_term term = {laze_domain_add_axis(mapper->domain, extent, -1), 1};
  const laze_term *copy = laze_arena_copy(mapper->arena, &term, sizeof term);
  if (!copy) return memory_error(mapper);
  laze_component component = {.terms = copy, .term_count = 1, .dynamic = -1};
  return laze_map_create(mapper, &extent, &component, 1, NULL, out);
}

/* Normalising */

static bool has_split(const laze_domain *domain, const laze_component *component) {
  for (int32_t i = 0; i < component->term_count; i++)
    if (domain->axes[component->terms[i].axis].outer >= 0) return true;
  return false;
}

/* c * axis = c * inner_extent * outer + c * inner. */
laze_status laze_component_normalise(laze_mapper *mapper, const laze_component *component, laze_component *out) {
  *out = *component;
  while (has_split(mapper->domain, out)) {
    laze_term *terms = laze_arena_alloc_array(mapper->arena, 2 * (int64_t)out->term_count, sizeof *terms);
    if (!terms) return memory_error(mapper);
    int32_t count = 0;
    for (int32_t i = 0; i < out->term_count; i++) {
      const laze_axis *axis = &mapper->domain->axes[out->terms[i].axis];
      if (axis->outer < 0) {
        terms[count++] = out->terms[i];
        continue;
      }
      laze_size coefficient = out->terms[i].coefficient;
      terms[count].axis = axis->outer;
      LAZE_TRY(multiply(mapper, coefficient, mapper->domain->axes[axis->inner].extent, &terms[count].coefficient));
      terms[count + 1] = (laze_term){axis->inner, coefficient};
      count += 2;
    }
    out->terms = terms;
    out->term_count = count;
  }
  return LAZE_OK;
}

laze_status laze_map_normalise(laze_mapper *mapper, const laze_map *map, const laze_map **out) {
  bool split = false;
  for (int32_t i = 0; i < map->rank; i++) split = split || has_split(mapper->domain, &map->components[i]);
  for (const laze_guard *guard = map->guards; guard; guard = guard->next)
    split = split || has_split(mapper->domain, &guard->component);
  *out = map;
  if (!split) return LAZE_OK;
  laze_component components[LAZE_MAX_RANK];
  for (int32_t i = 0; i < map->rank; i++)
    LAZE_TRY(laze_component_normalise(mapper, &map->components[i], &components[i]));
  const laze_guard *guards = NULL, **link = &guards;
  for (const laze_guard *guard = map->guards; guard; guard = guard->next) {
    laze_guard *copy = laze_arena_copy(mapper->arena, guard, sizeof *guard);
    if (!copy) return memory_error(mapper);
    LAZE_TRY(laze_component_normalise(mapper, &guard->component, &copy->component));
    copy->next = NULL;
    *link = copy;
    link = &copy->next;
  }
  return laze_map_create(mapper, map->sizes, components, map->rank, guards, out);
}

laze_status laze_map_offset(laze_mapper *mapper, const laze_map *given, laze_offset *out) {
  const laze_map *map;
  LAZE_TRY(laze_map_normalise(mapper, given, &map));
  memset(out, 0, sizeof *out);
  out->affine = zero_component;
  laze_size stride = 1;
  for (int32_t i = map->rank; i-- > 0;) {
    laze_component scaled;
    LAZE_TRY(laze_component_scale(mapper, &map->components[i], stride, &scaled));
    if (scaled.dynamic >= 0) {
      out->dynamics[out->dynamic_count] = scaled.dynamic;
      out->coefficients[out->dynamic_count++] = scaled.dynamic_coefficient;
      scaled.dynamic = -1;
    }
    LAZE_TRY(laze_component_add(mapper, &out->affine, &scaled, &out->affine));
    LAZE_TRY(multiply(mapper, stride, map->sizes[i], &stride));
  }
  return LAZE_OK;
}

laze_status laze_map_equal(laze_mapper *mapper, const laze_map *a, const laze_map *b, bool *out) {
  *out = a == b;
  if (a == b || !guards_equal(a->guards, b->guards)) return LAZE_OK;
  bool same_view = a->rank == b->rank;
  for (int32_t i = 0; same_view && i < a->rank; i++)
    same_view = a->sizes[i] == b->sizes[i] && component_equal(&a->components[i], &b->components[i]);
  *out = same_view;
  if (same_view) return LAZE_OK;
  laze_offset first, second;
  LAZE_TRY(laze_map_offset(mapper, a, &first));
  LAZE_TRY(laze_map_offset(mapper, b, &second));
  *out = component_equal(&first.affine, &second.affine) && first.dynamic_count == second.dynamic_count;
  for (int32_t i = 0; *out && i < first.dynamic_count; i++)
    *out = first.dynamics[i] == second.dynamics[i] && first.coefficients[i] == second.coefficients[i];
  return LAZE_OK;
}

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

/* The coefficient of an axis, 0 where there is no term on it. */
static laze_size coefficient_of(const laze_component *component, int32_t axis) {
  for (int32_t i = 0; i < component->term_count; i++)
    if (component->terms[i].axis == axis) return component->terms[i].coefficient;
  return 0;
}

static bool component_equal(const laze_component *a, const laze_component *b) {
  if (a->term_count != b->term_count || a->dynamic != b->dynamic || a->offset != b->offset) return false;
  if (a->dynamic >= 0 && a->dynamic_coefficient != b->dynamic_coefficient) return false;
  for (int32_t i = 0; i < a->term_count; i++)
    if (coefficient_of(b, a->terms[i].axis) != a->terms[i].coefficient) return false;
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

/* Replaces terms on split axes: c * axis = c * inner_extent * outer + c * inner. */
static laze_status normalise_component(laze_mapper *mapper, const laze_component *component, laze_component *out) {
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
  for (int32_t i = 0; i < map->rank; i++) LAZE_TRY(normalise_component(mapper, &map->components[i], &components[i]));
  const laze_guard *guards = NULL, **link = &guards;
  for (const laze_guard *guard = map->guards; guard; guard = guard->next) {
    laze_guard *copy = laze_arena_copy(mapper->arena, guard, sizeof *guard);
    if (!copy) return memory_error(mapper);
    LAZE_TRY(normalise_component(mapper, &guard->component, &copy->component));
    copy->next = NULL;
    *link = copy;
    link = &copy->next;
  }
  return laze_map_create(mapper, map->sizes, components, map->rank, guards, out);
}

/* Refining: matching the view against other sizes from the innermost axis outwards, in blocks of equal product.
 *
 *   view [a*b, c]  sizes [a, b, c]     blocks {c | c}, {a*b | a, b}
 */

/* Divides `a` by `b` where that is exact by the expressions alone. */
static laze_status divide_exactly(laze_mapper *mapper, laze_size a, laze_size b, bool *exact, laze_size *out) {
  *exact = false;
  if (b == 0 || laze_size_binary(mapper->sizes, LAZE_SIZE_FLOOR_DIV, a, b, out, NULL) != LAZE_OK) return LAZE_OK;
  laze_size product;
  LAZE_TRY(multiply(mapper, *out, b, &product));
  *exact = product == a;
  return LAZE_OK;
}

static laze_status same_size(laze_mapper *mapper, laze_size a, laze_size b, bool *out) {
  *out = a == b;
  if (*out || (laze_size_is_constant(a) && laze_size_is_constant(b))) return LAZE_OK;
  return laze_size_ask_equal(mapper->sizes, a, b, out, mapper->error);
}

/* Splits an axis of the domain into (rest, inner). False where the domain is full or the axis is reduced. */
static bool split_axis(laze_domain *domain, int32_t axis, laze_size rest, laze_size inner) {
  if (domain->axis_count + 2 > LAZE_MAX_AXES || domain->axes[axis].reduced) return false;
  int32_t position = laze_domain_position(domain, axis);
  memmove(&domain->order[position], &domain->order[position + 1],
          (size_t)(domain->order_count - position - 1) * sizeof *domain->order);
  domain->order_count--;
  int32_t outer_axis = laze_domain_add_axis(domain, rest, position);
  int32_t inner_axis = laze_domain_add_axis(domain, inner, position + 1);
  domain->axes[axis].outer = outer_axis;
  domain->axes[axis].inner = inner_axis;
  return true;
}

/* Whether the inner terms run exactly over [0, size): nested axes whose coefficients are the products of the extents
 * within them. */
static laze_status covers(laze_mapper *mapper, const laze_component *inner, laze_size size, bool *out) {
  laze_size span = 1;
  *out = inner->offset == 0;
  bool used[LAZE_MAX_AXES] = {false};
  for (int32_t n = 0; n < inner->term_count && *out; n++) {
    int32_t next = -1;
    for (int32_t i = 0; i < inner->term_count; i++)
      if (!used[i] && inner->terms[i].coefficient == span) next = i;
    if (next < 0) *out = false;
    if (next < 0) return LAZE_OK;
    used[next] = true;
    LAZE_TRY(multiply(mapper, span, mapper->domain->axes[inner->terms[next].axis].extent, &span));
  }
  if (*out && inner->term_count > 0) return same_size(mapper, span, size, out);
  return LAZE_OK;
}

/* Which terms of a component = outer * size + inner are outer, and what they are there. */
typedef struct {
  bool outer[LAZE_MAX_AXES];
  laze_size quotients[LAZE_MAX_AXES];
} peeling;

static laze_status divide_terms(laze_mapper *mapper, const laze_component *component, laze_size size, peeling *out) {
  for (int32_t i = 0; i < component->term_count; i++)
    LAZE_TRY(divide_exactly(mapper, component->terms[i].coefficient, size, &out->outer[i], &out->quotients[i]));
  return LAZE_OK;
}

/* The same by nesting, which sees what division of sums does not: terms whose coefficients are the products of the
 * extents within them are inner until those make up `size`. */
static laze_status nest_terms(laze_mapper *mapper, const laze_component *component, laze_size size, peeling *out,
                              bool *nested) {
  laze_size span = 1, quotient = 1;
  bool used[LAZE_MAX_AXES] = {false};
  *nested = false;
  for (int32_t n = 0; n < component->term_count; n++) {
    int32_t next = 0;
    while (next < component->term_count && (used[next] || component->terms[next].coefficient != span)) next++;
    if (next == component->term_count) {
      *nested = false;
      return LAZE_OK;
    }
    used[next] = true;
    if (!*nested && n > 0) LAZE_TRY(same_size(mapper, span, size, nested));
    laze_size extent = mapper->domain->axes[component->terms[next].axis].extent;
    out->outer[next] = *nested;
    out->quotients[next] = quotient;
    if (*nested) LAZE_TRY(multiply(mapper, quotient, extent, &quotient));
    LAZE_TRY(multiply(mapper, span, extent, &span));
  }
  return LAZE_OK;
}

static laze_status part_terms(laze_mapper *mapper, const laze_component *component, const peeling *parts,
                              laze_component *outer, laze_component *inner) {
  int32_t count = component->term_count;
  laze_term *terms = laze_arena_alloc_array(mapper->arena, 2 * (int64_t)count + 1, sizeof *terms);
  if (!terms) return memory_error(mapper);
  *outer = *inner = zero_component;
  for (int32_t i = 0; i < count; i++) {
    if (parts->outer[i])
      terms[outer->term_count++] = (laze_term){component->terms[i].axis, parts->quotients[i]};
    else
      terms[count + inner->term_count++] = component->terms[i];
  }
  outer->terms = terms;
  inner->terms = terms + count;
  return LAZE_OK;
}

/* Takes the innermost axis of size `size` off a component that runs over rest * size: component = outer * size + inner.
 * *done is false where terms do not fall apart that way. */
static laze_status peel(laze_mapper *mapper, laze_component *component, laze_size rest, laze_size size,
                        laze_component *inner, bool *done) {
  *done = false;
  LAZE_TRY(normalise_component(mapper, component, component));
  if (component->dynamic >= 0 || component->offset != 0) return LAZE_OK;
  bool whole = false;
  if (component->term_count == 1 && component->terms[0].coefficient == 1) {
    laze_size product;
    LAZE_TRY(multiply(mapper, rest, size, &product));
    LAZE_TRY(same_size(mapper, mapper->domain->axes[component->terms[0].axis].extent, product, &whole));
  }
  if (whole && !split_axis(mapper->domain, component->terms[0].axis, rest, size)) return LAZE_OK;
  LAZE_TRY(normalise_component(mapper, component, component));
  peeling parts;
  laze_component outer;
  LAZE_TRY(divide_terms(mapper, component, size, &parts));
  LAZE_TRY(part_terms(mapper, component, &parts, &outer, inner));
  LAZE_TRY(covers(mapper, inner, size, done));
  if (!*done) {
    LAZE_TRY(nest_terms(mapper, component, size, &parts, done));
    if (*done) LAZE_TRY(part_terms(mapper, component, &parts, &outer, inner));
  }
  *component = outer;
  return LAZE_OK;
}

/* One block: joins view axes [from, to) to one component and peels the sizes [first, last) off it. */
static laze_status refine_block(laze_mapper *mapper, const laze_map *map, int from, int to, const laze_size *sizes,
                                int first, int last, laze_component *out, bool *done) {
  laze_component joined = zero_component;
  laze_size stride = 1;
  for (int i = to; i-- > from;) {
    laze_component scaled;
    if (joined.dynamic >= 0 && map->components[i].dynamic >= 0) {
      *done = false;
      return LAZE_OK;
    }
    LAZE_TRY(laze_component_scale(mapper, &map->components[i], stride, &scaled));
    LAZE_TRY(laze_component_add(mapper, &joined, &scaled, &joined));
    LAZE_TRY(multiply(mapper, stride, map->sizes[i], &stride));
  }
  *done = true;
  for (int i = last; i-- > first + 1 && *done;) {
    laze_size rest = 1;
    for (int j = first; j < i; j++) LAZE_TRY(multiply(mapper, rest, sizes[j], &rest));
    LAZE_TRY(peel(mapper, &joined, rest, sizes[i], &out[i], done));
  }
  out[first] = joined;
  return LAZE_OK;
}

/* Which of two different products is the smaller one. Where one divides the other that is known without asking, and
 * right even if the quotient happens to be 1, so that a program for many rows serves for a single one. */
static laze_status is_smaller(laze_mapper *mapper, laze_size left, laze_size right, bool *equal, bool *less) {
  laze_size quotient;
  bool left_divides, right_divides;
  *equal = left == right;
  if (*equal) return LAZE_OK;
  LAZE_TRY(divide_exactly(mapper, right, left, &left_divides, &quotient));
  LAZE_TRY(divide_exactly(mapper, left, right, &right_divides, &quotient));
  *less = left_divides;
  if (left_divides != right_divides) return LAZE_OK;
  LAZE_TRY(same_size(mapper, left, right, equal));
  if (*equal) return LAZE_OK;
  return laze_size_ask_less_equal(mapper->sizes, left, right, less, mapper->error);
}

/* Grows a block from view axis *i and size *j (both past the end of what is left) until the products agree. */
static laze_status find_block(laze_mapper *mapper, const laze_map *map, int *i, const laze_size *sizes, int *j,
                              bool *found) {
  laze_size left = map->sizes[--*i], right = sizes[--*j];
  for (;;) {
    bool less;
    LAZE_TRY(is_smaller(mapper, left, right, found, &less));
    if (*found) return LAZE_OK;
    if (less ? *i == 0 : *j == 0) return same_size(mapper, left, right, found);
    if (less)
      LAZE_TRY(multiply(mapper, left, map->sizes[--*i], &left));
    else
      LAZE_TRY(multiply(mapper, right, sizes[--*j], &right));
  }
}

/* Leaves axes of size 1 out of a list of sizes, so that blocks are found whatever such axes stand between. Those that
 * only happen to be 1 stay. */
static void squeeze_view(const laze_size *sizes, int rank, laze_size *kept_sizes, int *kept, int *count) {
  *count = 0;
  for (int i = 0; i < rank; i++) {
    if (sizes[i] == 1) continue;
    kept_sizes[*count] = sizes[i];
    kept[(*count)++] = i;
  }
}

laze_status laze_map_refine(laze_mapper *mapper, const laze_map *map, const laze_size *sizes, int rank,
                            const laze_map **out) {
  laze_size wanted[LAZE_MAX_RANK];
  int kept[LAZE_MAX_RANK], count;
  laze_component found[LAZE_MAX_RANK], components[LAZE_MAX_RANK];
  *out = NULL;
  squeeze_view(sizes, rank, wanted, kept, &count);
  int i = map->rank, j = count;
  while (i > 0 && j > 0) {
    int to = i, last = j;
    bool done;
    LAZE_TRY(find_block(mapper, map, &i, wanted, &j, &done));
    if (done) LAZE_TRY(refine_block(mapper, map, i, to, wanted, j, last, found, &done));
    if (!done) return LAZE_OK;
  }
  /* What is left over on one side is 1, or the value is empty: not worth a kernel. */
  bool rest_is_one = true;
  for (; i > 0 && rest_is_one; i--) LAZE_TRY(laze_size_is_one(mapper, map->sizes[i - 1], &rest_is_one));
  for (; j > 0 && rest_is_one; j--) {
    LAZE_TRY(laze_size_is_one(mapper, wanted[j - 1], &rest_is_one));
    found[j - 1] = zero_component;
  }
  if (!rest_is_one) return LAZE_OK;
  for (int axis = 0; axis < rank; axis++) components[axis] = zero_component;
  for (int axis = 0; axis < count; axis++) components[kept[axis]] = found[axis];
  const laze_map *refined;
  LAZE_TRY(laze_map_create(mapper, sizes, components, rank, map->guards, &refined));
  return laze_map_normalise(mapper, refined, out);
}

/* Whether an operand has this axis of the value, or 1 in its place. Equality is asked first: with both 1, either is
 * right, and the answer serves other sizes as well. */
static laze_status is_present(laze_mapper *mapper, laze_size value, laze_size operand, bool *out) {
  *out = false;
  return operand == 1 ? LAZE_OK : same_size(mapper, value, operand, out);
}

/* Broadcasting: axes in runs that are, or are not, in the operand; each run is one axis of a coarse view. */
laze_status laze_map_broadcast(laze_mapper *mapper, const laze_map *map, const laze_type *value,
                               const laze_type *operand, const laze_map **out) {
  laze_size runs[LAZE_MAX_RANK];
  bool present[LAZE_MAX_RANK];
  int count = 0, missing = value->rank - operand->rank;
  bool any_missing = false;
  for (int axis = 0; axis < value->rank; axis++) {
    bool in_operand = axis >= missing;
    if (value->sizes[axis] == 1) continue;
    if (in_operand) LAZE_TRY(is_present(mapper, value->sizes[axis], operand->sizes[axis - missing], &in_operand));
    any_missing = any_missing || !in_operand;
    if (count > 0 && present[count - 1] == in_operand) {
      LAZE_TRY(multiply(mapper, runs[count - 1], value->sizes[axis], &runs[count - 1]));
    } else {
      present[count] = in_operand;
      runs[count++] = value->sizes[axis];
    }
  }
  *out = map;
  if (!any_missing) return LAZE_OK;
  const laze_map *refined;
  LAZE_TRY(laze_map_refine(mapper, map, runs, count, &refined));
  *out = NULL;
  if (!refined) return LAZE_OK;
  laze_component components[LAZE_MAX_RANK];
  int kept = 0;
  for (int run = 0; run < count; run++) {
    if (!present[run]) continue;
    runs[kept] = runs[run];
    components[kept++] = refined->components[run];
  }
  return laze_map_create(mapper, runs, components, kept, refined->guards, out);
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

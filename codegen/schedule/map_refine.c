/* The same elements through another view: the view is matched against the sizes asked for from the innermost axis
 * outwards, in blocks of equal product.
 *
 *   view [a*b, c]  sizes [a, b, c]     blocks {c | c}, {a*b | a, b}
 *
 * In a block the view's components are joined to one, and the sizes are peeled off that: component = outer * size +
 * inner. An axis of the domain that is part of both is split there.
 */
#include "codegen/schedule/map.h"

#include <string.h>

#include "shape_inference/inference.h"

static const laze_component zero_component = {.dynamic = -1};

static laze_status memory_error(const laze_mapper *mapper) {
  return laze_fail_memory(mapper->error, "an access map", -1);
}

static laze_status multiply(laze_mapper *mapper, laze_size a, laze_size b, laze_size *out) {
  return laze_size_binary(mapper->sizes, LAZE_SIZE_MUL, a, b, out, mapper->error);
}

/* Divides `a` by `b` where that is exact by the expressions alone. */
static laze_status divide_exactly(laze_mapper *mapper, laze_size a, laze_size b, bool *exact, laze_size *out) {
  *exact = false;
  *out = 0;
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

/* `a` / `b` where that is exact: by the expressions, or as a fact. */
static laze_status divide(laze_mapper *mapper, laze_size a, laze_size b, bool *exact, laze_size *out) {
  laze_size product;
  bool positive = false;
  LAZE_TRY(divide_exactly(mapper, a, b, exact, out));
  if (!*exact && b != 0) LAZE_TRY(laze_size_ask_less_equal(mapper->sizes, 1, b, &positive, mapper->error));
  if (!positive) return LAZE_OK;
  LAZE_TRY(multiply(mapper, *out, b, &product));
  return same_size(mapper, product, a, exact);
}

/* Splits an axis of the domain into (rest, inner). False where the domain is full or the axis stays whole. */
static bool split_axis(laze_domain *domain, int32_t axis, laze_size rest, laze_size inner) {
  if (domain->axis_count + 2 > LAZE_MAX_AXES || domain->axes[axis].whole) return false;
  int32_t position = laze_domain_position(domain, axis);
  memmove(&domain->order[position], &domain->order[position + 1],
          (size_t)(domain->order_count - position - 1) * sizeof *domain->order);
  domain->order_count--;
  int32_t outer_axis = laze_domain_add_axis(domain, rest, position);
  int32_t inner_axis = laze_domain_add_axis(domain, inner, position + 1);
  domain->axes[outer_axis].ordered = domain->axes[inner_axis].ordered = domain->axes[axis].ordered;
  domain->axes[outer_axis].reduced = domain->axes[inner_axis].reduced = domain->axes[axis].reduced;
  domain->axes[axis].outer = outer_axis;
  domain->axes[axis].inner = inner_axis;
  return true;
}

/* How component = outer * size + inner falls apart: which terms are outer, and what they are there. */
typedef struct {
  bool outer[LAZE_MAX_AXES], exact[LAZE_MAX_AXES]; /* by term; exact: quotients[] is known */
  laze_size quotients[LAZE_MAX_AXES];
  int32_t straddling; /* a term of which a part is inner and a part outer, -1: none */
  laze_size span;     /* what the inner terms run over, without that one */
  bool asks;          /* as a fact, too, whether terms are nested */
} peeling;

/* Which of two different products is the smaller one. Where one divides the other that is known without asking, and
 * right even if the quotient happens to be 1, so that a program for many rows serves for a single one. */
static laze_status is_smaller(laze_mapper *mapper, laze_size left, laze_size right, bool *equal, bool *less) {
  laze_size quotient;
  bool left_divides, right_divides;
  *equal = left == right;
  *less = false;
  if (*equal) return LAZE_OK;
  LAZE_TRY(divide_exactly(mapper, right, left, &left_divides, &quotient));
  LAZE_TRY(divide_exactly(mapper, left, right, &right_divides, &quotient));
  *less = left_divides;
  if (left_divides != right_divides) return LAZE_OK;
  LAZE_TRY(same_size(mapper, left, right, equal));
  if (*equal) return LAZE_OK;
  return laze_size_ask_less_equal(mapper->sizes, left, right, less, mapper->error);
}

/* The term, among those still outer, whose coefficient is `span`: the next one of nested axes. -1: none. */
static laze_status nested_term(laze_mapper *mapper, const laze_component *component, const peeling *parts,
                               laze_size span, int32_t *out) {
  bool found = false;
  for (*out = 0; *out < component->term_count; ++*out)
    if (parts->outer[*out] && component->terms[*out].coefficient == span) return LAZE_OK;
  for (*out = 0; parts->asks && *out < component->term_count; ++*out) {
    if (parts->outer[*out]) LAZE_TRY(same_size(mapper, component->terms[*out].coefficient, span, &found));
    if (found) return LAZE_OK;
  }
  *out = -1;
  return LAZE_OK;
}

static laze_size extent_of(const laze_mapper *mapper, const laze_component *component, int32_t term) {
  return mapper->domain->axes[component->terms[term].axis].extent;
}

/* Whether `size` ends at `span` after all, where an axis of `extent` around it would else be split in it. Asked only
 * where the expressions do not show how to split. */
static laze_status ends_here(laze_mapper *mapper, laze_size span, laze_size extent, laze_size size, bool *out) {
  laze_size inner, outer;
  bool exact;
  *out = false;
  LAZE_TRY(divide_exactly(mapper, size, span, &exact, &inner));
  if (exact) LAZE_TRY(divide_exactly(mapper, extent, inner, &exact, &outer));
  return exact ? LAZE_OK : same_size(mapper, span, size, out);
}

/* Terms are inner from the innermost on, nested in each other, as long as they stay within [0, size). */
static laze_status find_inner(laze_mapper *mapper, const laze_component *component, laze_size size, peeling *out) {
  bool reached = false;
  out->straddling = -1;
  out->span = 1;
  for (int32_t i = 0; i < component->term_count; i++) out->outer[i] = true;
  while (!reached && out->span != size) {
    laze_size span;
    int32_t next;
    bool less;
    LAZE_TRY(nested_term(mapper, component, out, out->span, &next));
    if (next < 0) break;
    LAZE_TRY(multiply(mapper, out->span, extent_of(mapper, component, next), &span));
    LAZE_TRY(is_smaller(mapper, span, size, &reached, &less));
    if (!reached && !less) {
      bool ends = false;
      if (out->span != 1) LAZE_TRY(ends_here(mapper, out->span, extent_of(mapper, component, next), size, &ends));
      if (!ends) out->straddling = next;
      break;
    }
    out->outer[next] = false;
    out->span = span;
  }
  return LAZE_OK;
}

/* What the outer terms are in units of `size`: by division, by nesting, which sees what division of sums does not, or
 * by division as a fact. *done is false where a term is no multiple. */
static laze_status divide_outer(laze_mapper *mapper, const laze_component *component, laze_size size, peeling *parts,
                                bool *done) {
  peeling left = *parts;
  laze_size span = parts->span, quotient = 1;
  *done = true;
  for (int32_t i = 0; i < component->term_count; i++)
    if (parts->outer[i])
      LAZE_TRY(divide_exactly(mapper, component->terms[i].coefficient, size, &parts->exact[i], &parts->quotients[i]));
  for (int32_t next;;) {
    LAZE_TRY(nested_term(mapper, component, &left, span, &next));
    if (next < 0) break;
    if (!parts->exact[next]) parts->quotients[next] = quotient;
    parts->exact[next] = true;
    left.outer[next] = false;
    LAZE_TRY(multiply(mapper, quotient, extent_of(mapper, component, next), &quotient));
    LAZE_TRY(multiply(mapper, span, extent_of(mapper, component, next), &span));
  }
  for (int32_t i = 0; i < component->term_count && *done; i++)
    if (parts->outer[i] && !parts->exact[i])
      LAZE_TRY(divide(mapper, component->terms[i].coefficient, size, done, &parts->quotients[i]));
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

/* An axis of `extent` cut in two. */
typedef struct {
  laze_size extent, inner, outer;
  bool exact; /* outer is known */
} cut;

/* The outer part of an axis: some of the sizes around, from the last one on, where the expressions show it; all of
 * them, as a fact, where nothing else is outer; otherwise by division, also as a fact. */
static laze_status find_outer(laze_mapper *mapper, laze_size_list around, bool alone, cut *out) {
  laze_size product = out->inner;
  LAZE_TRY(divide_exactly(mapper, out->extent, out->inner, &out->exact, &out->outer));
  if (out->exact) return LAZE_OK;
  out->outer = 1;
  for (int i = around.count; i-- > 0 && !out->exact;) {
    LAZE_TRY(multiply(mapper, out->outer, around.items[i], &out->outer));
    LAZE_TRY(multiply(mapper, out->outer, out->inner, &product));
    out->exact = product == out->extent;
  }
  if (!out->exact && alone) LAZE_TRY(same_size(mapper, product, out->extent, &out->exact));
  return out->exact ? LAZE_OK : divide(mapper, out->extent, out->inner, &out->exact, &out->outer);
}

/* Splits the axis of the straddling term where the last of `sizes` ends, if it can be split there. */
static laze_status split_straddling(laze_mapper *mapper, const laze_component *component, laze_size_list sizes,
                                    const peeling *parts, bool *done) {
  cut axis = {.extent = extent_of(mapper, component, parts->straddling)};
  laze_size_list around = {sizes.items, sizes.count - 1, true};
  int32_t outer_count = 0;
  for (int32_t i = 0; i < component->term_count; i++) outer_count += parts->outer[i];
  LAZE_TRY(divide(mapper, sizes.items[around.count], parts->span, done, &axis.inner));
  if (!*done) return LAZE_OK;
  LAZE_TRY(find_outer(mapper, around, outer_count == 1, &axis));
  *done = axis.exact && split_axis(mapper->domain, component->terms[parts->straddling].axis, axis.outer, axis.inner);
  return LAZE_OK;
}

/* Which terms are inner, and what the others are in units of the last of `sizes`. An axis that is part of both is
 * split. */
static laze_status find_parts(laze_mapper *mapper, laze_component *component, laze_size_list sizes, peeling *out,
                              bool *done) {
  laze_size size = sizes.items[sizes.count - 1];
  *done = false;
  LAZE_TRY(find_inner(mapper, component, size, out));
  if (out->straddling >= 0) {
    LAZE_TRY(split_straddling(mapper, component, sizes, out, done));
    if (!*done) return LAZE_OK;
    LAZE_TRY(laze_component_normalise(mapper, component, component));
    LAZE_TRY(find_inner(mapper, component, size, out));
    *done = false;
    if (out->straddling >= 0) return LAZE_OK;
  }
  return divide_outer(mapper, component, size, out, done);
}

/* Takes the last of `sizes` off a component that runs over all of them: component = outer * size + inner. *done is
 * false where terms do not fall apart that way. */
static laze_status peel(laze_mapper *mapper, laze_component *component, laze_size_list sizes, laze_component *inner,
                        bool *done) {
  laze_size size = sizes.items[sizes.count - 1];
  peeling parts = {.asks = false};
  laze_component outer;
  laze_size offset = 0; /* of whole rows of `size`; any other would cross from one into the next */
  bool whole = component->offset == 0;
  *done = false;
  LAZE_TRY(laze_component_normalise(mapper, component, component));
  if (!whole) LAZE_TRY(divide_exactly(mapper, component->offset, size, &whole, &offset));
  if (component->dynamic >= 0 || !whole) return LAZE_OK;
  LAZE_TRY(find_inner(mapper, component, size, &parts));
  if (parts.straddling >= 0) {
    /* An axis of one element is not worth a loop, least of all the innermost one. */
    LAZE_TRY(laze_size_is_one(mapper, size, done));
    if (*done) *inner = zero_component;
    if (*done) return LAZE_OK;
  }
  LAZE_TRY(find_parts(mapper, component, sizes, &parts, done));
  parts.asks = true; /* of axes left out because they have one element, expressions of others show nothing */
  if (!*done) LAZE_TRY(find_parts(mapper, component, sizes, &parts, done));
  if (!*done) return LAZE_OK;
  LAZE_TRY(part_terms(mapper, component, &parts, &outer, inner));
  *component = outer;
  component->offset = offset;
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
  for (int i = last; i-- > first + 1 && *done;)
    LAZE_TRY(peel(mapper, &joined, (laze_size_list){sizes + first, i + 1 - first, true}, &out[i], done));
  out[first] = joined;
  return LAZE_OK;
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

/* Without a domain of nothing: NULL where the view would need a division. */
static laze_status refine_blocks(laze_mapper *mapper, const laze_map *map, const laze_size *sizes, int rank,
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
  bool rest_is_one = true; /* what is left over on one side */
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

/* In a domain of no points any map is right. One that depends on an axis of no elements keeps what it reads within
 * that axis's loop. *out stays as it is where there is no such axis. */
static laze_status map_of_nothing(laze_mapper *mapper, const laze_size *sizes, int rank, const laze_map **out) {
  for (int32_t i = 0; i < mapper->domain->order_count; i++) {
    laze_term term = {mapper->domain->order[i], 1};
    bool empty;
    if (mapper->domain->axes[term.axis].reduced) continue;
    LAZE_TRY(laze_size_ask_less_equal(mapper->sizes, mapper->domain->axes[term.axis].extent, 0, &empty, mapper->error));
    if (!empty) continue;
    const laze_term *copy = laze_arena_copy(mapper->arena, &term, sizeof term);
    if (!copy) return memory_error(mapper);
    laze_component components[LAZE_MAX_RANK];
    for (int axis = 0; axis < rank; axis++)
      components[axis] = (laze_component){.terms = copy, .term_count = 1, .dynamic = -1};
    return laze_map_create(mapper, sizes, components, rank, NULL, out);
  }
  return LAZE_OK;
}

laze_status laze_map_refine(laze_mapper *mapper, const laze_map *map, const laze_size *sizes, int rank,
                            const laze_map **out) {
  LAZE_TRY(refine_blocks(mapper, map, sizes, rank, out));
  return *out ? LAZE_OK : map_of_nothing(mapper, sizes, rank, out);
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

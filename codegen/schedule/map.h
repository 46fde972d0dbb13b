/* Access maps: which element of a value a point of a group's iteration domain needs.
 *
 * A map sees the value's elements, row-major, as an array of some *view* shape (any factorisation of the value's shape)
 * and gives one component per view axis: a sum of domain axes times coefficients plus an offset, and perhaps an index
 * that is read from memory. Because a view need not be the value's own shape, reshape changes nothing in a map, and an
 * elementwise chain over contiguous tensors of any rank stays one flat axis:
 *
 *   domain (i: n)            view [n]       component i
 *   y = x + reshape(z)       view [n]       component i          the same map for y, x, z
 *   bias b[c] added to x[r,c]                domain axis i splits into (r, c); b: view [c], component c
 *
 * Axes split on demand, when an operator needs to see them apart (laze_map_refine). Terms on a split axis are rewritten
 * when a map is next looked at.
 */
#ifndef LAZE_CODEGEN_SCHEDULE_MAP_H
#define LAZE_CODEGEN_SCHEDULE_MAP_H

#include "base/arena.h"
#include "shape_inference/type.h"

#define LAZE_MAX_AXES 24

/* An axis of a group's domain. */
typedef struct laze_axis {
  laze_size extent;
  bool reduced;         /* a reduction of the group runs over it */
  bool whole;           /* not to be split: its order depends on its extent */
  bool ordered;         /* one iteration after the other: two may write to one place */
  int32_t outer, inner; /* what it was split into; -1: not split */
} laze_axis;

typedef struct laze_domain {
  laze_axis axes[LAZE_MAX_AXES]; /* by number; split ones stay */
  int32_t axis_count;
  int32_t order[LAZE_MAX_AXES]; /* axes that are not split, outermost first */
  int32_t order_count;
} laze_domain;

typedef struct laze_term {
  int32_t axis;
  laze_size coefficient;
} laze_term;

typedef struct laze_component {
  const laze_term *terms;
  int32_t term_count;
  int32_t dynamic; /* instance whose value is added, times dynamic_coefficient; -1: none */
  laze_size offset, dynamic_coefficient;
} laze_component;

/* Where `low <= component < high` is false, the element is not read (a piece of a concatenation). */
typedef struct laze_guard {
  const struct laze_guard *next;
  laze_component component;
  laze_size low, high;
} laze_guard;

typedef struct laze_map {
  int32_t rank;
  const laze_size *sizes; /* the view */
  const laze_component *components;
  const laze_guard *guards;
} laze_map;

/* What map operations work with. `failed` is set where a map cannot be expressed: not an error, the value is stored. */
typedef struct laze_mapper {
  laze_arena *arena;
  laze_size_table *sizes;
  laze_domain *domain;
  laze_error *error;
} laze_mapper;

/* Appends an axis at `position` of the order (-1: the end); -1 when there are too many. */
int32_t laze_domain_add_axis(laze_domain *domain, laze_size extent, int32_t position);
/* Position of an axis in the order, -1 if it is split. */
int32_t laze_domain_position(const laze_domain *domain, int32_t axis);

/* The identity over one flat axis: view [extent]; an extent of 1 gives rank 0. Adds the axis to the domain. */
LAZE_MUST_USE laze_status laze_map_flat(laze_mapper *mapper, laze_size extent, const laze_map **out);
/* The map with terms on split axes rewritten. */
LAZE_MUST_USE laze_status laze_map_normalise(laze_mapper *mapper, const laze_map *map, const laze_map **out);
/* The same elements through the view `sizes`; *out is NULL where that would need a division. May split domain axes. */
LAZE_MUST_USE laze_status laze_map_refine(laze_mapper *mapper, const laze_map *map, const laze_size *sizes, int rank,
                                          const laze_map **out);
/* The map of an operand that is broadcast to the value `map` is of. */
LAZE_MUST_USE laze_status laze_map_broadcast(laze_mapper *mapper, const laze_map *map, const laze_type *value,
                                             const laze_type *operand, const laze_map **out);
/* Whether two maps, both normalised, name the same elements: through the same view or another one. */
LAZE_MUST_USE laze_status laze_map_equal(laze_mapper *mapper, const laze_map *a, const laze_map *b, bool *out);

/* Whether the map, normalised, reaches every element of its view as its axes run. */
LAZE_MUST_USE laze_status laze_map_covers(laze_mapper *mapper, const laze_map *map, bool *out);
/* Whether it depends on an axis. */
bool laze_map_uses(const laze_map *map, int32_t axis);

/* The linear element offset a map stands for: sum of terms and dynamics. */
typedef struct laze_offset {
  laze_component affine; /* no dynamic */
  int32_t dynamic_count;
  int32_t dynamics[LAZE_MAX_RANK];
  laze_size coefficients[LAZE_MAX_RANK];
} laze_offset;
LAZE_MUST_USE laze_status laze_map_offset(laze_mapper *mapper, const laze_map *map, laze_offset *out);

/* Component arithmetic. */
LAZE_MUST_USE laze_status laze_component_scale(laze_mapper *mapper, const laze_component *component, laze_size factor,
                                               laze_component *out);
LAZE_MUST_USE laze_status laze_component_add(laze_mapper *mapper, const laze_component *a, const laze_component *b,
                                             laze_component *out);
/* The component with terms on split axes rewritten; `out` may be `component`. */
LAZE_MUST_USE laze_status laze_component_normalise(laze_mapper *mapper, const laze_component *component,
                                                   laze_component *out);
/* A new map with given components (copied) over given view sizes (copied), keeping `guards`. */
LAZE_MUST_USE laze_status laze_map_create(laze_mapper *mapper, const laze_size *sizes, const laze_component *components,
                                          int rank, const laze_guard *guards, const laze_map **out);
/* Whether the size is 1, asked as a fact. */
LAZE_MUST_USE laze_status laze_size_is_one(laze_mapper *mapper, laze_size size, bool *out);

/* What an axis counts for in a component that was normalised; 0: it does not occur. */
laze_size laze_component_coefficient(const laze_component *component, int32_t axis);

#endif

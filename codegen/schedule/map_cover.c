/* Which elements of its view a map reaches.
 *
 *   view [6, 4]   components (2*a + b, c)   extents a: 3, b: 2, c: 4     every element: b counts 0 to 1 and a on
 *                 components (a + 1, c)                                   row 0 is left out
 */
#include "codegen/schedule/map.h"

/* Finds the term whose coefficient continues what the terms found so far count through: `reach` elements. */
static laze_status find_next(laze_mapper *mapper, const laze_component *component, uint32_t found, laze_size reach,
                             int32_t *out) {
  *out = -1;
  for (int32_t i = 0; i < component->term_count && *out < 0; i++) {
    bool equal;
    if (found >> i & 1) continue;
    LAZE_TRY(laze_size_ask_equal(mapper->sizes, component->terms[i].coefficient, reach, &equal, mapper->error));
    if (equal) *out = i;
  }
  return LAZE_OK;
}

/* Whether the component takes each value below `size`, and its axes are none of those in `used`, to which they are
 * added. */
static laze_status covers_axis(laze_mapper *mapper, const laze_component *component, laze_size size, uint32_t *used,
                               bool *out) {
  laze_size reach = 1;
  uint32_t found = 0;
  *out = component->dynamic < 0 && component->offset == 0 && component->term_count <= LAZE_MAX_AXES;
  for (int32_t k = 0; *out && k < component->term_count; k++) {
    int32_t next;
    LAZE_TRY(find_next(mapper, component, found, reach, &next));
    *out = next >= 0 && !(*used >> component->terms[next].axis & 1);
    if (!*out) return LAZE_OK;
    int32_t axis = component->terms[next].axis;
    found |= 1u << next;
    *used |= 1u << axis;
    LAZE_TRY(laze_size_binary(mapper->sizes, LAZE_SIZE_MUL, reach, mapper->domain->axes[axis].extent, &reach,
                              mapper->error));
  }
  if (*out && reach != size) LAZE_TRY(laze_size_ask_equal(mapper->sizes, reach, size, out, mapper->error));
  return LAZE_OK;
}

laze_status laze_map_covers(laze_mapper *mapper, const laze_map *map, bool *out) {
  uint32_t used = 0;
  *out = map->guards == NULL;
  for (int32_t i = 0; i < map->rank && *out; i++)
    LAZE_TRY(covers_axis(mapper, &map->components[i], map->sizes[i], &used, out));
  return LAZE_OK;
}

bool laze_map_uses(const laze_map *map, int32_t axis) {
  for (int32_t i = 0; i < map->rank; i++)
    for (int32_t t = 0; t < map->components[i].term_count; t++)
      if (map->components[i].terms[t].axis == axis) return true;
  return false;
}

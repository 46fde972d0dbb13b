/* Where the elements of views lie: strides, as PyTorch has them. */
#ifndef LAZE_LAZY_VIEWS_GEOMETRY_H
#define LAZE_LAZY_VIEWS_GEOMETRY_H

#include "lazy/value/view.h"

/* Whether the operator gives elements of its operand in other places, so that its results may be views. */
bool laze_geometry_is_movement(laze_op op);
/* Where the result of a movement lies, whose operand lies at `geometry`, which is changed. Sizes are known. False: not
 * in the operand's memory, whatever its strides (geometry is not changed), so that it is a copy. */
bool laze_geometry_follow(laze_geometry *geometry, laze_op op, const laze_attribute *attributes,
                          const laze_type *result);
/* Whether its elements lie one after the other in row-major order. */
bool laze_geometry_is_contiguous(const laze_geometry *geometry);
/* The same for a tensor; where its sizes follow from values, of one that is no view, or all of its base. */
bool laze_view_is_contiguous(const laze_storage *storage, const laze_type *type);
/* Whether each element has a place of its own, as far as strides by size tell; a write needs that. */
bool laze_geometry_is_injective(const laze_geometry *geometry);

#endif

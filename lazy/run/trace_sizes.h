/* Unknown sizes on their way out of the context's table: into a trace, or into its graph. */
#ifndef LAZE_LAZY_RUN_TRACE_SIZES_H
#define LAZE_LAZY_RUN_TRACE_SIZES_H

#include "ir/op.h"

typedef struct laze_lazy laze_lazy;
typedef struct laze_pending laze_pending;

/* Expressions of one table as those of another, whose symbols are numbered in the order in which they are defined. */
typedef struct laze_size_mapping {
  laze_size_table *to; /* NULL: nothing was defined so far */
  laze_size *symbols;  /* by symbol of the context's table */
  laze_size *items;    /* of the attribute that was mapped last */
  int64_t symbol_capacity, item_capacity;
} laze_size_mapping;

void laze_size_mapping_deinit(laze_size_mapping *mapping, laze_context *context);
/* The definer's symbol is a new one of `to`, which is given in *out. */
LAZE_MUST_USE laze_status laze_size_mapping_define(laze_size_mapping *mapping, laze_lazy *lazy,
                                                   const laze_pending *definer, laze_size *out, laze_error *error);
LAZE_MUST_USE laze_status laze_size_mapping_map(laze_size_mapping *mapping, laze_lazy *lazy, laze_size size,
                                                laze_size *out, laze_error *error);
/* An attribute with its sizes mapped; a list is the mapping's until the next one. */
LAZE_MUST_USE laze_status laze_size_mapping_attribute(laze_size_mapping *mapping, laze_lazy *lazy,
                                                      const laze_attribute *attribute, laze_attribute *out,
                                                      laze_error *error);

#endif

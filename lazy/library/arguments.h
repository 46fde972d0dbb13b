/* Arguments of a call of a declared operator: bound to its schema, and laid out for the kernel of its name.
 *
 *   passed     y, by=0.5                     by position and by name, with defaults left out
 *   bound      TENSOR y, REAL 0.5, NONE      one for each argument of the schema
 *   laid out   operands [y], reals [0.5], integers [0]      what a node holds (laze/opaque.h)
 *
 * What a node holds, argument by argument: a tensor is an operand, and so is a Scalar; of one that may be absent, 0 or
 * 1 among the integers says whether it is there; of a list, the integers say first how many items there are, -1 of one
 * that is absent. */
#ifndef LAZE_LAZY_LIBRARY_ARGUMENTS_H
#define LAZE_LAZY_LIBRARY_ARGUMENTS_H

#include "laze/library.h"
#include "lazy/library/schema.h"

/* Binds what is passed: `bound` has room for one for each argument of the schema. Lists are borrowed, or in the arena.
 */
LAZE_MUST_USE laze_status laze_library_bind(laze_arena *arena, const laze_library_schema *schema,
                                            const laze_argument *arguments, int32_t count, laze_argument *bound,
                                            laze_error *error);

/* Arrays of the arena. */
typedef struct laze_library_layout {
  laze_tensor **operands;
  int64_t *integers;
  double *reals;
  const char **strings;
  laze_tensor **made; /* of the operands those that numbers became, which are given back (laze_library_give_back) */
  int32_t operand_count, integer_count, real_count, string_count, made_count;
} laze_library_layout;
/* Lays bound arguments out; numbers become tensors, also where it fails. */
LAZE_MUST_USE laze_status laze_library_lay_out(laze_arena *arena, const laze_library_schema *schema,
                                               const laze_argument *bound, laze_library_layout *out, laze_error *error);
void laze_library_give_back(const laze_library_layout *layout);
/* The tensors among bound arguments, those of lists too, in order; returns how many. `out` NULL: counts alone. */
int32_t laze_library_tensors(const laze_library_schema *schema, const laze_argument *bound, laze_tensor **out);

/* Reads a layout back, as kernels see it: `values` has one for each argument of the schema, and refers to the call's
 * lists and to `operands`, of which there are as many as the call has. `first` gets, for each argument, where its
 * operands begin; NULL: nobody asks. LAZE_INVALID_ARGUMENT: it is none of this schema, as text may have it. */
LAZE_MUST_USE laze_status laze_library_read_layout(const laze_library_schema *schema, const laze_opaque_call *call,
                                                   const laze_opaque_tensor *operands, laze_library_value *values,
                                                   int32_t *first, laze_error *error);

#endif

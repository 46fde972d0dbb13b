/* What is known of an operator's derivative (ops/derivatives/). A composite that has none of its own is differentiated
 * as what it expands to.
 *
 * A formula records the gradients of some operands from those of the results. What it is given is the call itself, with
 * further segments behind its own: each of the results, then the gradient of each of the results, which is there as
 * zeros where nothing asks for the result, or absent where the formula knows what to do then:
 *
 *   mul(self, other)          formula of self: call of mul with  self | other | result | grad   ->  grad * conj(other)
 *
 * Of operands and results that it does not read, only the type is known. A gradient may be absent, which stands for
 * zeros. It may be larger than its operand, where that was broadcast, and of another dtype: laze_gradient_fit().
 */
#ifndef LAZE_IR_DERIVATIVE_H
#define LAZE_IR_DERIVATIVE_H

#include "ir/op.h"

typedef struct laze_recorder laze_recorder;

typedef struct laze_gradient_formula {
  uint64_t gives;    /* bit i: the gradients of segment i, of each operand in it; in that order they are its results */
  uint64_t operands; /* bit i: it reads values of segment i, and not just their types */
  uint32_t results;  /* bit i: it reads result i */
  uint32_t absent;   /* bit i: the gradient of result i may be absent */
  laze_expand_function record;
} laze_gradient_formula;

typedef struct laze_derivative {
  const laze_gradient_formula *gradients;
  int32_t gradient_count;
  uint32_t differentiable;     /* bit i: result i has a gradient, if its dtype may */
  uint64_t constant;           /* bit i: what is in segment i has none, and no formula has to say so */
  bool is_complex;             /* formulas are right where results are complex */
  const char *not_implemented; /* why there is no formula although there is a gradient; NULL: nothing is missing */
} laze_derivative;

/* Of operators whose results never have a gradient. */
extern const laze_derivative laze_derivative_none;

/* Records a formula for its call, extended as above. Where floats of 16 bits are computed with, and not just moved, it
 * is in f32: what is added up and accumulated of it rounds once, when it is made to fit. */
LAZE_MUST_USE laze_status laze_gradient_record(laze_recorder *recorder, const laze_gradient_formula *formula,
                                               const laze_call *call, laze_value *results, laze_error *error);

/* Makes a gradient one of a value of type `type`: adds up along axes that were broadcast, converts, and takes the real
 * part where the value has no other. Both may be the same value. */
LAZE_MUST_USE laze_status laze_gradient_fit(laze_recorder *recorder, laze_value gradient, const laze_type *type,
                                            laze_value *out, laze_error *error);

#endif

/* What the differential tests know about each operator, generated from the
 * `test` keys of the tables. */
#ifndef LAZE_TESTS_SUPPORT_CASES_H
#define LAZE_TESTS_SUPPORT_CASES_H

#include "ir/op.h"

typedef struct laze_differential_case {
  laze_op op;
  double low, high; /* random inputs are drawn from [low, high] */
  double ulp;       /* allowed distance from the correctly rounded value; 0 where
                       exact */
  bool exact;       /* both backends give the same bits */
  bool recorded;    /* not called at random, because few arguments fit: what
                       PyTorch gave for some is compared instead */
  bool cancels;     /* the difference of two sums of large numbers has no digits
                       left that both backends would agree on */
  uint32_t dtypes;  /* bit d: to be tried with operands of dtype d */
} laze_differential_case;

extern const laze_differential_case laze_differential_cases[];
extern const int32_t laze_differential_case_count;

#endif

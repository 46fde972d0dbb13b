/* Elements of test tensors: how they are made, and how two tensors are compared. */
#ifndef LAZE_TESTS_SUPPORT_VALUES_H
#define LAZE_TESTS_SUPPORT_VALUES_H

#include "base/dtype.h"
#include "tests/support/random.h"

/* Which numbers a tensor is filled with. */
typedef struct test_range {
  double low, high; /* of ordinary floats */
  bool special;     /* with NaN, infinities, -0, subnormals, extreme integers among
                       them */
  int64_t below;    /* not 0: integers in [-below, below), valid indices of an axis
                       of that size */
} test_range;

void test_fill(test_random *random, laze_dtype dtype, const test_range *range, void *data, int64_t count);
/* Whether two elements have the same bits; any two NaNs are taken as the same.
 */
bool test_same_bits(laze_dtype dtype, const void *a, const void *b);
/* The index of the first element in which they differ, -1: none. */
int64_t test_first_difference(laze_dtype dtype, const void *a, const void *b, int64_t count);
/* "1.5 (0x3fc00000)" */
const char *test_element_text(laze_dtype dtype, const void *element, char buffer[64]);
double test_element_as_double(laze_dtype dtype, const void *element);
/* Distance of `got`, of a float's dtype, from `exact` in units in the last place at `exact`; infinity for a wrong NaN,
 * infinity, zero or sign. What lies beyond the largest number counts as the next power of two. */
double test_ulp_distance(laze_dtype dtype, long double got, long double exact);

#endif

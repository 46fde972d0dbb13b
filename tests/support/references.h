/* What functions of floats are: the one table that every test of their accuracy takes its right values from. How near
 * to them a result must be is said by the operator's entry (`test` in ops/native_functions/). */
#ifndef LAZE_TESTS_SUPPORT_REFERENCES_H
#define LAZE_TESTS_SUPPORT_REFERENCES_H

#include "ir/op.h"

/* A function of one number or of two, in the C library's precision and in extended precision. */
typedef struct test_reference {
  laze_op op;
  double (*unary)(double x);
  long double (*unary_long)(long double x);
  double (*binary)(double x, double y);
  long double (*binary_long)(long double x, long double y);
  long double (*scale)(double x, double y); /* of terms that cancel: their error has its units; NULL: they do not */
  bool cancels; /* a sum in which numbers of opposite signs can meet: below 1 its error is that of numbers near 1 */
  bool rounds;  /* of an exact operator: the format may not hold the right value, which is rounded once */
} test_reference;

extern const test_reference test_references[];
extern const int32_t test_reference_count;

/* NULL: none. */
const test_reference *test_reference_find(laze_op op);
/* The right value; `y` is not looked at for a function of one number. */
long double test_reference_value(const test_reference *reference, double x, double y);
/* As good for an f32, and several times as fast. */
double test_reference_value_for_f32(const test_reference *reference, double x, double y);
/* How many units in the last place `got` is off; where the function cancels, of 1 at least. */
double test_reference_distance(const test_reference *reference, laze_dtype dtype, long double got, long double exact);
/* The same, of a function that may have a scale. */
double test_reference_distance_at(const test_reference *reference, laze_dtype dtype, long double got, long double exact,
                                  double x, double y);
/* How many units in the last place a result may be off: 0, half of one, or the entry's bound. */
double test_reference_bound(const test_reference *reference);

#endif

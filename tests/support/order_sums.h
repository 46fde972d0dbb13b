/* Sums in the named orders of reductions, from the words of codegen/order.h and without its code: what whoever follows
 * an order has to give to the bit. */
#ifndef LAZE_TESTS_SUPPORT_ORDER_SUMS_H
#define LAZE_TESTS_SUPPORT_ORDER_SUMS_H

/* `outer` runs of `extent` elements, `stride` apart, the runs `outer_stride` apart. */
typedef struct test_layout {
  int outer, outer_stride, extent, stride;
} test_layout;

/* Of at most 80 blocks: more fail the running Check test. */
float test_sum_lanes(const float *x, test_layout at);
float test_sum_rows(const float *x, test_layout at);

#endif

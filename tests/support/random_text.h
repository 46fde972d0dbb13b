/* Random modules as text: what random graphs (random_graph.h) do not draw. */
#ifndef LAZE_TESTS_SUPPORT_RANDOM_TEXT_H
#define LAZE_TESTS_SUPPORT_RANDOM_TEXT_H

#include "base/text.h"
#include "tests/support/random.h"

/* Loops and branches inside each other, with sizes of their own, are always drawn. */
typedef struct test_text_options {
  /* Sizes that values give (size_from, nonzero, masked_select, values in the place of sizes), lists of indices and
   * numbers, kernels of the program, absent results, and functions with calls. */
  bool values;
} test_text_options;

/* Appends a module with a graph @main of three f32[n] and as many results. Its values are small integers and fractions
 * of operators that are exact. Now and then an index that the counter of a loop gives is out of range. */
void test_write_random_module(laze_text *text, test_random *random, const test_text_options *options);
/* Registers the kernels that such modules call. Ends the process on failure. */
void test_register_kernels(laze_context *context);

#endif

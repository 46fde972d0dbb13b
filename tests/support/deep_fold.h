/* A graph with something that runs on the interpreter, as long as no operator of the table does. */
#ifndef LAZE_TESTS_SUPPORT_DEEP_FOLD_H
#define LAZE_TESTS_SUPPORT_DEEP_FOLD_H

/* The text of @g(%c: bool[], %x: f32[3], %i: f32[]) -> f32[], without its first line: `i` and the sum of `x`, or `i`
 * where `c` is false, by a fold that no loop can do, in the first branches of `depth` ifs. For free. */
char *test_deep_fold(int depth);

#endif

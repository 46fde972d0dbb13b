#include "runtime/copy_kernel.h"

#include "tests/support/suite.h"

#include <check.h>
#include <string.h>

enum { ROWS = 3, PIECES = 4, PITCH = 5 + 0 + 7 + 1 };
static const int64_t sizes[] = {PIECES, PITCH, 5, 0, 7, 1};
static char pieces[PIECES][ROWS * 7];
static char expected[ROWS * PITCH];

static void fill(void) {
  int next = 1;
  for (int i = 0; i < PIECES; i++)
    for (int64_t k = 0; k < ROWS * sizes[2 + i]; k++) pieces[i][k] = (char)next++;
  char *out = expected;
  for (int row = 0; row < ROWS; row++)
    for (int i = 0; i < PIECES; out += sizes[2 + i++])
      memcpy(out, pieces[i] + row * sizes[2 + i], (size_t)sizes[2 + i]);
}

/* Threads share the bytes of the result as they like, so that a range may begin and end inside a piece. */
START_TEST(every_range_is_copied_and_nothing_else) {
  laze_context *context;
  laze_kernel *kernel;
  ck_assert_int_eq(laze_context_create(NULL, &context, NULL), LAZE_OK);
  ck_assert_int_eq(laze_copy_kernel_create(context, &kernel, NULL), LAZE_OK);
  fill();
  for (int64_t begin = 0; begin < ROWS * PITCH; begin++)
    for (int64_t end = begin; end <= ROWS * PITCH; end++) {
      char result[ROWS * PITCH], wanted[ROWS * PITCH];
      void *buffers[] = {pieces[0], NULL, pieces[2], pieces[3], result};
      memset(result, -1, sizeof result);
      memset(wanted, -1, sizeof wanted);
      memcpy(wanted + begin, expected + begin, (size_t)(end - begin));
      const laze_kernel_arguments arguments = {buffers, sizes, NULL, kernel->closure, NULL, NULL};
      kernel->function(&arguments, begin, end, NULL);
      ck_assert_msg(memcmp(result, wanted, sizeof result) == 0, "range %d to %d", (int)begin, (int)end);
    }
  laze_kernel_release(kernel);
  laze_context_release(context);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("copy kernel");
  TCase *tests = tcase_create("ranges");
  tcase_add_test(tests, every_range_is_copied_and_nothing_else);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}

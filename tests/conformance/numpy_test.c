/* What NumPy gives (numpy.txt, written by record_numpy.py), on every backend: bits, or within the distance that a case
 * states. */
#include "tests/conformance/conformance.h"
#include "tests/conformance/recorded.h"

START_TEST(results_are_those_of_numpy) {
  laze_context *context = test_context(NULL);
  recorded_file from = recorded_open(LAZE_TEST_RECORDED "/numpy.txt");
  int cases = 0;
  for (; recorded_next_line(&from); cases++) {
    recorded_case item;
    test_arrays got;
    laze_error error = {0};
    char message[256];
    recorded_read(context, &from, &item);
    laze_status status = recorded_run(context, laze_backend_at(_i), &item, &got, &error);
    ck_assert_msg(recorded_agrees(&item, status, &got, message, sizeof message), "%s: %s %s", item.name, message,
                  error.message);
    test_arrays_release(&got);
    recorded_release(&item);
  }
  ck_assert_int_gt(cases, 60);
  recorded_close(&from);
  laze_context_release(context);
}
END_TEST

int main(void) {
  TCase *tests = tcase_create("numpy");
  conformance_add(tests, results_are_those_of_numpy);
  return conformance_main(tests);
}

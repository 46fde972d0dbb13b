/* What the disk cache takes the generator's code for. */
#include "codegen/native/generator.h"

#include "tests/support/suite.h"

#include <string.h>

static laze_text identity;
static laze_error error;

/* Without the ids of both, an update of LLVM would go on with what the version before it compiled. In this build LLVM
 * is the one that was linked, so that what it compiles may be kept. */
START_TEST(an_opened_generator_is_the_identified_one) {
  laze_generator generator;
  laze_text_init(&identity, laze_context_default());
  ck_assert_msg(laze_generator_identity(&identity, &error) == LAZE_OK, "%s", error.message);
  ck_assert_uint_ge(strlen(laze_text_get(&identity)), 16);
  laze_generator_init(&generator);
  ck_assert(!generator.is_identified);
  ck_assert_msg(laze_generator_open(&generator, &error) == LAZE_OK, "%s", error.message);
  ck_assert(generator.is_identified);
  laze_generator_deinit(&generator);
  laze_text_deinit(&identity);
}
END_TEST

/* A process may have an LLVM of that name already, of which the cache must get nothing. */
START_TEST(another_llvm_is_told_apart) {
  ck_assert(!laze_generator_names_llvm("/proc/self/exe"));
  ck_assert(!laze_generator_names_llvm("/dev/null"));
  ck_assert(!laze_generator_names_llvm(NULL));
}
END_TEST

int main(void) {
  Suite *suite = suite_create("generator_identity");
  TCase *test = tcase_create("generator_identity");
  tcase_add_test(test, an_opened_generator_is_the_identified_one);
  tcase_add_test(test, another_llvm_is_told_apart);
  suite_add_tcase(suite, test);
  return test_run_suite(suite);
}

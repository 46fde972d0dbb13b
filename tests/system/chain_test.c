/* A chain of a million operators on a stack of 512 KiB: nothing on the way, from recording to freeing, recurses. */
#include "tests/support/suite.h"

#include <laze/laze.h>

#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { STACK = 512 << 10, WIDTH = 3 };
#ifdef __SANITIZE_ADDRESS__
enum { LINKS = 100000 }; /* shadow memory and quarantine would need many gigabytes */
#else
enum { LINKS = 1000000 };
#endif

typedef struct {
  const char *backend;
  int64_t links;
  laze_status status;
  double result;
  int64_t recorded, cuts;
  char message[LAZE_ERROR_MESSAGE_SIZE];
} chain;

static void *run_chain(void *self) {
  chain *out = self;
  laze_context_options options = {.struct_size = sizeof options, .backend = out->backend, .cache_directory = ""};
  laze_context *context;
  laze_error error;
  float ones[WIDTH] = {1, 1, 1}, got[WIDTH] = {0};
  out->status = laze_context_create(&options, &context, NULL);
  if (out->status != LAZE_OK) return NULL;
  laze_set_budget(context, 0, 0);
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(WIDTH), ones, sizeof ones), *y = x;
  for (int64_t i = 0; i < out->links; i++) y = laze_add(y, x);
  out->status = laze_tensor_read(y, LAZE_F32, got, sizeof got);
  if (out->status != LAZE_OK) snprintf(out->message, sizeof out->message, "%s", laze_tensor_error(y));
  out->result = (double)got[WIDTH - 1];
  laze_status ended = laze_scope_end_error(scope, &error);
  if (out->status == LAZE_OK) out->status = ended;
  if (laze_metric_read(context, "nodes_recorded", &out->recorded, NULL)) out->recorded = -1;
  if (laze_metric_read(context, "budget_cuts", &out->cuts, NULL)) out->cuts = -1;
  laze_context_release(context);
  return NULL;
}

static void check_chain(const char *backend) {
  const char *links = getenv("LAZE_TEST_LINKS");
  chain state = {.backend = backend, .links = links ? atoll(links) : LINKS};
  pthread_attr_t attributes;
  pthread_t thread;
  ck_assert_int_eq(pthread_attr_init(&attributes), 0);
  ck_assert_int_eq(pthread_attr_setstacksize(&attributes, STACK), 0);
  ck_assert_int_eq(pthread_create(&thread, &attributes, run_chain, &state), 0);
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attributes);
  if (state.status == LAZE_NOT_FOUND) return; /* a build without that backend */
  ck_assert_msg(state.status == LAZE_OK, "%s: %s", laze_status_name(state.status), state.message);
  ck_assert_double_eq(state.result, (double)state.links + 1);
  ck_assert_int_eq(state.recorded, state.links);
  ck_assert_int_eq(state.cuts, 0);
}

START_TEST(on_the_interpreter) {
  check_chain("interp");
}
END_TEST

START_TEST(on_native_code) {
  check_chain("llvm");
}
END_TEST

int main(void) {
  Suite *suite = suite_create("chain");
  TCase *tests = tcase_create("a million operators");
  tcase_set_timeout(tests, 0);
  tcase_add_test(tests, on_the_interpreter);
  tcase_add_test(tests, on_native_code);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}

/* A context, its scope and its log, for tests of what records functions. */
#ifndef LAZE_TESTS_TRACING_SUPPORT_H
#define LAZE_TESTS_TRACING_SUPPORT_H

#include "tests/support/status.h"
#include "tests/support/suite.h"

#include <laze/laze.h>

#include <check.h>
#include <stdio.h>
#include <string.h>

static laze_context *context;
static laze_scope *scope;
static laze_error error;
static char logged[4096]; /* the last warning */

static void keep_log(void *self, int32_t severity, const char *message) {
  (void)self;
  if (severity == LAZE_LOG_WARNING) snprintf(logged, sizeof logged, "%s", message);
}

static void set_up(void) {
  laze_context_options options = {
      .struct_size = sizeof options, .cache_directory = "", .debug = "", .threads = 1, .log = keep_log};
  *logged = 0;
  ck_assert_int_eq(laze_context_create(&options, &context, NULL), LAZE_OK);
  scope = laze_scope_begin(context);
}

static void tear_down(void) {
  (void)laze_scope_end(scope);
  laze_context_release(context);
}

static inline int64_t metric(const char *name) {
  int64_t value = -1;
  assert_ok(laze_metric_read(context, name, &value, &error));
  return value;
}

static inline laze_tensor *matrix(int64_t rows, int64_t columns, float from) {
  laze_tensor *x = laze_reshape(laze_arange(context, rows * columns, LAZE_F32), LAZE_SHAPE(rows, columns));
  return laze_add(laze_div(x, (double)(rows * columns)), from);
}

static inline laze_tensor *leaf(laze_tensor *tensor) {
  laze_tensor *detached = laze_clone(laze_detach(tensor));
  assert_ok(laze_tensor_require_grad(detached, 1, &error));
  return detached;
}

#endif

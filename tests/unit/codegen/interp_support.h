/* A graph under test: inputs with their data, operators recorded by name, and a run on the interpreter. Every run goes
 * twice, with the sizes as constants and with symbols in their place, and both must give the same bytes. */
#ifndef LAZE_TESTS_UNIT_CODEGEN_INTERP_SUPPORT_H
#define LAZE_TESTS_UNIT_CODEGEN_INTERP_SUPPORT_H

#include "codegen/interp/interp.h"
#include "ir/builder.h"
#include "ir/op.gen.h"

#include <check.h>

#define LAB_MAX 16

typedef struct lab {
  laze_context *context;
  laze_graph *graph;
  laze_builder builder;
  laze_buffer *inputs[LAB_MAX], *outputs[LAB_MAX];
  laze_type types[LAB_MAX]; /* of the outputs of the last run */
  int input_count, output_count;
  laze_error error;
} lab;

#define DIMS(...)                                                                                                      \
  (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]) {                                       \
    __VA_ARGS__                                                                                                        \
  }
#define NO_DIMS 0, NULL
#define SIZES(...)                                                                                                     \
  (const laze_size[]) {                                                                                                \
    __VA_ARGS__                                                                                                        \
  }

void lab_open(lab *l);
void lab_close(lab *l);
/* An input of the graph; `data` is copied. */
laze_value lab_input(lab *l, laze_dtype dtype, int rank, const int64_t *dims, const void *data);
/* Records an operator by exact name; attributes NULL: their defaults. */
laze_value lab_call(lab *l, const char *name, const laze_value *operands, int count, const laze_attribute *attributes);
laze_status lab_try_call(lab *l, const char *name, const laze_value *operands, int count,
                         const laze_attribute *attributes, laze_value *out);
static inline laze_value lab_unary(lab *l, const char *name, laze_value a) {
  return lab_call(l, name, &a, 1, NULL);
}
static inline laze_value lab_binary(lab *l, const char *name, laze_value a, laze_value b) {
  return lab_call(l, name, (laze_value[]){a, b}, 2, NULL);
}
/* Runs the graph for these results; the outputs are then in l->outputs. */
laze_status lab_try_run(lab *l, const laze_value *results, int count);
/* For one result; its elements. */
const void *lab_run(lab *l, laze_value result);

/* Compares the last run's first output with expected elements, bit by bit. */
void lab_expect_bytes(const lab *l, const void *expected, int64_t size);
#define lab_expect(l, type, ...)                                                                                       \
  lab_expect_bytes(l, (const type[]){__VA_ARGS__}, (int64_t)sizeof((const type[]){__VA_ARGS__}))
/* And its sizes. */
void lab_expect_dims(const lab *l, int rank, const int64_t *dims);

/* Runs one suite of one test case; for main(). */
int lab_main(const char *name, void (*setup)(void), void (*teardown)(void), const TTest *const *tests, int count);

#endif

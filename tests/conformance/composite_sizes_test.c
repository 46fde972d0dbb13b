/* What composites ask about sizes that values give. Each form is compiled once for every number, and once for each
 * number written down; a run of the first is what the second gives, or it is refused:
 *
 *   %1 = squeeze %0     f32[n,1] with n = 3   the same                             both give f32[3]
 *                                 n = 1       says that n = 1 was not reckoned with    the second gives f32[]
 *
 * A graph that knows nothing of the number must neither crash nor give another result in silence.
 */
#include "tests/conformance/conformance.h"

#include "codegen/interp/interp.h"
#include "ir/text/text.h"
#include "tests/support/loop_backend.h"

#include <stdio.h>
#include <string.h>

static laze_context *context;

static void set_up(void) {
  context = test_context(NULL);
}
static void tear_down(void) {
  laze_context_release(context);
}

enum { LENGTH = 12, LOWEST = -2, HIGHEST = 14 };

/* Over x: f32[12], i: i64[12], all 0 to 11, and a size n. The last value is the result. */
typedef struct {
  const char *body;
  int first, last; /* numbers for which the result is there */
} form;

/* f32[n], i64[n] and f32[n,2]; n is 0 or more, even where it is used only as a bound. */
#define U "  %u = slice %x, end=%n\n"
#define PART U "  %k = slice %i, end=%n\n"
#define TWO "  %t = iota size=[%n, 2], dim=0, dtype=f32\n"

static const form forms[] = {
    {TWO "  %r = squeeze %t\n", 3, 14},
    {TWO "  %r = squeeze.dim %t, dim=0\n", 3, 14},
    {TWO "  %r = flatten %t\n", 0, 14},
    {TWO "  %r = transpose %t, dim0=0, dim1=1\n", 0, 14},
    {"  %r = select %x, dim=0, index=%n\n", 0, 11},
    {U "  %r = select %u, dim=0, index=2\n", 3, 12},
    {U "  %r = select %u, dim=0, index=-3\n", 3, 12},
    {"  %r = narrow %x, dim=0, start=%n, length=2\n", 0, 10},
    {"  %r = narrow %x, dim=0, start=2, length=%n\n", 0, 10},
    {"  %r = narrow %x, dim=0, start=-4, length=%n\n", 0, 4},
    {U "  %r = stack [%u, %x]\n", 12, 12},
    {U "  %r = cat [%u, %x]\n", 0, 14},
    {U "  %r = add %u, %x\n", 12, 12},
    {U "  %r = expand %u, size=[2, 12]\n", 12, 12},
    {TWO U "  %r = matmul %u, %t\n", 0, 12},
    {TWO "  %m = reshape %x, shape=[3, 4]\n  %r = matmul %m, %t\n", 4, 4},
    {TWO "  %m = reshape %x, shape=[3, 2, 2]\n  %r = matmul %t, %m\n", 0, 14},
    {TWO U "  %r = mv %t, %u\n", 2, 2},
    {U "  %r = dot %u, %x\n", 12, 12},
    {TWO "  %m = reshape %x, shape=[6, 2]\n  %s = transpose %t, dim0=0, dim1=1\n  %r = addmm %t, %t, %s\n", 2, 2},
    {"  %q:2 = topk %x, k=%n\n  %r = neg %q#0\n", 0, 12},
    {U "  %q:2 = topk %u, k=3\n  %r = neg %q#0\n", 3, 14},
    {"  %q:2 = kthvalue %x, k=%n\n  %r = neg %q#0\n", 1, 12},
    {U "  %q:2 = kthvalue %u, k=3\n  %r = neg %q#0\n", 3, 14},
    {U "  %r = median %u\n", 1, 14},
    {U "  %r = nanmedian %u\n", 1, 14},
    {TWO "  %q:2 = median.dim %t, dim=0\n  %r = neg %q#0\n", 1, 14},
    {TWO "  %q:2 = max.dim %t, dim=0\n  %r = neg %q#1\n", 1, 14},
    {TWO "  %r = argmax %t, dim=0\n", 1, 14},
    {TWO "  %r = argmin %t\n", 1, 14},
    {TWO "  %r = amin %t, dim=[0]\n", 1, 14},
    {TWO "  %r = softmax %t, dim=0\n", 0, 14},
    {TWO "  %r = log_softmax %t, dim=0\n", 0, 14},
    {TWO "  %r = logsumexp %t, dim=[0]\n", 0, 14},
    {TWO "  %r = mean %t\n", 0, 14},
    {TWO "  %r = cumsum %t, dim=0\n", 0, 14},
    {U "  %r = view.dtype %u, dtype=i64\n", 2, 2},
    {U "  %d = to %u, dtype=f64\n  %r = view.dtype %d, dtype=i32\n", 0, 14},
    {PART "  %r = gather %x, dim=0, index=%k\n", 0, 14},
    {PART "  %r = index_select %x, dim=0, index=%k\n", 0, 14},
    {PART "  %r = index %x, [%k]\n", 0, 14},
    {PART "  %r = scatter %x, dim=0, index=%k, src=%u\n", 0, 14},
    {PART "  %r = scatter %x, dim=0, index=%k, src=%x\n", 0, 14},
    {PART "  %s = slice %x, end=5\n  %r = scatter %x, dim=0, index=%k, src=%s\n", 0, 5},
    {PART "  %r = scatter_add %x, dim=0, index=%k, src=%u\n", 0, 14},
    {PART "  %r = index_add %x, dim=0, index=%k, source=%u\n", 0, 14},
    {PART "  %r = index_copy %x, dim=0, index=%k, source=%x\n", 12, 12},
    {PART "  %r = index_fill %x, dim=0, index=%k, value=2.0\n", 0, 14},
    {PART "  %r = index_put %x, [%k], %u\n", 0, 14},
    {PART "  %s = slice %x, end=5\n  %r = index_put %x, [%k], %s\n", 5, 5},
    {U "  %m = reshape %x, shape=[1, 12]\n  %r = select_scatter %m, %u, dim=0, index=0\n", 12, 12},
    {"  %m = reshape %x, shape=[4, 3]\n  %s = slice %x, end=3\n  %r = select_scatter %m, %s, dim=0, index=%n\n", 0, 3},
    {U "  %r = slice_scatter %x, %u, end=%n\n", 0, 12},
    {U "  %r = slice_scatter %x, %u, end=5\n", 5, 5},
    {TWO "  %s = slice %x, end=2\n  %r = diagonal_scatter %t, %s\n", 2, 14},
    {U "  %q:2 = histogram.bin_ct %u, bins=3\n  %r = neg %q#0\n", 1, 14},
    {U "  %q:2 = histogram.bin_ct %u, bins=3\n  %r = neg %q#1\n", 1, 14},
    {U "  %q:2 = histogram.bins_tensor %x, %u\n  %r = neg %q#0\n", 2, 12},
    {U "  %q:2 = histogram.bin_ct %x, bins=3, weight=%u\n  %r = neg %q#0\n", 12, 12},
    {PART "  %m = reshape %x, shape=[12, 1]\n  %r = embedding %m, %k\n", 0, 14},
    {PART "  %r = one_hot %k, num_classes=12\n", 0, 14},
    {U "  %r = nonzero %u\n", 0, 14},
    {U "  %m = gt %u, 4.0\n  %r = masked_select %u, %m\n", 0, 14},
    {U "  %m = gt %x, 4.0\n  %r = masked_select %u, %m\n", 12, 12},
    {U "  %s = slice %i, end=1\n  %j = reshape %s, shape=[]\n  %r = dynamic_slice %u, dim=0, start=%j, length=3\n", 3,
     14},
    {"  %s = slice %i, end=1\n  %j = reshape %s, shape=[]\n  %r = dynamic_slice %x, dim=0, start=%j, length=%n\n", 0,
     12},
    {U "  %s = slice %i, end=1\n  %j = reshape %s, shape=[]\n  %r = dynamic_update %x, %u, dim=0, start=%j\n", 0, 14},
};

/* The body with a number where the size stands. */
static void write_number(char *out, size_t size, const char *body, int64_t number) {
  size_t length = 0;
  while (*body && length < size) {
    bool is_size = strncmp(body, "%n", 2) == 0;
    if (is_size) length += (size_t)snprintf(out + length, size - length, "%lld", (long long)number);
    if (!is_size) length += (size_t)snprintf(out + length, size - length, "%c", *body);
    body += is_size ? 2 : 1;
  }
}

/* NULL where the graph is refused. */
static laze_executable *compile(const laze_backend *backend, const char *body, laze_error *error) {
  char text[1024];
  laze_graph *graph;
  laze_executable *executable = NULL;
  int length = snprintf(text, sizeof text,
                        "laze 1\ngraph @g(%%x: f32[12], %%i: i64[12], %%n: i64[]) {\n%s  return %%r\n}\n", body);
  if (laze_graph_parse(context, text, length, "test", &graph, error) != LAZE_OK) return NULL;
  if (laze_compile(context, backend, graph, &executable, error) != LAZE_OK) executable = NULL;
  laze_graph_destroy(graph);
  return executable;
}

/* NULL where the run is refused. */
static laze_buffer *run(const laze_backend *backend, laze_executable *executable, int64_t number, laze_type *type,
                        laze_error *error) {
  float x[LENGTH];
  int64_t i[LENGTH];
  laze_buffer *output = NULL;
  for (int k = 0; k < LENGTH; k++) x[k] = (float)(i[k] = k);
  laze_buffer *inputs[] = {conformance_buffer(context, laze_backend_at(0), x, sizeof x),
                           conformance_buffer(context, laze_backend_at(0), i, sizeof i),
                           conformance_buffer(context, laze_backend_at(0), &number, sizeof number)};
  laze_run request = {.inputs = inputs, .outputs = &output, .output_types = type};
  if (backend->execute(executable, &request, error) != LAZE_OK) output = NULL;
  for (int k = 0; k < 3; k++) laze_buffer_release(inputs[k]);
  return output;
}

static bool equal(const laze_buffer *a, const laze_type *a_type, const laze_buffer *b, const laze_type *b_type) {
  if (!laze_type_equal(a_type, b_type) || a->size != b->size) return false;
  bool is_float = a_type->dtype == LAZE_F32;
  for (int64_t k = 0; is_float && k < a->size / (int64_t)sizeof(float); k++) {
    float p = ((const float *)a->data)[k], q = ((const float *)b->data)[k];
    bool close = p == q || (p != p && q != q) || (p - q < 1e-5f && q - p < 1e-5f); /* exp of backends differs */
    if (!close) return false;
  }
  return is_float || a->size == 0 || memcmp(a->data, b->data, (size_t)a->size) == 0;
}

static void check_number(const laze_backend *backend, const form *f, laze_executable *executable, int64_t number) {
  char body[1024];
  laze_error error, known_error;
  laze_type type, known_type;
  write_number(body, sizeof body, f->body, number);
  laze_executable *known = compile(&laze_backend_interp, body, &known_error);
  laze_buffer *wanted = known ? run(&laze_backend_interp, known, number, &known_type, &known_error) : NULL;
  laze_buffer *got = run(backend, executable, number, &type, &error);
  bool promised = number >= f->first && number <= f->last;
  ck_assert_msg(got || !promised, "%s with %lld: %s", f->body, (long long)number, error.message);
  ck_assert_msg(wanted || !promised, "%s with %lld, known: %s", f->body, (long long)number, known_error.message);
  ck_assert_msg(!got || wanted, "%s with %lld: there is a result, but known: %s", f->body, (long long)number,
                known_error.message);
  ck_assert_msg(!got || equal(got, &type, wanted, &known_type), "%s with %lld: another result", f->body,
                (long long)number);
  ck_assert_msg(got || strstr(error.message, "size_from: ") != NULL, "%s with %lld: %s", f->body, (long long)number,
                error.message);
  laze_buffer_release(got);
  laze_buffer_release(wanted);
  laze_executable_release(known);
}

START_TEST(results_are_right_or_refused) {
  const laze_backend *backend = _i < test_backend_count() ? laze_backend_at(_i) : &test_backend_loop;
  for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
    laze_error error;
    laze_executable *executable = compile(backend, forms[k].body, &error);
    ck_assert_msg(executable != NULL, "%s: %s", forms[k].body, error.message);
    for (int64_t number = LOWEST; number <= HIGHEST; number++) check_number(backend, &forms[k], executable, number);
    laze_executable_release(executable);
  }
}
END_TEST

int main(void) {
  TCase *tests = tcase_create("composite_sizes");
  tcase_add_checked_fixture(tests, set_up, tear_down);
  int backends = test_backend_count() + (test_backend_count() > 1);
  tcase_add_loop_test(tests, results_are_right_or_refused, 0, backends);
  return conformance_main(tests);
}

/* One ranking behind three doors: a call means the same operator in graph text, by name in C, and in an expression of
 * an operator table. Every name that several operators share is called with up to three arguments of every kind, by all
 * three. */
#include "ir/text/text.h"
#include "laze/tensor.h"
#include "lazy/value/handle.h"
#include "lazy/value/handle_table.h"
#include "lazy/value/pending.h"
#include "tests/support/random.h"
#include "tests/support/suite.h"

#include <check.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A batch of entries and the tables' own fit in files of 3,000 lines. */
enum { MOST = 3, CALLS = 40000, BATCH = 36, TEXT = 1 << 16 };

typedef enum { PUT_TENSOR, PUT_INTEGER, PUT_REAL, PUT_BOOL, PUT_LIST, PUT_EMPTY, PUT_COUNT } put;

/* In order, so that a range ends behind its start. */
static const char *const written[PUT_COUNT][MOST] = {
    [PUT_TENSOR] = {"x", "x", "x"},        [PUT_INTEGER] = {"1", "2", "3"},    [PUT_REAL] = {"0.5", "1.5", "2.5"},
    [PUT_BOOL] = {"true", "true", "true"}, [PUT_LIST] = {"[1]", "[1]", "[1]"}, [PUT_EMPTY] = {"[]", "[]", "[]"},
};

typedef struct {
  const char *base;
  put arguments[MOST];
  int count;
  laze_op op; /* what the call by name means; LAZE_OP_NONE: it is refused */
} sample;

/* A call that shows no operator: it gives its operand back, or failed after one was chosen. */
#define UNKNOWN ((laze_op)-1)

static sample samples[CALLS];
static int sample_count;
static laze_context *context;
static char directory[] = "/tmp/laze-overloads-XXXXXX";

static const char *shown(const sample *call) {
  static char text[256];
  int length = snprintf(text, sizeof text, "%s(", call->base);
  for (int i = 0; i < call->count; i++)
    length +=
        snprintf(text + length, sizeof text - (size_t)length, "%s%s", i ? ", " : "", written[call->arguments[i]][i]);
  snprintf(text + length, sizeof text - (size_t)length, ")");
  return text;
}

/* What an error says: that no operator was found, or nothing about the choice (a bool cannot be subtracted, and a
 * program's number is no tensor where nothing stands before it, which text and expressions do not mind). */
static laze_op read_refusal(const char *message) {
  if (strstr(message, "which stands for one only behind another operand")) return UNKNOWN;
  return strstr(message, "no overload takes these arguments") ? LAZE_OP_NONE : UNKNOWN;
}

static const char *name_of(laze_op op) {
  return op == UNKNOWN ? "unknown" : op ? laze_op_get(op)->name : "refused";
}

static void assert_same(const sample *call, const char *door, laze_op op) {
  ck_assert_msg(op == call->op, "%s: by name it is %s, %s it is %s", shown(call), name_of(call->op), door, name_of(op));
}

/* By name. An integer of C may also stand for a bool or a dtype (`loose`), where nothing takes an integer. */

static laze_argument argument_of(put what, int index, laze_tensor *tensor, bool loose) {
  static const int64_t one[] = {1};
  switch (what) {
  case PUT_TENSOR: return (laze_argument){.kind = LAZE_PASS_TENSOR, .value.tensor = tensor};
  case PUT_INTEGER:
    if (loose) return (laze_argument){.kind = LAZE_PASS_INTEGER, .value.integer = index + 1};
    return (laze_argument){.kind = LAZE_PASS_SCALAR, .value.scalar = laze_scalar_integer(index + 1)};
  case PUT_REAL: return (laze_argument){.kind = LAZE_PASS_REAL, .value.real = index + 0.5};
  case PUT_BOOL: return (laze_argument){.kind = LAZE_PASS_SCALAR, .value.scalar = laze_scalar_boolean(1)};
  case PUT_LIST: return (laze_argument){.kind = LAZE_PASS_INTEGERS, .count = 1, .value.integers = one};
  default: return (laze_argument){.kind = LAZE_PASS_INTEGERS, .count = 0, .value.integers = one};
  }
}

static laze_op by_name(const sample *call, bool loose) {
  const int64_t sizes[] = {1, 1, 1, 1}, element = 1;
  const uint8_t truth = 1;
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = laze_tensor_from_data(context, LAZE_I64, (laze_ints){sizes, 4}, &element, sizeof element);
  laze_tensor *mask = laze_tensor_from_data(context, LAZE_BOOL, (laze_ints){sizes, 4}, &truth, sizeof truth);
  laze_argument arguments[MOST];
  laze_tensor *results[4];
  for (int i = 0; i < call->count; i++) {
    bool is_mask = i == 0 && strcmp(call->base, "where") == 0;
    arguments[i] = argument_of(call->arguments[i], i, is_mask ? mask : x, loose);
  }
  ck_assert_int_ge(laze_call_by_name(context, call->base, arguments, call->count, results, 4), 1);
  const char *message = laze_tensor_error(results[0]);
  laze_op op;
  if (*message) {
    op = read_refusal(message);
  } else {
    const laze_pending *node = laze_handle_slot(results[0])->storage->cell->node;
    op = !node ? UNKNOWN : node->origin ? node->origin : node->op;
  }
  (void)laze_scope_end(scope);
  return op;
}

static void add_samples(const char *base) {
  for (int count = 1, all = PUT_COUNT; count <= MOST; count++, all *= PUT_COUNT)
    for (int i = 0; i < all; i++) {
      ck_assert_int_lt(sample_count, CALLS);
      sample *call = &samples[sample_count++];
      *call = (sample){.base = base, .count = count};
      for (int k = 0, rest = i; k < count; k++, rest /= PUT_COUNT) call->arguments[k] = (put)(rest % PUT_COUNT);
      call->op = by_name(call, false);
      sample_count -= call->op == UNKNOWN;
    }
}

/* Whether an operator of the name gives a list, which is nothing that an expression could take. */
static bool gives_list(const char *base) {
  bool found = false;
  for (int i = 0; laze_op_overload(base, i) != LAZE_OP_NONE; i++)
    found = found || laze_op_lists_results(laze_op_get(laze_op_overload(base, i)));
  return found;
}

static void set_up(void) {
  ck_assert_int_eq(laze_context_create(NULL, &context, NULL), LAZE_OK);
  ck_assert_ptr_nonnull(mkdtemp(directory));
  for (laze_op op = 1; op < laze_op_count; op++) {
    const laze_op_info *info = laze_op_get(op);
    if (laze_op_overload(info->base, 0) == op && laze_op_overload(info->base, 1) != LAZE_OP_NONE &&
        !gives_list(info->base))
      add_samples(info->base);
  }
}

static void tear_down(void) {
  char command[256];
  laze_context_release(context);
  snprintf(command, sizeof command, "rm -rf '%s'", directory);
  ck_assert_int_eq(system(command), 0);
}

/* Arguments without which a call is none. */
static int required(const laze_op_info *info) {
  int count = 0;
  for (int32_t i = 0; i < info->argument_count; i++)
    count += !info->arguments[i].has_default && !info->arguments[i].optional;
  return count;
}

START_TEST(every_overload_is_reached) {
  for (laze_op op = 1; op < laze_op_count; op++) {
    const laze_op_info *info = laze_op_get(op);
    int calls = 0;
    if (laze_op_overload(info->base, 1) == LAZE_OP_NONE || gives_list(info->base)) continue;
    for (int i = 0; i < sample_count; i++) calls += samples[i].op == op;
    /* Strings, dtypes, i64 tensors without dimensions, tensors of floats, weights and names have no place there. */
    static const char *const needing_more[] = {"div.Tensor_mode",
                                               "div.Scalar_mode",
                                               "div.Scalar_Tensor_mode",
                                               "rand",
                                               "randn",
                                               "normal.Tensor_float",
                                               "histogram.bin_ct",
                                               "view.dtype",
                                               "histogram.bins_tensor",
                                               "to.dtype",
                                               "round.decimals",
                                               "conv1d",
                                               "conv1d.padding",
                                               "conv2d",
                                               "conv2d.padding",
                                               "conv3d",
                                               "conv3d.padding",
                                               "linalg_cond",
                                               "linalg_cond.p_str",
                                               "linalg_matrix_norm",
                                               "linalg_matrix_rank",
                                               "linalg_matrix_rank.atol_rtol_tensor",
                                               "linalg_matrix_rank.atol_rtol_float",
                                               "linalg_matrix_rank.tol_tensor",
                                               "linalg_pinv",
                                               "linalg_pinv.atol_rtol_tensor",
                                               "linalg_pinv.atol_rtol_float",
                                               "linalg_pinv.rcond_tensor",
                                               "bucketize.Tensor",
                                               "bucketize.Scalar",
                                               "embedding_bag",
                                               "masked_fill.Tensor",
                                               "linalg_matrix_norm.str_ord",
                                               "linalg_matrix_rank",
                                               "linalg_matrix_rank.atol_rtol_tensor",
                                               "linalg_matrix_rank.atol_rtol_float",
                                               "linalg_matrix_rank.tol_tensor",
                                               "linalg_matrix_rank.atol_rtol_tensor",
                                               "linalg_matrix_rank.atol_rtol_float",
                                               "linalg_matrix_rank.tol_tensor",
                                               "linalg_pinv",
                                               "linalg_pinv.atol_rtol_tensor",
                                               "linalg_pinv.atol_rtol_float",
                                               "linalg_pinv.rcond_tensor",
                                               "linalg_pinv.atol_rtol_tensor",
                                               "linalg_pinv.atol_rtol_float",
                                               "linalg_pinv.rcond_tensor",
                                               "linalg_norm",
                                               "linalg_norm.ord_str",
                                               "nanquantile",
                                               "nanquantile.scalar",
                                               "norm.Scalar",
                                               "norm.ScalarOpt_dim",
                                               "norm.ScalarOpt_dtype",
                                               "quantile",
                                               "quantile.scalar",
                                               "searchsorted.Scalar",
                                               "stft",
                                               "stft.center",
                                               "view_copy.dtype"};
    /* Nor have tensors of the ranks that upsampling takes. */
    bool needs_more = required(info) > MOST || strstr(info->base, "upsample_") != NULL;
    for (size_t i = 0; i < sizeof needing_more / sizeof *needing_more; i++)
      needs_more = needs_more || strcmp(info->name, needing_more[i]) == 0;
    ck_assert_msg(calls > 0 || needs_more, "no call means %s", info->name);
  }
}
END_TEST

/* to(x, 2) alone takes a dtype: as a tensor, a number costs more. */
START_TEST(an_integer_is_a_bool_only_where_nothing_takes_it) {
  for (int i = 0; i < sample_count; i++)
    if (samples[i].op != LAZE_OP_NONE && strcmp(samples[i].base, "to") != 0)
      assert_same(&samples[i], "with integers of C", by_name(&samples[i], true));
}
END_TEST

/* In text operands stand by position and attributes by name. */

static laze_op in_text(const sample *call) {
  const laze_op_info *info = laze_op_get(call->op);
  char text[1024], results[16] = "";
  laze_graph *graph;
  laze_error error;
  if (info->result_count > 1) snprintf(results, sizeof results, ":%d", (int)info->result_count);
  int length = snprintf(text, sizeof text, "laze 1\ngraph @g(%%x: i64[1,1,1,1], %%mask: bool[1,1,1,1]) {\n  %%0%s = %s",
                        results, call->base);
  for (int i = 0; i < call->count; i++) {
    bool is_operand = laze_argument_is_operand(info->arguments[i].kind), is_tensor = call->arguments[i] == PUT_TENSOR;
    const char *value = is_tensor ? strcmp(call->base, "where") || i ? "%x" : "%mask" : written[call->arguments[i]][i];
    length += snprintf(text + length, sizeof text - (size_t)length, "%s%s%s%s", i ? ", " : " ",
                       is_operand ? "" : info->arguments[i].name, is_operand ? "" : "=", value);
  }
  length += snprintf(text + length, sizeof text - (size_t)length, "\n  return\n}\n");
  if (laze_graph_parse(context, text, length, "t", &graph, &error) != LAZE_OK) return read_refusal(error.message);
  const laze_node *node = &graph->nodes[graph->node_count - 1];
  laze_op op = node->origin ? node->origin : node->op;
  laze_graph_destroy(graph);
  return op;
}

START_TEST(text_means_the_same) {
  int compared = 0;
  for (int i = 0; i < sample_count; i++) {
    if (samples[i].op == LAZE_OP_NONE) continue;
    laze_op op = in_text(&samples[i]);
    if (op == UNKNOWN) continue;
    assert_same(&samples[i], "in text", op);
    compared++;
  }
  ck_assert_int_gt(compared, 300);
}
END_TEST

/* In expressions, arguments behind "*" need their names. An entry "call_<n>" of one of several tables holds each; what
 * opgen chose stands in the code that it makes of the table. */
enum { TABLES = 8 };

static void write_entry(FILE *file, const sample *call, int number) {
  const laze_op_info *info = call->op ? laze_op_get(call->op) : NULL;
  bool takes_tensor = false, several = info && info->result_count > 1;
  for (int i = 0; i < call->count; i++) takes_tensor = takes_tensor || call->arguments[i] == PUT_TENSOR;
  fprintf(file, "- func: call_%d(%s) -> Tensor\n  composite: |\n    %s%s(", number, takes_tensor ? "Tensor x" : "",
          several ? "u, v = " : "", call->base);
  for (int i = 0; i < call->count; i++) {
    bool keyword = info && info->arguments[i].keyword_only;
    fprintf(file, "%s%s%s%s", i ? ", " : "", keyword ? info->arguments[i].name : "", keyword ? "=" : "",
            written[call->arguments[i]][i]);
  }
  fprintf(file, ")\n%s", several ? "    return add(u, v)\n" : "");
}

static int run_opgen(const char *options) {
  char command[2048];
  snprintf(command, sizeof command,
           "cd '%s' && '%s' --rules '%s/ops/rules.yaml' %s '%s'/ops/native_functions/*.yaml calls_*.yaml >output 2>&1",
           directory, OPGEN, SOURCE_ROOT, options, SOURCE_ROOT);
  int status = system(command);
  ck_assert(WIFEXITED(status));
  return WEXITSTATUS(status);
}

static char *read_all(const char *name) {
  static char text[TEXT * 16];
  char path[256];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  FILE *file = fopen(path, "r");
  ck_assert_ptr_nonnull(file);
  text[fread(text, 1, sizeof text - 1, file)] = 0;
  fclose(file);
  return text;
}

static FILE *open_calls(int table) {
  char path[256];
  snprintf(path, sizeof path, "%s/calls_%d.yaml", directory, table);
  FILE *file = fopen(path, "w");
  ck_assert_ptr_nonnull(file);
  return file;
}

/* The operator of the first call that the entry's function records. */
static laze_op in_expression(const char *code, int number) {
  char head[64], symbol[64];
  snprintf(head, sizeof head, "laze_composite_call_%d(", number);
  const char *at = strstr(code, head);
  at = at ? strstr(at, "LAZE_OP_") : NULL;
  if (!at) return LAZE_OP_NONE;
  at += strlen("LAZE_OP_");
  size_t length = 0;
  for (; (isalnum((unsigned char)at[length]) || at[length] == '_') && length < sizeof symbol - 1; length++)
    symbol[length] = (char)tolower((unsigned char)at[length]);
  symbol[length] = 0;
  for (laze_op op = 1; op < laze_op_count; op++)
    if (strcmp(laze_op_get(op)->symbol, symbol) == 0) return op;
  return LAZE_OP_NONE;
}

static void check_batch(const int *numbers, int count) {
  for (int table = 0; table < TABLES; table++) {
    FILE *file = open_calls(table);
    for (int i = table; i < count; i += TABLES) write_entry(file, &samples[numbers[i]], numbers[i]);
    fclose(file);
  }
  ck_assert_msg(run_opgen("--output .") == 0, "%s", read_all("output"));
  for (int table = 0; table < TABLES; table++) {
    char name[48];
    snprintf(name, sizeof name, "ir/composite_calls_%d.gen.c", table);
    const char *code = read_all(name);
    for (int i = table; i < count; i += TABLES)
      assert_same(&samples[numbers[i]], "in an expression", in_expression(code, numbers[i]));
  }
}

START_TEST(expressions_mean_the_same) {
  int numbers[BATCH], count = 0, compared = 0;
  for (int i = 0; i < sample_count; i++) {
    if (samples[i].op == LAZE_OP_NONE || !test_has_turn(i)) continue;
    numbers[count++] = i;
    compared++;
    if (count < BATCH) continue;
    check_batch(numbers, count);
    count = 0;
  }
  if (count > 0) check_batch(numbers, count);
  ck_assert_int_gt(compared, test_count(300));
}
END_TEST

/* What is refused by name is refused in an expression, with each operator of the name and what it lacks. */
START_TEST(expressions_refuse_the_same) {
  int refused = 0;
  FILE *file = open_calls(0);
  for (int i = 0; i < sample_count; i += 37)
    if (samples[i].op == LAZE_OP_NONE) {
      write_entry(file, &samples[i], i);
      refused++;
    }
  fclose(file);
  ck_assert_int_gt(refused, 50);
  ck_assert_int_eq(run_opgen("--check"), 1);
  const char *output = read_all("output");
  for (const char *at = output; (at = strstr(at, ": no overload of \"")) != NULL; at++) refused--;
  ck_assert_msg(refused == 0, "%d of the calls were taken:\n%s", refused, output);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("overloads");
  TCase *tests = tcase_create("overloads");
  tcase_set_timeout(tests, 0);
  tcase_add_unchecked_fixture(tests, set_up, tear_down);
  tcase_add_test(tests, every_overload_is_reached);
  tcase_add_test(tests, an_integer_is_a_bool_only_where_nothing_takes_it);
  tcase_add_test(tests, text_means_the_same);
  tcase_add_test(tests, expressions_mean_the_same);
  tcase_add_test(tests, expressions_refuse_the_same);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}

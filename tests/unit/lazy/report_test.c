/* What the library tells about its work, row by row of docs/systems.md: why graphs ran, what was computed again, how
 * numbers are spread, and the graphs themselves in files. */
#include "laze/laze.h"
#include "laze/trace.h"
#include "support.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static laze_tensor *pending(laze_context *context) {
  return laze_neg(filled(context, 2, 1));
}

static int64_t all_runs(laze_context *context) {
  static const char *const names[] = {"runs_for_read", "runs_for_value",  "runs_for_step", "runs_for_print",
                                      "runs_for_save", "runs_for_export", "runs_for_call"};
  int64_t sum = metric(context, "budget_cuts") + metric(context, "size_syncs");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) sum += metric(context, names[i]);
  return sum;
}

/* Exactly one graph ran since the last call, for this reason. */
static void expect_run(laze_context *context, const char *name) {
  ck_assert_msg(metric(context, name) == 1, "%s is %lld", name, (long long)metric(context, name));
  ck_assert_int_eq(all_runs(context), 1);
  ck_assert_int_eq(metric(context, "graphs_run"), 1);
  laze_metric_reset(context);
}

/* Whoever wonders why a program computes needs to know what asked for it; a value that is there costs no run. */
START_TEST(row_5_9_each_trigger_has_a_counter) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  float data[2];
  char text[64];
  laze_tensor *x = pending(context);
  ck_assert_int_eq(laze_tensor_read(x, LAZE_F32, data, sizeof data), LAZE_OK);
  expect_run(context, "runs_for_read");
  ck_assert_int_eq(laze_tensor_read(x, LAZE_F32, data, sizeof data), LAZE_OK);
  ck_assert_int_eq(laze_tensor_format(x, text, sizeof text, NULL, NULL), LAZE_OK);
  ck_assert_int_eq(all_runs(context), 0);
  ck_assert_double_eq(laze_tensor_item(laze_sum(x)), -2);
  expect_run(context, "runs_for_read");
  ck_assert_int_eq(laze_tensor_materialise(pending(context)), LAZE_OK);
  expect_run(context, "runs_for_value");
  x = pending(context);
  ck_assert_int_eq(laze_tensors_materialise(&x, 1, NULL), LAZE_OK);
  expect_run(context, "runs_for_value");
  ck_assert_int_eq(laze_tensor_format(pending(context), text, sizeof text, NULL, NULL), LAZE_OK);
  expect_run(context, "runs_for_print");
  FILE *nowhere = fopen("/dev/null", "w");
  ck_assert_int_eq(laze_tensor_print(pending(context), nowhere), LAZE_OK);
  fclose(nowhere);
  expect_run(context, "runs_for_print");
  laze_scope *step = laze_scope_begin(context);
  x = laze_tensor_retain(pending(context));
  ck_assert_int_eq(laze_step_end(step, NULL), LAZE_OK);
  laze_tensor_release(x);
  expect_run(context, "runs_for_step");
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* What goes to other memory, a file, or a compiled graph, perhaps of another backend, is computed first. */
START_TEST(row_5_9_what_leaves_is_counted) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_export lent;
  laze_array *array;
  void *managed;
  ck_assert_int_eq(laze_tensor_export(pending(context), &lent, NULL), LAZE_OK);
  laze_export_release(&lent);
  expect_run(context, "runs_for_export");
  ck_assert_int_eq(laze_tensor_to_array(pending(context), &array, NULL), LAZE_OK);
  laze_array_release(array);
  expect_run(context, "runs_for_export");
  ck_assert_int_eq(laze_tensor_to_dlpack(pending(context), LAZE_DLPACK_VERSIONED, &managed, NULL), LAZE_OK);
  ck_assert_int_eq(laze_tensor_item(laze_sum(laze_tensor_from_dlpack(context, LAZE_DLPACK_VERSIONED, managed))), -2);
  laze_metric_reset(context);
  laze_named_tensor item = {"x", pending(context)};
  ck_assert_int_eq(laze_tensor_save(item.tensor, "report_test.npy", NULL), LAZE_OK);
  expect_run(context, "runs_for_save");
  item.tensor = pending(context);
  ck_assert_int_eq(laze_tensors_save(context, &item, 1, NULL, 0, "report_test.safetensors", NULL), LAZE_OK);
  expect_run(context, "runs_for_save");
  unlink("report_test.npy"), unlink("report_test.safetensors");
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

static laze_status twice(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *error) {
  (void)self, (void)error;
  out[0] = laze_add(in[0], in[0]);
  return LAZE_OK;
}

/* The fallback of a program: a graph that the reference interpreter runs, between tensors of another backend. */
START_TEST(row_5_9_a_compiled_graph_has_its_inputs_computed) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  const laze_backend *interpreter;
  laze_tensor *input = filled(context, 2, 1), *output;
  laze_graph *graph;
  laze_compiled *compiled;
  ck_assert_int_eq(laze_backend_find(context, "interp", &interpreter, NULL), LAZE_OK);
  ck_assert_int_eq(laze_trace_call(twice, NULL, &input, 1, 1, NULL, &graph, NULL), LAZE_OK);
  const laze_compile_options options = {.struct_size = sizeof options, .backend = interpreter};
  ck_assert_int_eq(laze_compile_graph(graph, &options, &compiled, NULL), LAZE_OK);
  laze_metric_reset(context);
  input = pending(context);
  ck_assert_int_eq(laze_compiled_call(compiled, &input, 1, &output, 1, NULL), LAZE_OK);
  ck_assert_int_eq(metric(context, "runs_for_call"), 1);
  ck_assert_int_eq(all_runs(context), 1);
  ck_assert_float_eq(first(output, 2), -2);
  laze_compiled_release(compiled);
  laze_graph_release(graph);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* The others count themselves, and nothing twice. */
START_TEST(row_5_9_budgets_and_sizes_are_counted_apart) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_set_budget(context, 10, 0);
  laze_tensor *x = filled(context, 2, 1);
  for (int i = 0; i < 12; i++) x = laze_neg(x);
  expect_run(context, "budget_cuts");
  laze_set_budget(context, 0, 0);
  laze_tensor *found = laze_nonzero(x);
  laze_metric_reset(context);
  ck_assert_int_eq(laze_tensor_size(found, 0), 2);
  expect_run(context, "size_syncs");
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* A temporary that is read later runs again what it was made from; a held one does not. */
START_TEST(row_5_10_recomputed_nodes_are_counted) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *temporary = laze_exp(pending(context)), *sum = laze_sum(temporary);
  ck_assert_double_gt(laze_tensor_item(sum), 0);
  ck_assert_int_eq(metric(context, "nodes_executed"), 3);
  ck_assert_int_eq(metric(context, "nodes_recomputed"), 0);
  (void)first(temporary, 2);
  ck_assert_int_eq(metric(context, "nodes_executed"), 5);
  ck_assert_int_eq(metric(context, "nodes_recomputed"), 2); /* neg and exp */
  laze_tensor *held = laze_tensor_retain(laze_exp(pending(context)));
  (void)laze_tensor_item(laze_sum(held));
  (void)first(held, 2);
  ck_assert_int_eq(metric(context, "nodes_recomputed"), 2);
  laze_tensor_release(held);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* A loop that finds its nodes again computes each once a step. */
START_TEST(row_5_10_nodes_that_are_found_again_are_new) {
  laze_context *context = new_context();
  for (int i = 0; i < 5; i++) {
    laze_scope *scope = laze_scope_begin(context);
    (void)laze_tensor_item(laze_sum(pending(context)));
    ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  }
  ck_assert_int_gt(metric(context, "nodes_reused"), 0);
  ck_assert_int_eq(metric(context, "nodes_recomputed"), 0);
  laze_context_release(context);
}
END_TEST

static void train(laze_context *context, laze_tensor *weights, bool reads_loss) {
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = laze_reshape(filled(context, 4, 1), LAZE_SHAPE(2, 2));
  laze_tensor *loss = laze_sum(laze_tanh(laze_mm(x, weights)));
  if (reads_loss) ck_assert_double_gt(laze_tensor_item(loss), 0);
  ck_assert_int_eq(laze_backward(loss, NULL), LAZE_OK);
  ck_assert_int_eq(laze_step_end(scope, NULL), LAZE_OK);
}

/* Reading the loss before the backward pass must not run the forward pass twice: what the backward pass needs of it is
 * held, and so stored by the read. */
START_TEST(row_5_10_a_loss_that_is_read_runs_forward_once) {
  for (int reads = 0; reads < 2; reads++) {
    laze_context *context = new_context();
    laze_scope *outer = laze_scope_begin(context);
    laze_tensor *weights = laze_tensor_retain(laze_mul(laze_ones(context, LAZE_SHAPE(2, 2), LAZE_F32), 0.5));
    ck_assert_int_eq(laze_tensor_require_grad(weights, 1, NULL), LAZE_OK);
    train(context, weights, reads == 1);
    ck_assert_int_eq(metric(context, "nodes_recomputed"), 0);
    laze_tensor_release(weights);
    ck_assert_int_eq(laze_scope_end(outer), LAZE_OK);
    laze_context_release(context);
  }
}
END_TEST

static laze_samples samples(laze_context *context, const char *name) {
  laze_samples out;
  ck_assert_int_eq(laze_samples_read(context, name, &out, NULL), LAZE_OK);
  ck_assert_str_eq(out.name, name);
  return out;
}

static void count_samples(void *self, const laze_samples *one) {
  int *count = self;
  ck_assert_int_ge(one->greatest, one->p99);
  ck_assert_int_ge(one->p99, one->p90);
  ck_assert_int_ge(one->p90, one->p50);
  ck_assert_int_ge(one->total, one->greatest);
  ++*count;
}

/* Each graph is a sample of what it is and took, and so is each read. */
START_TEST(row_5_19_graphs_and_reads_are_samples) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_error error;
  laze_samples none;
  int count = 0;
  for (int i = 0; i < 3; i++) (void)first(pending(context), 2);
  (void)first(laze_exp(pending(context)), 2);
  ck_assert_int_eq(samples(context, "graph_nodes").count, 4);
  ck_assert_int_eq(samples(context, "graph_nodes").total, 5);
  ck_assert_int_eq(samples(context, "graph_nodes").p50, 1);
  ck_assert_int_eq(samples(context, "graph_nodes").p99, 2);
  ck_assert_int_eq(samples(context, "graph_nodes").greatest, 2);
  ck_assert_int_eq(samples(context, "read_bytes").total, 32);
  ck_assert_int_eq(samples(context, "run_ns").count, 4);
  ck_assert_int_eq(samples(context, "trace_ns").count, 4);
  ck_assert_int_eq(samples(context, "wait_ns").count, 4);
  ck_assert_int_eq(samples(context, "compile_ns").count, 2); /* of programs: the others were found */
  ck_assert_int_ge(samples(context, "wait_ns").total, samples(context, "run_ns").total);
  laze_samples_each(context, count_samples, &count);
  ck_assert_int_eq(count, 7);
  ck_assert_int_eq(laze_samples_read(context, "no_such", &none, &error), LAZE_NOT_FOUND);
  ck_assert_ptr_nonnull(strstr(error.message, "no_such"));
  ck_assert_int_eq(laze_samples_read(context, NULL, &none, NULL), LAZE_NOT_FOUND);
  ck_assert_int_eq(laze_samples_read(context, "run_ns", NULL, NULL), LAZE_INVALID_ARGUMENT);
  laze_metric_reset(context);
  ck_assert_int_eq(samples(context, "graph_nodes").count, 0);
  ck_assert_int_eq(samples(context, "graph_nodes").greatest, 0);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* Programs read the report, as lines or as JSON; it is cut like any text of a caller's size. */
START_TEST(row_5_19_a_report_is_lines_or_json) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  char text[16384], shorter[8];
  size_t needed;
  laze_error error;
  (void)first(pending(context), 2);
  ck_assert_int_eq(laze_metric_report(context, LAZE_REPORT_TEXT, text, sizeof text, &needed, NULL), LAZE_OK);
  ck_assert_uint_eq(needed, strlen(text));
  ck_assert_ptr_nonnull(strstr(text, "\ngraphs_run 1\n"));
  ck_assert_ptr_nonnull(strstr(text, "\nread_bytes_count 1\nread_bytes_total 8\nread_bytes_p50 8\n"));
  ck_assert_int_eq(laze_metric_report(context, LAZE_REPORT_JSON, text, sizeof text, &needed, NULL), LAZE_OK);
  ck_assert_ptr_nonnull(strstr(text, "\"graphs_run\": 1, "));
  ck_assert_ptr_nonnull(strstr(text, "\"read_bytes\": {\"count\": 1, \"total\": 8, \"p50\": 8, \"p90\": 8, \"p99\": 8, "
                                     "\"greatest\": 8}}}\n"));
  ck_assert_int_eq(laze_metric_report(context, LAZE_REPORT_JSON, shorter, sizeof shorter, NULL, NULL), LAZE_OK);
  ck_assert_str_eq(shorter, "{\"nodes");
  ck_assert_int_eq(laze_metric_report(context, 7, shorter, sizeof shorter, NULL, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(error.message, "LAZE_REPORT_JSON"));
  ck_assert_int_eq(laze_metric_report(context, 0, NULL, 1, NULL, NULL), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* --- 5.20 --- */

static char folder[64];

/* A context that saves graphs in a new folder in these forms. */
static laze_context *saving_context(const char *forms) {
  strcpy(folder, "report_test.XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(folder));
  setenv("LAZE_SAVE_GRAPHS", folder, 1);
  setenv("LAZE_SAVE_FORMS", forms, 1);
  laze_context *context = new_context();
  unsetenv("LAZE_SAVE_GRAPHS");
  unsetenv("LAZE_SAVE_FORMS");
  return context;
}

/* The content of the only file whose name begins and ends so; "" without one. Removes it. */
static const char *take_file(const char *begin, const char *end) {
  static char text[65536];
  char path[512];
  int found = 0;
  *text = 0;
  DIR *all = opendir(folder);
  for (struct dirent *entry; (entry = readdir(all));) {
    const size_t length = strlen(entry->d_name), tail = strlen(end);
    if (strncmp(entry->d_name, begin, strlen(begin)) != 0 || length < tail) continue;
    if (strcmp(entry->d_name + length - tail, end) != 0) continue;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    FILE *file = fopen(path, "r");
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    unlink(path);
    found++;
  }
  closedir(all);
  ck_assert_int_le(found, 1);
  return text;
}

/* The line that forced a graph is what a programmer looks for; the text below it is read by lazec. */
START_TEST(row_5_20_graphs_are_saved_with_the_line_that_forced_them) {
  laze_context *context = saving_context("text,dot");
  laze_scope *scope = laze_scope_begin(context);
  char wanted[256];
  (void)laze_tensor_item(laze_sum(pending(context)));
  snprintf(wanted, sizeof wanted, "// forced by laze_tensor_item at %s:%d\n// trace cache miss (2 nodes): new graph, ",
           __FILE__, __LINE__ - 2);
  const char *text = take_file("0001-", ".lz");
  ck_assert_msg(strstr(text, wanted) == text, "%s", text);
  ck_assert_ptr_nonnull(strstr(text, "laze 1\ngraph @lazy(%arg0: f32[2]) -> f32[] {\n"));
  const char *at = strstr(text, "laze 1\n");
  laze_graph *graph;
  ck_assert_int_eq(laze_graph_parse(context, at, (int64_t)strlen(at), NULL, &graph, NULL), LAZE_OK);
  laze_graph_release(graph);
  text = take_file("0001-", ".dot");
  ck_assert_msg(strncmp(text, "digraph \"lazy\" {\n", 17) == 0, "%s", text);
  ck_assert_ptr_nonnull(strstr(text, "forced by laze_tensor_item at "));
  ck_assert_ptr_nonnull(strstr(text, "\"neg\\nf32[2]\\n"));
  ck_assert_ptr_nonnull(strstr(text, "n0 -> n1\n"));
  (void)laze_tensor_item(laze_sum(pending(context))); /* found: nothing is new */
  ck_assert_str_eq(take_file("0002-", ".lz"), "");
  laze_scope *step = laze_scope_begin(context);
  laze_tensor *held = laze_tensor_retain(laze_exp(pending(context)));
  ck_assert_int_eq(laze_step_end(step, NULL), LAZE_OK);
  snprintf(wanted, sizeof wanted, "// forced by laze_step_end at %s:%d\n// trace cache miss (4 nodes): ", __FILE__,
           __LINE__ - 2);
  text = take_file("0002-", ".lz");
  ck_assert_msg(strstr(text, wanted) == text, "%s", text);
  ck_assert_ptr_nonnull(strstr(text, "the cached graph has sum")); /* the first difference */
  laze_tensor_release(held);
  (void)take_file("0002-", ".dot");
  ck_assert_int_eq(rmdir(folder), 0); /* and no temporary file */
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* A budget names the call that used it up, a size its question. */
START_TEST(row_5_20_budgets_and_sizes_force_graphs_too) {
  laze_context *context = saving_context("text");
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = filled(context, 2, 1);
  laze_set_budget(context, 10, 0);
  for (int i = 0; i < 12; i++) x = laze_neg(x);
  const char *text = take_file("0001-", ".lz");
  ck_assert_msg(strstr(text, "// forced by the budget (laze_set_budget), used up at ") == text, "%s", text);
  laze_set_budget(context, 0, 0);
  (void)laze_tensor_size(laze_nonzero(x), 0);
  text = take_file("0002-", ".lz");
  ck_assert_msg(strstr(text, "// forced by laze_tensor_size\n") == text, "%s", text);
  ck_assert_int_eq(rmdir(folder), 0);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

static char advice[1024];
static void keep_advice(void *self, int32_t severity, const char *message) {
  (void)self;
  if (severity == LAZE_LOG_WARNING) snprintf(advice, sizeof advice, "%s", message);
}

/* A folder that cannot be made, or code that a backend has not, must not keep a program from computing. */
START_TEST(row_5_20_what_cannot_be_saved_is_said) {
  laze_context_options options = {
      .struct_size = sizeof options, .backend = "interp", .cache_directory = "", .threads = 1, .log = keep_advice};
  static const char *const cases[][3] = {{"report_test.none/below", "text", "No such file"},
                                         {"/dev/null", "text", "Not a directory"},
                                         {".", "asm", "interp"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    laze_context *context;
    *advice = 0;
    setenv("LAZE_SAVE_GRAPHS", cases[i][0], 1);
    setenv("LAZE_SAVE_FORMS", cases[i][1], 1);
    ck_assert_int_eq(laze_context_create(&options, &context, NULL), LAZE_OK);
    laze_scope *scope = laze_scope_begin(context);
    ck_assert_float_eq(first(pending(context), 2), -1);
    ck_assert_msg(strstr(advice, "was not saved") && strstr(advice, cases[i][2]), "%s", advice);
    ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
    laze_context_release(context);
  }
  laze_context *context;
  laze_error error;
  setenv("LAZE_SAVE_FORMS", "text,picture", 1);
  ck_assert_int_eq(laze_context_create(&options, &context, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(error.message, "'picture'"));
  unsetenv("LAZE_SAVE_GRAPHS");
  unsetenv("LAZE_SAVE_FORMS");
}
END_TEST

int main(void) {
  const TTest *const tests[] = {
      row_5_9_each_trigger_has_a_counter,
      row_5_9_what_leaves_is_counted,
      row_5_9_a_compiled_graph_has_its_inputs_computed,
      row_5_9_budgets_and_sizes_are_counted_apart,
      row_5_10_recomputed_nodes_are_counted,
      row_5_10_nodes_that_are_found_again_are_new,
      row_5_10_a_loss_that_is_read_runs_forward_once,
      row_5_19_graphs_and_reads_are_samples,
      row_5_19_a_report_is_lines_or_json,
      row_5_20_graphs_are_saved_with_the_line_that_forced_them,
      row_5_20_budgets_and_sizes_force_graphs_too,
      row_5_20_what_cannot_be_saved_is_said,
  };
  return run_tests("report", tests, sizeof tests / sizeof *tests);
}

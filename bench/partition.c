/* Memory of a training step that is cut into a forward and a backward graph (laze_graph_partition): with what the
 * backward pass uses saved, and with the minimal cut, which computes cheap values again. Bytes of tensors, not of the
 * process: the same in each run. */
#include "bench/bench.h"
#include "bench/workloads.h"
#include "examples/char_network.h"

#include <laze/trace.h>

#include <stdlib.h>

#define BATCH 8
#define LENGTH 64

/* The loss of the transformer of examples/, for the parameters that are given. */
typedef struct {
  char_network network;
  laze_tensor *characters, *next; /* [BATCH, LENGTH] */
} transformer;

static laze_status loss_of(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *error) {
  transformer *model = self;
  char_network network = model->network;
  int64_t offset = 0;
  (void)error;
  for (int32_t i = 0; i < network.count; i++) network.parameters[i] = in[i];
  laze_tensor *logits = char_network_logits(&network, model->characters, false, 0, &offset);
  out[0] = laze_cross_entropy(laze_reshape(logits, LAZE_SHAPE(BATCH * LENGTH, CHAR_SYMBOLS)),
                              laze_reshape(model->next, LAZE_SHAPE(BATCH * LENGTH)), NULL, -100, "mean", 0);
  return LAZE_OK;
}

static void release_all(laze_array **arrays, int32_t count) {
  for (int32_t i = 0; i < count; i++) laze_array_release(arrays[i]);
}

static laze_status run(laze_graph *graph, laze_array *const *inputs, laze_array **outputs, laze_error *error) {
  laze_compiled *compiled;
  laze_status status = laze_compile_graph(graph, NULL, &compiled, error);
  if (status != LAZE_OK) return status;
  status = laze_compiled_run(compiled, inputs, laze_graph_input_count(graph), outputs, laze_graph_result_count(graph),
                             error);
  laze_compiled_release(compiled);
  return status;
}

/* Runs both graphs, the forward pass's other results given back before the backward pass; what that took at most beyond
 * what was there before. */
static laze_status run_step(laze_context *context, const laze_partition *cut, laze_array *const *parameters,
                            double *peak, laze_error *error) {
  const int32_t forward = laze_graph_result_count(cut->forward), backward = laze_graph_result_count(cut->backward);
  laze_array **arrays = calloc((size_t)(forward + backward + 1), sizeof *arrays);
  if (!arrays) return bench_fail(error, "no memory for %d arrays", (int)(forward + backward));
  laze_array **saved = arrays + 1, **gradients = saved + cut->saved_count + 1;
  const float one = 1;
  laze_metric_reset(context);
  const double before = (double)bench_metric(context, "current_bytes");
  laze_status status = run(cut->forward, parameters, arrays, error);
  laze_array_release(arrays[0]); /* the loss */
  arrays[0] = NULL;
  if (status == LAZE_OK)
    status =
        laze_array_from_data(context, LAZE_F32, LAZE_SHAPE_SCALAR, &one, sizeof one, &saved[cut->saved_count], error);
  if (status == LAZE_OK) status = run(cut->backward, saved, gradients, error);
  *peak = (double)bench_metric(context, "peak_bytes") - before;
  release_all(arrays, forward + backward + 1);
  free(arrays);
  return status;
}

static laze_status measure(bench_report *report, laze_context *context, const laze_graph *joint,
                           laze_array *const *parameters, laze_error *error) {
  double peaks[2] = {0}, saved[2] = {0};
  laze_status status = LAZE_OK;
  for (int32_t mode = LAZE_PARTITION_DEFAULT; mode <= LAZE_PARTITION_MIN_CUT && status == LAZE_OK; mode++) {
    laze_partition cut = {.struct_size = sizeof cut};
    status = laze_graph_partition(joint, 1, 1, mode, &cut, error);
    if (status != LAZE_OK) break;
    saved[mode] = (double)cut.saved_bytes;
    status = run_step(context, &cut, parameters, &peaks[mode], error);
    laze_graph_release(cut.forward);
    laze_graph_release(cut.backward);
  }
  if (status != LAZE_OK) return status;
  report_add(report, (bench_row){"peak of a transformer's step, minimal cut beside all that is used", "x",
                                 summary_of(peaks[1] / peaks[0]), TARGET_AT_MOST, 1});
  report_add(report,
             (bench_row){.name = "  with all that is used", .unit = "MiB", .value = summary_of(peaks[0] / 1048576)});
  report_add(report,
             (bench_row){.name = "  with the minimal cut", .unit = "MiB", .value = summary_of(peaks[1] / 1048576)});
  report_add(
      report,
      (bench_row){.name = "  saved in between by the one", .unit = "MiB", .value = summary_of(saved[0] / 1048576)});
  report_add(report, (bench_row){.name = "  by the other", .unit = "MiB", .value = summary_of(saved[1] / 1048576)});
  return LAZE_OK;
}

static laze_status measure_joint(bench_report *report, laze_context *context, transformer *model, laze_error *error) {
  laze_array *parameters[CHAR_MOST_PARAMETERS] = {NULL};
  laze_joint counts = {.struct_size = sizeof counts};
  laze_graph *joint = NULL;
  laze_status status = laze_trace_joint(loss_of, model, model->network.parameters, model->network.count, 1, NULL,
                                        &joint, &counts, error);
  for (int32_t i = 0; i < model->network.count && status == LAZE_OK; i++)
    status = laze_tensor_to_array(model->network.parameters[i], &parameters[i], error);
  if (status == LAZE_OK) status = measure(report, context, joint, parameters, error);
  release_all(parameters, model->network.count);
  laze_graph_release(joint);
  return status;
}

laze_status bench_partition(bench_report *report, laze_error *error) {
  laze_context *context;
  transformer model = {.network = {.width = 64, .heads = 4, .layers = 2, .length = LENGTH}};
  laze_status status = bench_context(1, &context, error);
  if (status != LAZE_OK) return status;
  status = char_network_init(&model.network, context, 1, error);
  if (status == LAZE_OK) {
    laze_scope *scope = laze_scope_begin(context);
    laze_tensor *all = laze_arange(context, BATCH * LENGTH + 1, LAZE_I64);
    all = laze_remainder(laze_mul(all, 7), CHAR_SYMBOLS);
    model.characters = laze_reshape(laze_slice(all, 0, 0, BATCH * LENGTH, 1), LAZE_SHAPE(BATCH, LENGTH));
    model.next = laze_reshape(laze_slice(all, 0, 1, BATCH * LENGTH + 1, 1), LAZE_SHAPE(BATCH, LENGTH));
    status = measure_joint(report, context, &model, error);
    const laze_status end = laze_scope_end_error(scope, status == LAZE_OK ? error : NULL);
    if (status == LAZE_OK) status = end;
    char_network_deinit(&model.network);
  }
  laze_context_release(context);
  return status;
}

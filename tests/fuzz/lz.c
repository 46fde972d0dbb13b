/* Graph text: what parses is valid, prints and reads back as an equal module, in numbers and in hexadecimal. Each of
 * its graphs is inlined, its sizes become numbers, and it runs on both interpreters, which agree. */
#include "ir/ir.h"
#include "ir/specialise.h"
#include "laze/opaque.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/loop_backend.h"
#include "tests/support/run.h"

#include <string.h>

enum { MOST_NODES = 20000, MOST_ELEMENTS = 4096 };

/* The kernels that graphs may call: a copy of its first operand. */
static laze_status copy_first(void *self, const laze_opaque_call *call, laze_error *error) {
  (void)self, (void)error;
  if (call->operand_count == 0) return LAZE_OK;
  const laze_opaque_tensor *from = &call->operands[0], *to = &call->results[0];
  size_t size = (size_t)laze_dtype_size(from->dtype);
  for (int32_t i = 0; i < from->rank; i++) size *= (size_t)from->sizes[i];
  if (to->dtype == from->dtype && to->rank == from->rank &&
      (to->rank == 0 || memcmp(to->sizes, from->sizes, (size_t)to->rank * sizeof *to->sizes) == 0))
    memcpy(to->data, from->data, size);
  return LAZE_OK;
}

/* Of two results the second one is absent. */
static laze_status infer_pair(void *self, const laze_opaque_call *call, laze_opaque_type *results, laze_error *error) {
  (void)self, (void)error;
  results[1].dtype = LAZE_DTYPE_NONE;
  results[0].dtype = call->operand_count ? call->operands[0].dtype : LAZE_F32;
  results[0].rank = call->operand_count ? call->operands[0].rank : 0;
  for (int32_t i = 0; i < results[0].rank; i++) results[0].sizes[i] = call->operands[0].sizes[i];
  return LAZE_OK;
}

static void register_kernels(laze_context *context) {
  laze_opaque_options copy = {.struct_size = sizeof copy, .name = "copy", .run = copy_first};
  laze_opaque_options pair = {
      .struct_size = sizeof pair, .name = "pair", .result_count = 2, .infer = infer_pair, .run = copy_first};
  laze_error error;
  if (laze_opaque_register(context, &copy, &error) != LAZE_OK) fuzz_fail("%s", error.message);
  if (laze_opaque_register(context, &pair, &error) != LAZE_OK) fuzz_fail("%s", error.message);
}

static laze_status parse(laze_context *context, const char *text, int64_t size, laze_module **out, laze_error *error) {
  laze_text_source source = {.text = text, .size = size, .file = "input", .directory = fuzz_folder()};
  return laze_module_parse(context, &source, out, error);
}

static void check_text(const laze_module *module, const laze_print_options *options) {
  laze_text text, difference;
  laze_module *again;
  laze_error error = {0};
  laze_text_init(&text, module->context);
  laze_text_init(&difference, module->context);
  laze_module_print(&text, module, options);
  laze_status status = parse(module->context, laze_text_get(&text), text.size, &again, &error);
  if (status != LAZE_OK) fuzz_fail("what is printed is refused: %s\n%s", error.message, laze_text_get(&text));
  if (!laze_module_equal(module, again, &difference))
    fuzz_fail("reads back as another module: %s\n%s", laze_text_get(&difference), laze_text_get(&text));
  laze_module_destroy(again);
  laze_text_deinit(&text);
  laze_text_deinit(&difference);
}

/* Whether there is little enough to compute. Sizes that values define are as the values are: inputs are small. */
static bool is_small(const laze_graph *graph) {
  int64_t elements = 0;
  if (graph->node_count > MOST_NODES || graph->body->parameter_count > TEST_MAX_VALUES ||
      graph->body->result_count > TEST_MAX_VALUES)
    return false;
  for (int64_t i = 0; i < graph->node_count; i++)
    for (int32_t k = 0; k < graph->nodes[i].result_count; k++) {
      const laze_type *type = graph->nodes[i].types[k];
      int64_t count = 1;
      for (int32_t axis = 0; axis < type->rank; axis++) {
        int64_t size = laze_size_is_constant(type->sizes[axis]) ? type->sizes[axis] : 8;
        if (size > MOST_ELEMENTS || count > MOST_ELEMENTS) return false;
        count *= size;
      }
      elements += count;
      if (elements > MOST_ELEMENTS) return false;
    }
  return true;
}

static bool is_exact(const laze_graph *graph) {
  for (int64_t i = 0; i < graph->node_count; i++) {
    const laze_op_info *info = laze_op_get(graph->nodes[i].op);
    if (!info->exact && info->op_class != LAZE_CLASS_CONTROL && info->op_class != LAZE_CLASS_STRUCTURE) return false;
  }
  return true;
}

/* What neither way can be blamed for. */
static bool is_out_of_room(laze_status status) {
  return status == LAZE_CANCELLED || status == LAZE_OUT_OF_MEMORY;
}

static void run(const laze_graph *graph) {
  laze_context *context = graph->context;
  const laze_backend *interp;
  laze_error errors[2] = {{0}, {0}};
  test_arrays inputs, left, right;
  test_random random = {.state = 7};
  test_range range = {.low = -4, .high = 4, .below = 3};
  char message[256];
  if (laze_backend_find(context, "interp", &interp, &errors[0]) != LAZE_OK) fuzz_fail("%s", errors[0].message);
  test_inputs(context, graph, &random, &range, &inputs);
  laze_status first = test_run(context, interp, graph, NULL, &inputs, &left, &errors[0]);
  laze_status second = test_run(context, &test_backend_loop, graph, NULL, &inputs, &right, &errors[1]);
  fuzz_check_refusal("interpreter", first, &errors[0]);
  fuzz_check_refusal("loops", second, &errors[1]);
  if (first != second && !is_out_of_room(first) && !is_out_of_room(second))
    fuzz_fail("the interpreter gives %s (%s), loops %s (%s)", laze_status_name(first), errors[0].message,
              laze_status_name(second), errors[1].message);
  if (first == LAZE_OK && second == LAZE_OK) fuzz_note_accepted();
  if (first == LAZE_OK && second == LAZE_OK && is_exact(graph) &&
      !test_arrays_same(&left, &right, message, sizeof message)) {
    test_print_graph("runs otherwise:", graph);
    fuzz_fail("interpreter and loops: %s", message);
  }
  test_arrays_release(&left);
  test_arrays_release(&right);
  test_arrays_release(&inputs);
}

/* With numbers for its sizes. False: they contradict each other. */
static bool specialise_and_run(const laze_graph *graph, const int64_t *bindings) {
  laze_graph *constant;
  laze_error error = {0};
  laze_status status = laze_graph_specialise(graph, bindings, &constant, &error);
  fuzz_check_refusal("sizes", status, &error);
  if (status != LAZE_OK) return false;
  if (laze_graph_verify(constant, &error) != LAZE_OK) fuzz_fail("with numbers for sizes: %s", error.message);
  if (is_small(constant)) run(constant);
  laze_graph_destroy(constant);
  return true;
}

/* Different sizes, 0 and 1 among them, or equal ones where some must be equal. */
static void choose_sizes_and_run(const laze_graph *graph, size_t salt) {
  static const int64_t numbers[] = {3, 4, 1, 2, 0, 5};
  int64_t bindings[64], count = laze_size_symbol_count(graph->sizes);
  if (count > 64) return;
  for (int64_t i = 0; i < count; i++) bindings[i] = numbers[(salt + (size_t)i) % 6];
  if (specialise_and_run(graph, bindings)) return;
  for (int64_t i = 0; i < count; i++) bindings[i] = 3;
  specialise_and_run(graph, bindings);
}

/* Nodes once calls are inlined; MOST_NODES: too many. Functions come before their calls. */
static int64_t count_inlined(const laze_module *module, int64_t *counts) {
  for (int64_t i = 0; i < module->count; i++) {
    counts[i] = module->graphs[i]->node_count;
    if (laze_graph_has_calls(module->graphs[i])) /* each node could be one of the largest */
      for (int64_t k = 0, largest = 0; k < i; k++) {
        largest = counts[k] > largest ? counts[k] : largest;
        if (k == i - 1) counts[i] *= largest;
      }
    if (counts[i] > MOST_NODES) return MOST_NODES;
  }
  return module->count ? counts[module->count - 1] : 0;
}

static void check_graphs(const laze_module *module, size_t salt) {
  int64_t counts[16];
  if (module->count > 16 || count_inlined(module, counts) >= MOST_NODES) return;
  for (int64_t i = 0; i < module->count; i++) {
    laze_graph *inlined;
    laze_error error = {0};
    if (module->graphs[i]->is_function) continue;
    laze_status status = laze_module_inline(module->graphs[i], &inlined, &error);
    fuzz_check_refusal("calls", status, &error);
    if (status != LAZE_OK) continue;
    if (laze_graph_verify(inlined, &error) != LAZE_OK) fuzz_fail("inlined: %s", error.message);
    choose_sizes_and_run(inlined, salt);
    laze_graph_destroy(inlined);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static bool has_weights;
  char path[256];
  if (!has_weights) fuzz_write_file("weights.bin", "0123456789abcdef0123456789abcdef", 32, path);
  has_weights = true;
  laze_context *context = fuzz_context_create(NULL);
  laze_module *module;
  laze_error error = {0};
  register_kernels(context);
  laze_status status = parse(context, (const char *)data, (int64_t)size, &module, &error);
  fuzz_check_refusal("text", status, &error);
  if (status == LAZE_OK) {
    if (laze_module_verify(module, &error) != LAZE_OK) fuzz_fail("what was read is not valid: %s", error.message);
    check_text(module, &(laze_print_options){0});
    check_text(module, &(laze_print_options){.hexadecimal = true});
    check_graphs(module, size);
    laze_module_destroy(module);
  }
  fuzz_context_destroy(context);
  return 0;
}

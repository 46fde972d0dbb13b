/* Derivatives against finite differences, of every operator that has formulas (the table of operators says which):
 * arguments are drawn as for the differential tests, in f64, and each way to a derivative is compared along random
 * directions v, weights u of the results, and weights w of the gradients:
 *
 *   reverse          <J^T u, v>           forward   <u, J v>            of  L(x) = <u, y(x)>
 *   reverse, twice   the same of  G(x) = <w, J(x)^T u>,  and forward of reverse
 *
 * What is not smooth between x - 2 h v and x + 2 h v is not judged, and drawn again. The same in c128, where a number
 * is a pair of f64, and a gradient the pair of the derivatives by its parts. */
#include "ir/attribute.h"
#include "ir/derivative.h"
#include "ir/op.gen.h"
#include "tests/support/cases.h"
#include "tests/support/random_call.h"
#include "tests/support/run.h"
#include "tests/unit/autograd/support.h"

#include <stdio.h>

enum { MOST_TENSORS = 24, MOST_ELEMENTS = 64, TRIES = 12, ARGUMENTS = 32, CALL_ATTRIBUTES = 16 };

/* --- a call, as it was drawn --- */

static const struct {
  int32_t rank;
  int64_t sizes[3];
  bool broadcast, moved;
} shapes[] = {{0, {0}, false, false},   {1, {3}, false, false},      {2, {2, 3}, true, false},
              {2, {3, 3}, false, true}, {3, {2, 3, 2}, true, false}, {2, {3, 3}, false, false}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* The recorder that notes the call of the operator that is asked for, with what stands before it. */
typedef struct {
  laze_status (*record)(laze_recorder *self, const laze_call *call, laze_value *results, laze_error *error);
  laze_op wanted;
  bool found;
  int64_t nodes_before;
  laze_value operands[TEST_CALL_OPERANDS];
  int32_t operand_count;
  int32_t segments[CALL_ATTRIBUTES];
  laze_attribute attributes[CALL_ATTRIBUTES];
  int64_t payload[512]; /* of these */
} noted_call;

static laze_dtype judged_dtype; /* LAZE_F64 or LAZE_C128 */
static noted_call *noting;      /* while a call is drawn */
static laze_graph *noted_graph;

static laze_status note_call(laze_recorder *self, const laze_call *call, laze_value *results, laze_error *error) {
  noted_call *noted = noting;
  if (!noted->found && call->op == noted->wanted) {
    const laze_op_info *info = laze_op_get(call->op);
    noted->found = true;
    noted->nodes_before = noted_graph->body->node_count;
    noted->operand_count = call->operand_count;
    memcpy(noted->operands, call->operands, (size_t)call->operand_count * sizeof *call->operands);
    for (int32_t i = 0; i < info->segment_count; i++) noted->segments[i] = call->segments ? call->segments[i] : 1;
    char *cursor = (char *)noted->payload;
    for (int32_t i = 0; i < info->attribute_count; i++) {
      noted->attributes[i] = call->attributes[i];
      laze_attribute_copy_payload(&noted->attributes[i], cursor);
      cursor += (laze_attribute_payload_bytes(&noted->attributes[i]) + 7) & -8;
    }
    ck_assert(cursor <= (char *)(noted->payload + 512));
  }
  return noted->record(self, call, results, error);
}

/* With padding, or by frequency, what comes back is no derivative on purpose: tests/unit/autograd has such calls. */
static void count_all_rows(noted_call *noted) {
  noted->attributes[LAZE_EMBEDDING_PADDING_IDX].value.integer = -1;
  noted->attributes[LAZE_EMBEDDING_SCALE_GRAD_BY_FREQ].value.integer = 0;
}

/* A call of random arguments, in a graph of its own. False: it was refused. */
static bool draw_call(laze_context *context, laze_op op, int shape, test_random *random, laze_graph **graph,
                      noted_call *noted) {
  test_caller caller;
  laze_error error;
  ck_assert_int_eq(laze_graph_create(context, "derivative", graph, &error), LAZE_OK);
  test_caller_init(&caller, *graph, random);
  caller.most_elements = MOST_ELEMENTS;
  caller.fresh = true;
  caller.dtype = judged_dtype;
  caller.rank = shapes[shape].rank;
  memcpy(caller.sizes, shapes[shape].sizes, sizeof shapes[shape].sizes);
  caller.broadcast = shapes[shape].broadcast;
  caller.moved = shapes[shape].moved;
  *noted = (noted_call){.record = caller.builder.recorder.record, .wanted = op};
  noting = noted;
  noted_graph = *graph;
  caller.builder.recorder.record = note_call;
  if (test_random_call(&caller, op, &error) != LAZE_OK || !noted->found) return false;
  if (op == LAZE_OP_EMBEDDING) count_all_rows(noted);
  return true;
}

/* --- calls of few arguments that fit: of matrices, and the like --- */

/* What a free matrix x is made, so that it fits. */
typedef enum {
  REGULAR /* x + 4 */,
  SYMMETRIC /* x + x^T */,
  POSITIVE /* x x^T + 1 */,
  TRIANGULAR,
  TALL /* the first two columns of x + 4 */,
  NUMBERS,
  SHARES /* log_softmax(x) */
} fitness;

static laze_tensor *fit(laze_context *context, fitness kind, laze_tensor *x) {
  static const double apart[] = {0, 0, 0, 0, 3, 0, 0, 0, 6}, ones[] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  laze_tensor *one = laze_tensor_from_data(context, LAZE_F64, LAZE_SHAPE(3, 3), ones, sizeof ones);
  laze_tensor *far = laze_tensor_from_data(context, LAZE_F64, LAZE_SHAPE(3, 3), apart, sizeof apart);
  laze_tensor *turned = laze_conj(laze_transpose(x, 0, 1));
  if (kind == REGULAR) return laze_add(x, laze_mul(one, 4));
  if (kind == TALL) return laze_narrow(laze_add(x, laze_mul(one, 4)), 1, 0, 2);
  if (kind == SHARES) return laze_log_softmax(x, 1);
  if (kind == SYMMETRIC) return laze_add(laze_add(x, turned), far);
  if (kind == POSITIVE) return laze_add(laze_mm(x, turned), one);
  return kind == TRIANGULAR ? laze_add(laze_triu(x, 0), laze_mul(one, 4)) : laze_add(laze_mul(x, 0.25), 2);
}

/* `factors`: what the call takes is what linalg_lu_factor_ex gives of the matrix. `scales`: and the first numbers of
 * the diagonal of a further one. `right`: and a further one. `size`: of what a Fourier transform over both dims gives;
 * -1: as large as it is. `pooled`: so many of the last dims, by windows of 2 x 2; `samples`: to as many elements, by
 * samples. */
static const struct fitting {
  const char *name;
  fitness kind;
  bool factors, scales, right, number;
  int32_t flags, flag[3];
  int64_t size;
  const char *driver;
  int32_t pooled;
  bool samples;
} fittings[] = {
    {.name = "_log_shares", .kind = SHARES},
    {.name = "linalg_matrix_exp", .kind = REGULAR},
    {.name = "polygamma", .kind = NUMBERS, .number = true},
    {.name = "special_polygamma", .kind = NUMBERS, .number = true},
    {.name = "linalg_cholesky_ex", .kind = POSITIVE, .flags = 2},
    {.name = "linalg_lu_factor_ex", .kind = REGULAR, .flags = 2, .flag = {1, 0}},
    {.name = "lu_unpack", .kind = REGULAR, .factors = true, .flags = 2, .flag = {1, 1}},
    {.name = "linalg_lu_solve", .kind = REGULAR, .factors = true, .right = true, .flags = 2, .flag = {1, 0}},
    {.name = "_linalg_det", .kind = REGULAR},
    {.name = "_linalg_slogdet", .kind = REGULAR},
    {.name = "linalg_solve_triangular", .kind = TRIANGULAR, .right = true, .flags = 3, .flag = {1, 1, 0}},
    {.name = "linalg_qr", .kind = REGULAR},
    {.name = "_linalg_eigh", .kind = SYMMETRIC},
    {.name = "_linalg_svd", .kind = REGULAR},
    {.name = "_linalg_eig", .kind = REGULAR},
    {.name = "_pinv", .kind = REGULAR, .flags = -1},
    {.name = "_pinv_symmetric", .kind = SYMMETRIC, .flags = -1},
    {.name = "_fft_c2c", .kind = NUMBERS, .flags = 1, .flag = {1}, .size = -1},
    {.name = "_fft_r2c", .kind = NUMBERS, .flags = 1, .flag = {1}, .size = -1},
    {.name = "_fft_c2r", .kind = NUMBERS, .size = 4},
    {.name = "linalg_householder_product", .kind = TALL, .scales = true},
    {.name = "ormqr", .kind = TALL, .scales = true, .right = true, .flags = 2, .flag = {1, 1}},
    {.name = "_linalg_lstsq", .kind = TALL, .right = true, .driver = "gelsd"},
    {.name = "max_pool3d", .kind = NUMBERS, .pooled = 3},
    {.name = "max_pool3d_with_indices", .kind = NUMBERS, .pooled = 3},
    {.name = "adaptive_max_pool3d", .kind = NUMBERS, .pooled = 3},
    {.name = "fractional_max_pool2d", .kind = NUMBERS, .pooled = 2, .samples = true},
    {.name = "fractional_max_pool3d", .kind = NUMBERS, .pooled = 3, .samples = true},
};

static const struct fitting *find_fitting(laze_op op) {
  for (size_t i = 0; i < sizeof fittings / sizeof *fittings; i++)
    if (strcmp(fittings[i].name, laze_op_get(op)->name) == 0) return &fittings[i];
  return NULL;
}

/* Windows of the last dims of the matrix, which is the last of a batch then. */
static int32_t pass_windows(laze_context *context, const struct fitting *fitting, laze_argument *arguments) {
  static const int64_t whole[] = {1, 1, 3, 3}, windows[] = {1, 2, 2};
  static const double samples[] = {0.25, 0.5, 0.75};
  const int32_t dims = fitting->pooled;
  int32_t count = 1;
  arguments[0].value.tensor = laze_reshape(arguments[0].value.tensor, (laze_ints){whole + 3 - dims, dims + 1});
  for (int i = 0; i < 1 + fitting->samples; i++)
    arguments[count++] =
        (laze_argument){.kind = LAZE_PASS_INTEGERS, .count = dims, .value.integers = windows + 3 - dims};
  if (fitting->samples)
    arguments[count++] =
        (laze_argument){.kind = LAZE_PASS_TENSOR,
                        .value.tensor = laze_tensor_from_data(context, LAZE_F64, LAZE_SHAPE(1, 1, dims), samples,
                                                              (size_t)dims * sizeof *samples)};
  return count;
}

/* Its results; `inputs` are the free matrices. */
static int32_t call_fitting(laze_context *context, const struct fitting *fitting, laze_tensor *const *inputs,
                            laze_tensor **results) {
  laze_argument arguments[8];
  laze_tensor *factors[3], *matrix = fit(context, fitting->kind, inputs[0]);
  int32_t count = 0;
  if (fitting->number) arguments[count++] = (laze_argument){.kind = LAZE_PASS_INTEGER, .value.integer = 1};
  arguments[count++] = (laze_argument){.kind = LAZE_PASS_TENSOR, .value.tensor = matrix};
  if (fitting->pooled) count = pass_windows(context, fitting, arguments);
  if (fitting->factors) {
    if (laze_call_by_name(context, "linalg_lu_factor_ex", arguments, 1, factors, 3) != 3) return 0;
    arguments[0].value.tensor = factors[0];
    arguments[count++] = (laze_argument){.kind = LAZE_PASS_TENSOR, .value.tensor = factors[1]};
  }
  if (fitting->scales)
    arguments[count++] = (laze_argument){.kind = LAZE_PASS_TENSOR,
                                         .value.tensor = laze_narrow(laze_diagonal(inputs[1], 0, 0, 1), 0, 0, 2)};
  if (fitting->right) arguments[count++] = (laze_argument){.kind = LAZE_PASS_TENSOR, .value.tensor = inputs[1]};
  if (fitting->size) {
    static const int64_t dims[] = {0, 1};
    arguments[count++] = (laze_argument){.kind = LAZE_PASS_INTEGERS, .count = 2, .value.integers = dims};
    arguments[count++] = (laze_argument){.kind = LAZE_PASS_INTEGER, .value.integer = 1}; /* by the root of n */
  }
  if (fitting->size > 0)
    arguments[count++] = (laze_argument){.kind = LAZE_PASS_INTEGER, .value.integer = fitting->size};
  for (int32_t i = 0; i < fitting->flags; i++)
    arguments[count++] = (laze_argument){.kind = LAZE_PASS_BOOL, .value.integer = fitting->flag[i]};
  for (int32_t i = 0; i < 2 && fitting->flags < 0; i++) arguments[count++] = (laze_argument){.kind = LAZE_PASS_NONE};
  if (fitting->driver) {
    arguments[count++] = (laze_argument){.kind = LAZE_PASS_NONE};
    arguments[count++] = (laze_argument){.kind = LAZE_PASS_STRING, .value.string = fitting->driver};
  }
  return laze_call_by_name(context, fitting->name, arguments, count, results, 8);
}

/* A graph whose parameters are the free matrices. */
static bool draw_fitting(laze_context *context, laze_op op, test_random *random, laze_graph **graph,
                         noted_call *noted) {
  test_caller caller;
  laze_error error;
  const int64_t sizes[] = {3, 3};
  ck_assert_int_eq(laze_graph_create(context, "derivative", graph, &error), LAZE_OK);
  test_caller_init(&caller, *graph, random);
  *noted = (noted_call){.wanted = op, .found = true};
  const struct fitting *fitting = find_fitting(op);
  for (int i = 0; i < 1 + (fitting->right || fitting->scales); i++)
    if (laze_value_is_none(test_caller_parameter(&caller, judged_dtype, 2, sizes, 0))) return false;
  return true;
}

/* --- tensors of it --- */

/* Numbers of the inputs that have gradients, and of their weights. */
typedef struct {
  int32_t count; /* of parameters */
  bool moves[MOST_TENSORS];
  laze_dtype dtypes[MOST_TENSORS];
  int64_t elements[MOST_TENSORS]; /* of complex numbers, two for each */
  double at[MOST_TENSORS][MOST_ELEMENTS], along[MOST_TENSORS][MOST_ELEMENTS], weights[MOST_TENSORS][MOST_ELEMENTS];
  int64_t indices[MOST_TENSORS][MOST_ELEMENTS];
} point;

typedef struct {
  laze_context *context;
  const laze_graph *graph;
  const noted_call *noted;
  point *inputs;
  double output_weights[MOST_TENSORS][MOST_ELEMENTS];
  test_random *random;
  bool failed, unimplemented;
} problem;

static int64_t index_bound(const laze_graph *graph, laze_value parameter) {
  const char *found = strstr(laze_graph_node(graph, parameter)->name, "_below");
  return found ? strtoll(found + strlen("_below"), NULL, 10) : 0;
}

static double draw(test_random *random, double low, double high) {
  return low + (high - low) * test_random_unit(random);
}

/* What is written to an element twice has one gradient that counts, and the formulas, as PyTorch's, do not tell which:
 * places are drawn that differ. */
static bool overwrites(laze_op op) {
  const char *name = laze_op_get(op)->name;
  return strcmp(name, "_scatter") == 0 || strcmp(name, "_index_update") == 0;
}

static bool draw_indices(const problem *self, int32_t i, int64_t below) {
  point *inputs = self->inputs;
  const bool differ = below > 0 && overwrites(self->noted->wanted);
  const int64_t first = below > 0 ? test_random_below(self->random, below) : 0;
  for (int64_t k = 0; k < inputs->elements[i]; k++)
    inputs->indices[i][k] = differ      ? (first + k) % below
                            : below > 0 ? test_random_below(self->random, below)
                                        : test_random_below(self->random, 2);
  return !differ || inputs->elements[i] <= below;
}

/* How many f64 a number is. */
static int width_of(laze_dtype dtype) {
  return laze_dtype_is_complex(dtype) ? 2 : 1;
}

static bool is_exact_enough(laze_dtype dtype) {
  return dtype == LAZE_F64 || dtype == LAZE_C128;
}

static bool draw_inputs(const problem *self, double low, double high) {
  const laze_block *body = self->graph->body;
  point *inputs = self->inputs;
  if (body->parameter_count > MOST_TENSORS) return false;
  inputs->count = (int32_t)body->parameter_count;
  for (int32_t i = 0; i < inputs->count; i++) {
    const laze_value value = {body->parameters[i], 0};
    const laze_type *type = laze_graph_type(self->graph, value);
    const int64_t below = index_bound(self->graph, value);
    inputs->elements[i] = test_elements(type) * width_of(type->dtype);
    inputs->moves[i] = laze_dtype_is_inexact(type->dtype);
    inputs->dtypes[i] = type->dtype;
    if (inputs->elements[i] > MOST_ELEMENTS || (inputs->moves[i] && !is_exact_enough(type->dtype))) return false;
    for (int64_t k = 0; k < inputs->elements[i]; k++) {
      inputs->at[i][k] = draw(self->random, low, high);
      inputs->along[i][k] = draw(self->random, -1, 1);
      inputs->weights[i][k] = draw(self->random, -1, 1);
    }
    if (!draw_indices(self, i, below)) return false;
  }
  return true;
}

static laze_tensor *make_parameter(const problem *self, int32_t i, double t, bool requires) {
  const laze_type *type = laze_graph_type(self->graph, (laze_value){self->graph->body->parameters[i], 0});
  double moved[MOST_ELEMENTS];
  laze_error error;
  const laze_ints shape = {type->sizes, type->rank};
  if (!self->inputs->moves[i]) {
    laze_tensor *whole = laze_tensor_from_data(self->context, LAZE_I64, shape, self->inputs->indices[i],
                                               (size_t)self->inputs->elements[i] * sizeof(int64_t));
    return laze_to(whole, type->dtype);
  }
  for (int64_t k = 0; k < self->inputs->elements[i]; k++)
    moved[k] = self->inputs->at[i][k] + t * self->inputs->along[i][k];
  laze_tensor *tensor = laze_tensor_from_data(self->context, type->dtype, shape, moved,
                                              (size_t)self->inputs->elements[i] * sizeof *moved);
  if (requires) ck_assert_int_eq(laze_tensor_require_grad(tensor, 1, &error), LAZE_OK);
  return tensor;
}

/* One attribute as an argument of a call by name. */
static laze_argument pass_attribute(const laze_argument_info *info, const laze_attribute *attribute) {
  laze_argument passed = {.kind = info->optional ? LAZE_PASS_NONE : LAZE_PASS_DEFAULT};
  if (!attribute->present) return passed;
  passed.value.integer = attribute->value.integer;
  passed.count = attribute->count;
  switch (info->kind) {
  case LAZE_ARGUMENT_BOOL: passed.kind = LAZE_PASS_BOOL; break;
  case LAZE_ARGUMENT_DTYPE: passed.kind = LAZE_PASS_DTYPE; break;
  case LAZE_ARGUMENT_STRING:
    passed.kind = LAZE_PASS_STRING;
    passed.value.string = attribute->value.string;
    break;
  case LAZE_ARGUMENT_FLOAT:
    passed.kind = LAZE_PASS_REAL;
    passed.value.real = attribute->value.real;
    break;
  case LAZE_ARGUMENT_LITERAL:
    passed.kind = LAZE_PASS_SCALAR;
    passed.value.scalar = attribute->value.literal;
    break;
  case LAZE_ARGUMENT_FLOAT_LIST:
    passed.kind = LAZE_PASS_REALS;
    passed.value.reals = attribute->value.reals;
    break;
  case LAZE_ARGUMENT_INT_LIST:
  case LAZE_ARGUMENT_SIZE_LIST:
    passed.kind = LAZE_PASS_INTEGERS;
    passed.value.integers = attribute->value.items;
    break;
  default: passed.kind = LAZE_PASS_INTEGER;
  }
  return passed;
}

/* A call on tensors that stand for the graph's values: `values` by node, of its first result. */
static int32_t call(const problem *self, laze_op op, const laze_value *operands, const int32_t *segments,
                    const laze_attribute *attributes, laze_tensor **values, laze_tensor **results) {
  const laze_op_info *info = laze_op_get(op);
  laze_argument arguments[ARGUMENTS];
  laze_tensor *lists[TEST_CALL_OPERANDS];
  int32_t next = 0;
  for (int32_t i = 0; i < info->argument_count; i++) {
    const laze_argument_info *argument = &info->arguments[i];
    arguments[i] = (laze_argument){.kind = argument->optional ? LAZE_PASS_NONE : LAZE_PASS_DEFAULT};
    if (!laze_argument_is_operand(argument->kind)) {
      arguments[i] = pass_attribute(argument, &attributes[argument->position]);
      continue;
    }
    const int32_t count = segments ? segments[argument->position] : 1;
    if (count < 0) continue;
    const bool lists_tensors =
        argument->kind == LAZE_ARGUMENT_TENSOR_LIST || argument->kind == LAZE_ARGUMENT_OPTIONAL_LIST;
    for (int32_t k = 0; k < count; k++)
      lists[next + k] = laze_value_is_none(operands[next + k]) ? NULL : values[operands[next + k].node];
    const laze_node *node = lists_tensors || !lists[next] ? NULL : laze_graph_node(self->graph, operands[next]);
    if (lists_tensors)
      arguments[i] = (laze_argument){.kind = LAZE_PASS_TENSORS, .count = count, .value.tensors = &lists[next]};
    else if (argument->kind == LAZE_ARGUMENT_SCALAR && node && node->op == LAZE_OP_CONSTANT)
      arguments[i] =
          (laze_argument){.kind = LAZE_PASS_SCALAR,
                          .value.scalar = laze_scalar_load(node->types[0]->dtype,
                                                           node->attributes[LAZE_CONSTANT_DATA].value.data.bytes, 0)};
    else
      arguments[i] = (laze_argument){.kind = LAZE_PASS_TENSOR, .value.tensor = lists[next]};
    next += count;
  }
  return laze_call_by_name(self->context, info->name, arguments, info->argument_count, results, 8);
}

/* The results of the call at x + t v; `inputs` are its parameters. 0: the call is refused on tensors. */
static int32_t evaluate(const problem *self, double t, bool requires, laze_tensor **inputs, laze_tensor **results) {
  const laze_block *body = self->graph->body;
  laze_tensor **values = calloc((size_t)self->graph->node_count + 1, sizeof *values);
  for (int32_t i = 0; i < self->inputs->count; i++) {
    inputs[i] = make_parameter(self, i, t, requires);
    values[body->parameters[i]] = inputs[i];
  }
  const struct fitting *fitting = find_fitting(self->noted->wanted);
  for (int64_t i = 0; i < self->noted->nodes_before; i++) {
    const laze_node *node = laze_graph_node(self->graph, (laze_value){body->nodes[i], 0});
    laze_tensor *made[8] = {NULL};
    if (node->op == LAZE_OP_CONSTANT) {
      const laze_type *type = node->types[0];
      made[0] = laze_tensor_from_data(self->context, type->dtype, (laze_ints){type->sizes, type->rank},
                                      node->attributes[LAZE_CONSTANT_DATA].value.data.bytes,
                                      (size_t)node->attributes[LAZE_CONSTANT_DATA].value.data.size);
    } else {
      (void)call(self, node->op, node->operands, node->segments, node->attributes, values, made);
    }
    values[body->nodes[i]] = made[0];
  }
  const int32_t count = fitting ? call_fitting(self->context, fitting, inputs, results)
                                : call(self, self->noted->wanted, self->noted->operands, self->noted->segments,
                                       self->noted->attributes, values, results);
  free(values);
  return laze_tensor_status(results[0]) == LAZE_OK ? count : 0;
}

/* --- numbers of tensors --- */

static double dot(laze_tensor *tensor, const double *weights) {
  double elements[MOST_ELEMENTS] = {0}, sum = 0;
  const laze_dtype dtype = laze_tensor_dtype(tensor);
  const int64_t count = laze_tensor_elements(tensor) * width_of(dtype);
  ck_assert(is_exact_enough(dtype));
  ck_assert_msg(laze_tensor_read(tensor, dtype, elements, (size_t)count * sizeof *elements) == LAZE_OK, "%s",
                laze_tensor_error(tensor));
  for (int64_t k = 0; k < count; k++) sum += elements[k] * weights[k];
  return sum;
}

/* Eigenvectors and the like of complex matrices may be turned by any phase, which differences take part in. */
static bool has_free_phase(laze_op op) {
  static const char *const names[] = {"_linalg_eigh", "_linalg_svd", "_linalg_eig"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(names[i], laze_op_get(op)->name) == 0) return true;
  return false;
}

static bool is_judged(laze_op op, int32_t index, laze_tensor *result) {
  const bool turns = judged_dtype == LAZE_C128 || strcmp(laze_op_get(op)->name, "_linalg_eig") == 0;
  if (turns && has_free_phase(op) && index != (strcmp(laze_op_get(op)->name, "_linalg_svd") == 0)) return false;
  return result && is_exact_enough(laze_tensor_dtype(result)) &&
         laze_tensor_elements(result) * width_of(laze_tensor_dtype(result)) <= MOST_ELEMENTS;
}

/* What is asked of a point: L, or G with the gradients of which it consists. */
typedef struct {
  laze_tensor *inputs[MOST_TENSORS], *leaves[MOST_TENSORS], *outputs[8], *given[8], *gradients[MOST_TENSORS];
  int32_t leaf_count, output_count, places[MOST_TENSORS];
} tensors;

static laze_tensor *weights_like(const problem *self, laze_tensor *like, const double *weights) {
  int64_t sizes[LAZE_MAX_RANK];
  const int32_t rank = laze_tensor_rank(like);
  for (int32_t i = 0; i < rank; i++) sizes[i] = laze_tensor_size(like, i);
  const laze_dtype dtype = laze_tensor_dtype(like);
  return laze_tensor_from_data(self->context, dtype, (laze_ints){sizes, rank}, weights,
                               (size_t)(laze_tensor_elements(like) * width_of(dtype)) * sizeof *weights);
}

/* The outputs that are judged, at x + t v. */
static bool make_tensors(const problem *self, double t, tensors *out) {
  laze_tensor *results[8] = {NULL};
  const int32_t count = evaluate(self, t, true, out->inputs, results);
  out->leaf_count = out->output_count = 0;
  for (int32_t i = 0; i < self->inputs->count; i++) {
    if (!self->inputs->moves[i]) continue;
    out->places[out->leaf_count] = i;
    out->leaves[out->leaf_count++] = out->inputs[i];
  }
  for (int32_t i = 0; i < count; i++) {
    if (!is_judged(self->noted->wanted, i, results[i]) || !laze_tensor_requires_grad(results[i])) continue;
    out->given[out->output_count] = weights_like(self, results[i], self->output_weights[out->output_count]);
    out->outputs[out->output_count++] = results[i];
  }
  return out->leaf_count > 0 && out->output_count > 0;
}

static laze_status find_gradients(const problem *self, tensors *at, laze_error *error) {
  (void)self;
  return laze_grad(at->outputs, at->given, at->output_count, at->leaves, at->leaf_count,
                   LAZE_CREATE_GRAPH | LAZE_ALLOW_UNUSED, at->gradients, error);
}

static double sum_of(const problem *self, laze_tensor *const *gradients, const tensors *at,
                     double (*numbers)[MOST_ELEMENTS]) {
  (void)self;
  double sum = 0;
  for (int32_t i = 0; i < at->leaf_count; i++)
    if (gradients[i]) sum += dot(gradients[i], numbers[at->places[i]]);
  return sum;
}

/* L(x + t v), or G of it. */
static double value_at(const problem *self, double t, bool of_gradients) {
  laze_scope *scope = laze_scope_begin(self->context);
  tensors at;
  laze_error error;
  double sum = NAN;
  if (make_tensors(self, t, &at)) {
    sum = 0;
    if (!of_gradients)
      for (int32_t i = 0; i < at.output_count; i++) sum += dot(at.outputs[i], self->output_weights[i]);
    else
      sum = find_gradients(self, &at, &error) == LAZE_OK ? sum_of(self, at.gradients, &at, self->inputs->weights) : NAN;
  }
  (void)laze_scope_end(scope);
  return sum;
}

/* The derivative along v; NaN: it is none here. */
static double difference(const problem *self, bool of_gradients, double *scale) {
  const double step = 0x1p-17, here = value_at(self, 0, of_gradients);
  const double near = (value_at(self, step, of_gradients) - value_at(self, -step, of_gradients)) / (2 * step);
  const double far = (value_at(self, 2 * step, of_gradients) - value_at(self, -2 * step, of_gradients)) / (4 * step);
  *scale = fmax(1, fmax(fabs(here), fabs(near)));
  return fabs(near - far) <= 1e-6 * *scale ? near : NAN;
}

/* --- judging --- */

typedef struct {
  int first, second; /* calls of which derivatives of that order were judged */
  bool failed, unimplemented;
} verdict;

static void report(problem *self, const char *what, const char *message) {
  if (!self->failed) test_print_graph("the call is the last one of this graph:", self->graph);
  fprintf(stderr, "%s: %s: %s\n", laze_op_get(self->noted->wanted)->name, what, message);
  self->failed = true;
}

/* An argument whose formula is not implemented says so, wherever it is asked for. */
static void report_status(problem *self, const char *what, const laze_error *error) {
  const bool says_so = error->code == LAZE_UNSUPPORTED && strstr(error->message, "is not implemented");
  if (says_so)
    self->unimplemented = true;
  else
    report(self, what, error->message);
}

/* Each operator is said once; the test fails when all were looked at. */
static void compare(problem *self, const char *what, double got, double expected, double scale) {
  if (fabs(got - expected) <= 2e-6 * scale) return;
  char message[96];
  snprintf(message, sizeof message, "%.12g, and differences say %.12g", got, expected);
  report(self, what, message);
}

/* <u, J v> of some outputs. */
static bool forward(problem *self, const tensors *at, laze_tensor *const *outputs, int32_t count,
                    double (*numbers)[MOST_ELEMENTS], const int32_t *places, double *sum) {
  laze_tensor *tangents[MOST_TENSORS], *found[MOST_TENSORS];
  laze_error error;
  for (int32_t i = 0; i < at->leaf_count; i++)
    tangents[i] = weights_like(self, at->leaves[i], self->inputs->along[at->places[i]]);
  const laze_status status = laze_jvp(outputs, count, at->leaves, tangents, at->leaf_count, 0, found, &error);
  *sum = 0;
  if (status != LAZE_OK) return report_status(self, "forward", &error), false;
  for (int32_t i = 0; i < count; i++) *sum += dot(found[i], numbers[places ? places[i] : i]);
  return true;
}

static void judge_second(problem *self, tensors *at, verdict *out) {
  laze_tensor *firsts[MOST_TENSORS], *given[MOST_TENSORS], *seconds[MOST_TENSORS];
  int32_t count = 0, places[MOST_TENSORS];
  laze_error error;
  double scale, found = 0;
  const double expected = difference(self, true, &scale);
  if (!isfinite(expected)) return;
  for (int32_t i = 0; i < at->leaf_count; i++) {
    if (!at->gradients[i] || !laze_tensor_requires_grad(at->gradients[i])) continue;
    places[count] = at->places[i];
    given[count] = weights_like(self, at->gradients[i], self->inputs->weights[at->places[i]]);
    firsts[count++] = at->gradients[i];
  }
  if (count > 0) {
    const laze_status status = laze_grad(firsts, given, count, at->leaves, at->leaf_count,
                                         LAZE_RETAIN_GRAPH | LAZE_ALLOW_UNUSED, seconds, &error);
    if (status != LAZE_OK) return report_status(self, "second order", &error);
    found = sum_of(self, seconds, at, self->inputs->along);
  }
  compare(self, "second order, reverse", found, expected, scale);
  if (count > 0 && forward(self, at, firsts, count, self->inputs->weights, places, &found))
    compare(self, "second order, forward of reverse", found, expected, scale);
  out->second++;
}

static void judge(problem *self, verdict *out) {
  laze_scope *scope = laze_scope_begin(self->context);
  tensors at;
  laze_error error;
  double scale, found;
  if (make_tensors(self, 0, &at)) {
    const double expected = difference(self, false, &scale);
    if (isfinite(expected)) {
      const laze_status status = find_gradients(self, &at, &error);
      if (status != LAZE_OK)
        report_status(self, "reverse", &error);
      else
        compare(self, "reverse", sum_of(self, at.gradients, &at, self->inputs->along), expected, scale);
      if (forward(self, &at, at.outputs, at.output_count, self->output_weights, NULL, &found))
        compare(self, "forward", found, expected, scale);
      out->first++;
      if (status == LAZE_OK) judge_second(self, &at, out);
    }
  }
  (void)laze_scope_end(scope);
}

static const laze_differential_case *find_case(laze_op op) {
  for (int32_t i = 0; i < laze_differential_case_count; i++)
    if (laze_differential_cases[i].op == op) return &laze_differential_cases[i];
  return NULL;
}

/* One call, if it can be made. */
static void judge_call(laze_context *context, laze_op op, int shape, test_random *random, verdict *out) {
  const laze_differential_case *item = find_case(op);
  static point inputs;
  static problem self;
  laze_graph *graph;
  noted_call noted;
  const bool fitting = find_fitting(op) != NULL;
  const bool drawn = fitting ? draw_fitting(context, op, random, &graph, &noted)
                             : draw_call(context, op, shape, random, &graph, &noted);
  self = (problem){.context = context, .graph = graph, .noted = &noted, .inputs = &inputs, .random = random};
  for (int k = 0; k < 8; k++)
    for (int n = 0; n < MOST_ELEMENTS; n++) self.output_weights[k][n] = draw(random, -1, 1);
  const bool has_range = item && !fitting;
  if (drawn && draw_inputs(&self, has_range ? item->low : -1, has_range ? item->high : 1)) judge(&self, out);
  out->failed |= self.failed;
  out->unimplemented |= self.unimplemented;
  laze_graph_destroy(graph);
}

/* One call of each shape that is smooth where it is looked at. */
static void judge_operator(laze_context *context, laze_op op, test_random *random, verdict *out) {
  for (int shape = 0; shape < SHAPES; shape++) {
    const int before = out->first;
    for (int i = 0; i < TRIES && out->first == before; i++) judge_call(context, op, shape, random, out);
  }
}

/* What has no arguments that are real, or none that are complex. */
static bool is_left_out(const char *name) {
  static const char *const of_complex[] = {"imag", "_fft_c2c", "_fft_c2r"}, *const of_real[] = {"complex", "_fft_r2c"};
  const bool real = judged_dtype == LAZE_F64;
  for (size_t i = 0; i < (real ? sizeof of_complex : sizeof of_real) / sizeof *of_real; i++)
    if (strcmp(name, real ? of_complex[i] : of_real[i]) == 0) return true;
  return false;
}

static void check(const laze_op_info *info, const verdict *found) {
  ck_assert_msg(!found->failed, "%s: a derivative is wrong (above)", info->name);
  if (is_left_out(info->name))
    ck_assert_msg(found->first == 0, "%s is judged, and said to be left out", info->name);
  else
    ck_assert_msg(found->first > 0, "no call of %s could be judged: draw arguments that fit (fittings)", info->name);
  if (!is_left_out(info->name) && !found->unimplemented)
    ck_assert_msg(found->second > 0, "no second derivative of %s could be judged", info->name);
}

/* Judges an operator that has formulas; the seed is such that another operator changes nothing here. */
static verdict judge_formulas(laze_context *context, laze_op op) {
  const uint64_t seed = (uint64_t)test_setting("LAZE_TEST_SEED", 1);
  test_random random = {.state = seed + (uint64_t)op};
  verdict found = {0};
  judge_operator(context, op, &random, &found);
  if (found.failed)
    fprintf(stderr, "LAZE_TEST_SEED=%llu LAZE_TEST_OPERATORS=%s\n", (unsigned long long)seed, laze_op_get(op)->base);
  return found;
}

static bool is_asked_for(const laze_op_info *info) {
  return info->derivative && info->derivative->gradient_count > 0 && test_is_chosen(info->base);
}

/* Of all operators, at least so many are judged. */
static int least(int count) {
  return getenv("LAZE_TEST_OPERATORS") ? 0 : count;
}

START_TEST(formulas_agree_with_differences) {
  autograd_fixture at = begin();
  int judged = 0;
  judged_dtype = LAZE_F64;
  for (laze_op op = 1; op < laze_op_count; op++) {
    if (!is_asked_for(laze_op_get(op))) continue;
    const verdict found = judge_formulas(at.context, op);
    check(laze_op_get(op), &found);
    judged++;
  }
  ck_assert_int_ge(judged, least(100));
  end(&at);
}
END_TEST

/* A formula that lacks a conj() gives wrong gradients silently; what is not on the list refuses complex results. */
START_TEST(row_1_18_formulas_on_the_list_are_right_for_complex_numbers) {
  autograd_fixture at = begin();
  int listed = 0;
  judged_dtype = LAZE_C128;
  for (laze_op op = 1; op < laze_op_count; op++) {
    const laze_op_info *info = laze_op_get(op);
    if (!is_asked_for(info)) continue;
    const verdict found = judge_formulas(at.context, op);
    ck_assert_msg(!found.failed, "%s: a derivative of complex numbers is wrong (above)", info->name);
    if (!info->derivative->is_complex) continue;
    check(info, &found);
    listed++;
  }
  ck_assert_int_ge(listed, least(60));
  end(&at);
}
END_TEST

int main(void) {
  const TTest *tests[] = {formulas_agree_with_differences, row_1_18_formulas_on_the_list_are_right_for_complex_numbers};
  return run_tests("derivatives", tests, sizeof tests / sizeof *tests);
}

/* The kernel of a declared operator, as the graph calls it (laze/opaque.h): operands and lists become arguments of the
 * schema, and what is written to is a result that begins as its operand.
 *
 *   mine::add_(Tensor(a!) x, Tensor y) -> Tensor(a!)
 *   opaque [%x, %y] : f32[3]        result 0 = copy of %x;  arguments[0].data = results[0].data = result 0;  run
 *
 * Where kernels are checked, they get copies of everything, between guards, so that what they do wrong is noticed and
 * harms nobody:
 *
 *   guard | copy of an operand | guard      compared with the operand when the kernel returns
 *   guard | room for a result  | guard      copied to the result if the guards are whole
 */
#include "base/dtype.h"
#include "lazy/library/arguments.h"
#include "lazy/library/registry.h"

#include <string.h>

enum { FEW_TENSORS = 24, GUARD = 64, GUARD_BYTE = 0xa5 };

/* One call. `operands` and `results` are those of the node, with memory of the call's own where it is checked. */
typedef struct {
  const laze_library_routine *routine;
  const laze_opaque_call *given;
  laze_opaque_tensor *tensors, *operands, *results; /* both in one array */
  laze_opaque_tensor few[2 * FEW_TENSORS];
  laze_opaque_tensor by_schema[LAZE_OPAQUE_MAX_RESULTS];
  laze_library_value values[LAZE_MOST_ARGUMENTS];
  int32_t first[LAZE_MOST_ARGUMENTS]; /* operand of each argument */
} kernel_call;

static const laze_library_schema *schema_of(const kernel_call *self) {
  return &self->routine->op->schema;
}

static int64_t bytes_of(const laze_opaque_tensor *tensor) {
  int64_t bytes = laze_dtype_get(tensor->dtype)->size;
  for (int32_t i = 0; i < tensor->rank; i++) bytes *= tensor->sizes[i];
  return bytes;
}

static laze_status begin(kernel_call *self, laze_error *error) {
  const laze_opaque_call *given = self->given;
  const int32_t results = given->results ? given->result_count : 0;
  self->tensors = self->few;
  if (given->operand_count + results > 2 * FEW_TENSORS)
    self->tensors = laze_alloc_array(self->routine->op->context, given->operand_count + results, sizeof *self->tensors);
  if (!self->tensors) return laze_fail_memory(error, "a call of a kernel", -1);
  self->operands = self->tensors;
  self->results = self->tensors + given->operand_count;
  for (int32_t i = 0; i < given->operand_count; i++) self->operands[i] = given->operands[i];
  for (int32_t i = 0; i < results; i++) self->results[i] = given->results[i];
  return LAZE_OK;
}

static void end(kernel_call *self) {
  if (self->tensors != self->few) laze_free(self->routine->op->context, self->tensors);
}

/* --- types --- */

bool laze_library_routine_is_plain(const laze_library_routine *routine) {
  const laze_library_schema *schema = &routine->op->schema;
  int32_t first = 0;
  while (first < schema->argument_count && !laze_argument_is_operand(schema->arguments[first].kind)) first++;
  if (routine->types || first == schema->argument_count) return false;
  const laze_argument_info *argument = &schema->arguments[first];
  if (argument->kind != LAZE_ARGUMENT_TENSOR || argument->optional) return false;
  return schema->write_count == 0 || (schema->write_count == 1 && schema->writes[0] == first);
}

static laze_opaque_type type_of(const laze_opaque_tensor *tensor) {
  laze_opaque_type type = {.dtype = tensor->dtype, .rank = tensor->rank};
  memcpy(type.sizes, tensor->sizes, (size_t)tensor->rank * sizeof *tensor->sizes);
  return type;
}

/* Where nobody says the types. */
static laze_status like_first(const kernel_call *self, laze_opaque_type *types, laze_error *error) {
  const laze_library_schema *schema = schema_of(self);
  for (int32_t i = 0; i < schema->argument_count; i++) {
    const laze_library_value *value = &self->values[i];
    const bool found = value->kind == LAZE_PASS_TENSOR || (value->kind == LAZE_PASS_TENSORS && value->count > 0);
    if (!found) continue;
    for (int32_t k = 0; k < schema->result_count; k++) types[k] = type_of(value->value.tensors);
    return LAZE_OK;
  }
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "no argument is a tensor, whose type results could have; say the types (laze_library_infer)");
}

static laze_status ask(kernel_call *self, laze_opaque_type *out, laze_error *error) {
  const laze_library_schema *schema = schema_of(self);
  const laze_library_hook *types = self->routine->types;
  laze_opaque_type found[LAZE_OPAQUE_MAX_RESULTS] = {{0}};
  int32_t count = 0;
  for (int32_t i = 0; i < self->given->operand_count; i++) self->operands[i].data = NULL;
  LAZE_TRY(laze_library_read_layout(schema, self->given, self->operands, self->values, self->first, error));
  const laze_library_kernel_call call = {.struct_size = sizeof call,
                                         .argument_count = schema->argument_count,
                                         .result_count = schema->result_count,
                                         .arguments = self->values};
  const bool asks = laze_library_schema_own_results(schema) > 0;
  if (asks) LAZE_TRY(types ? types->function.types(types->self, &call, found, error) : like_first(self, found, error));
  for (int32_t i = 0; i < schema->result_count; i++)
    if (schema->results[i] < 0) out[count++] = found[i];
  for (int32_t i = 0; i < schema->write_count; i++)
    out[count++] = type_of(&self->operands[self->first[schema->writes[i]]]);
  return LAZE_OK;
}

laze_status laze_library_routine_infer(void *self, const laze_opaque_call *call, laze_opaque_type *results,
                                       laze_error *error) {
  kernel_call asked = {.routine = self, .given = call};
  LAZE_TRY(begin(&asked, error));
  const laze_status status = ask(&asked, results, error);
  end(&asked);
  return status;
}

/* --- running --- */

/* Has what is written to be the result that it becomes. */
static void join_writes(kernel_call *self) {
  const laze_library_schema *schema = schema_of(self);
  const int32_t own = laze_library_schema_own_results(schema);
  int32_t next = 0;
  for (int32_t i = 0; i < schema->write_count; i++) {
    laze_opaque_tensor *operand = &self->operands[self->first[schema->writes[i]]];
    const int64_t bytes = bytes_of(operand);
    void *to = self->results[own + i].data;
    if (bytes > 0) memcpy(to, operand->data, (size_t)bytes);
    operand->data = to;
  }
  for (int32_t i = 0; i < schema->result_count; i++)
    self->by_schema[i] =
        schema->results[i] < 0 ? self->results[next++] : self->operands[self->first[schema->results[i]]];
}

static laze_status run_plainly(kernel_call *self, laze_error *error) {
  const laze_library_schema *schema = schema_of(self);
  const laze_library_hook *kernel = self->routine->kernel;
  join_writes(self);
  const laze_library_kernel_call call = {.struct_size = sizeof call,
                                         .argument_count = schema->argument_count,
                                         .result_count = schema->result_count,
                                         .arguments = self->values,
                                         .results = self->by_schema};
  return kernel->function.kernel(kernel->self, &call, error);
}

/* --- running under checks --- */

static bool is_written(const kernel_call *self, int32_t operand) {
  const laze_library_schema *schema = schema_of(self);
  for (int32_t i = 0; i < schema->write_count; i++)
    if (self->first[schema->writes[i]] == operand) return true;
  return false;
}

/* Memory between guards, for each tensor of the call. */
static laze_status guard(kernel_call *self, char **memory, laze_error *error) {
  const int32_t operands = self->given->operand_count, count = operands + self->given->result_count;
  for (int32_t i = 0; i < count; i++) {
    const int64_t bytes = bytes_of(&self->tensors[i]);
    char *room = bytes > INT64_MAX - 2 * GUARD ? NULL : laze_alloc(self->routine->op->context, bytes + 2 * GUARD);
    if (!room) return laze_fail_memory(error, "the copies that a kernel is checked on", bytes);
    memory[i] = room;
    memset(room, GUARD_BYTE, (size_t)bytes + 2 * GUARD);
    if (i < operands && bytes > 0) memcpy(room + GUARD, self->tensors[i].data, (size_t)bytes);
    self->tensors[i].data = room + GUARD;
  }
  return LAZE_OK;
}

static bool is_whole(const char *memory, int64_t bytes) {
  for (int32_t i = 0; i < GUARD; i++)
    if ((unsigned char)memory[i] != GUARD_BYTE || (unsigned char)memory[GUARD + bytes + i] != GUARD_BYTE) return false;
  return true;
}

/* What the kernel did besides what it should. */
static laze_status inspect(const kernel_call *self, char *const *memory, laze_error *error) {
  const laze_opaque_call *given = self->given;
  for (int32_t i = 0; i < given->operand_count; i++) {
    const int64_t bytes = bytes_of(&given->operands[i]);
    if (!is_whole(memory[i], bytes))
      return laze_fail(error, LAZE_FAILED_PRECONDITION, "it wrote outside of operand %d, which has %lld bytes", (int)i,
                       (long long)bytes);
    if (!is_written(self, i) && bytes > 0 && memcmp(memory[i] + GUARD, given->operands[i].data, (size_t)bytes) != 0)
      return laze_fail(error, LAZE_FAILED_PRECONDITION,
                       "it changed operand %d, which its schema does not say it writes to (\"Tensor(a!)\")", (int)i);
  }
  for (int32_t i = 0; i < given->result_count; i++)
    if (!is_whole(memory[given->operand_count + i], bytes_of(&given->results[i])))
      return laze_fail(error, LAZE_FAILED_PRECONDITION,
                       "it wrote outside of result %d, which has %lld bytes; say its type (laze_library_infer)", (int)i,
                       (long long)bytes_of(&given->results[i]));
  return LAZE_OK;
}

/* Whether the descriptions of tensors are as they were: a kernel could give a result the memory of an operand. */
static bool are_as_before(const kernel_call *self, const laze_opaque_tensor *tensors,
                          const laze_opaque_tensor *by_schema) {
  const laze_library_schema *schema = schema_of(self);
  const size_t count = (size_t)self->given->operand_count + (size_t)self->given->result_count;
  return memcmp(tensors, self->tensors, count * sizeof *tensors) == 0 &&
         memcmp(by_schema, self->by_schema, (size_t)schema->result_count * sizeof *by_schema) == 0;
}

static void keep_results(const kernel_call *self, char *const *memory) {
  for (int32_t i = 0; i < self->given->result_count; i++) {
    const laze_opaque_tensor *result = &self->given->results[i];
    const int64_t bytes = bytes_of(result);
    if (bytes > 0) memcpy(result->data, memory[self->given->operand_count + i] + GUARD, (size_t)bytes);
  }
}

static laze_status run_in_copies(kernel_call *self, char **memory, laze_opaque_tensor *before, laze_error *error) {
  const laze_library_schema *schema = schema_of(self);
  const laze_library_hook *kernel = self->routine->kernel;
  laze_opaque_tensor by_schema[LAZE_OPAQUE_MAX_RESULTS];
  LAZE_TRY(guard(self, memory, error));
  join_writes(self);
  memcpy(before, self->tensors, (size_t)(self->given->operand_count + self->given->result_count) * sizeof *before);
  memcpy(by_schema, self->by_schema, sizeof by_schema);
  const laze_library_kernel_call call = {.struct_size = sizeof call,
                                         .argument_count = schema->argument_count,
                                         .result_count = schema->result_count,
                                         .arguments = self->values,
                                         .results = self->by_schema};
  LAZE_TRY(kernel->function.kernel(kernel->self, &call, error));
  if (!are_as_before(self, before, by_schema))
    return laze_fail(error, LAZE_FAILED_PRECONDITION,
                     "it exchanged the memory of its operands or results; it has to write to what it is given");
  LAZE_TRY(inspect(self, memory, error));
  keep_results(self, memory);
  return LAZE_OK;
}

static laze_status run_checked(kernel_call *self, laze_error *error) {
  laze_context *context = self->routine->op->context;
  const int32_t count = self->given->operand_count + self->given->result_count;
  char **memory = laze_alloc_zero(context, count * (int64_t)sizeof *memory);
  laze_opaque_tensor *before = laze_alloc_array(context, count, sizeof *before);
  const laze_status status = memory && before ? run_in_copies(self, memory, before, error)
                                              : laze_fail_memory(error, "the copies that a kernel is checked on", -1);
  for (int32_t i = 0; memory && i < count; i++) laze_free(context, memory[i]);
  laze_free(context, memory);
  laze_free(context, before);
  return status;
}

static laze_status run(kernel_call *self, laze_error *error) {
  laze_library *library;
  LAZE_TRY(laze_library_get(self->routine->op->context, &library, error));
  LAZE_TRY(laze_library_read_layout(schema_of(self), self->given, self->operands, self->values, self->first, error));
  return atomic_load(&library->checks) ? run_checked(self, error) : run_plainly(self, error);
}

laze_status laze_library_routine_run(void *self, const laze_opaque_call *call, laze_error *error) {
  kernel_call running = {.routine = self, .given = call};
  LAZE_TRY(begin(&running, error));
  const laze_status status = run(&running, error);
  end(&running);
  return status;
}

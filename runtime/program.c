#include "runtime/program_internal.h"

#include "base/checked.h"

#include <string.h>

laze_status laze_program_create(laze_context *context, laze_size_table *sizes, laze_program **out, laze_error *error) {
  laze_program *program = laze_alloc_zero(context, sizeof *program);
  if (!program) {
    laze_size_table_destroy(sizes);
    return laze_fail_memory(error, "a program", sizeof *program);
  }
  program->references = 1;
  program->context = context;
  program->sizes = sizes;
  laze_arena_init(&program->arena, context);
  *out = program;
  return LAZE_OK;
}

void laze_program_retain(laze_program *program) {
  atomic_fetch_add_explicit(&program->references, 1, memory_order_relaxed);
}

void laze_program_release(laze_program *program) {
  if (!program || atomic_fetch_sub_explicit(&program->references, 1, memory_order_acq_rel) != 1) return;
  for (int64_t i = 0; i < program->step_count; i++) laze_kernel_release(program->steps[i].kernel);
  laze_free(program->context, program->values);
  laze_free(program->context, program->steps);
  laze_free(program->context, program->inputs);
  laze_free(program->context, program->outputs);
  laze_size_table_destroy(program->sizes);
  laze_arena_deinit(&program->arena);
  laze_free(program->context, program);
}

laze_size_table *laze_program_sizes(laze_program *program) {
  return program->sizes;
}
void laze_program_set_node_count(laze_program *program, int64_t count) {
  program->node_count = count;
}
int32_t laze_program_input_count(const laze_program *program) {
  return (int32_t)program->input_count;
}
int32_t laze_program_output_count(const laze_program *program) {
  return (int32_t)program->output_count;
}
int32_t laze_program_step_count(const laze_program *program) {
  return (int32_t)program->step_count;
}

static laze_status append_number(laze_program *program, int32_t **list, int64_t *count, int64_t *capacity,
                                 int32_t value, laze_error *error) {
  LAZE_TRY(laze_grow(program->context, (void **)list, capacity, *count + 1, sizeof **list, error));
  (*list)[(*count)++] = value;
  return LAZE_OK;
}

static laze_status copy_constant(laze_program *program, const laze_type *type, const void *data, const void **out,
                                 laze_error *error) {
  laze_size elements;
  int64_t bytes;
  LAZE_TRY(laze_type_elements(program->sizes, type, &elements, error));
  if (!laze_size_is_constant(elements) || laze_mul_overflows(elements, laze_dtype_size(type->dtype), &bytes))
    return laze_fail(error, LAZE_INTERNAL, "a constant of a program must have constant sizes");
  *out = laze_arena_copy(&program->arena, data, bytes);
  return *out ? LAZE_OK : laze_fail_memory(error, "a constant", bytes);
}

laze_status laze_program_add_value(laze_program *program, laze_value_role role, const laze_type *type, const void *data,
                                   int32_t *out, laze_error *error) {
  LAZE_TRY(laze_grow(program->context, (void **)&program->values, &program->value_capacity, program->value_count + 1,
                     sizeof *program->values, error));
  program_value value = {.role = role, .type = *type, .first_step = -1, .last_step = -1};
  int32_t number = (int32_t)program->value_count;
  if (role == LAZE_ROLE_CONSTANT) LAZE_TRY(copy_constant(program, type, data, &value.data, error));
  if (role == LAZE_ROLE_INPUT) {
    value.number = (int32_t)program->input_count;
    LAZE_TRY(append_number(program, &program->inputs, &program->input_count, &program->input_capacity, number, error));
  }
  if (role == LAZE_ROLE_OUTPUT) {
    value.number = (int32_t)program->output_count;
    LAZE_TRY(
        append_number(program, &program->outputs, &program->output_count, &program->output_capacity, number, error));
  }
  program->values[program->value_count++] = value;
  *out = number;
  return LAZE_OK;
}

laze_status laze_program_add_output_alias(laze_program *program, int32_t value, laze_error *error) {
  return append_number(program, &program->outputs, &program->output_count, &program->output_capacity, value, error);
}

static void note_use(laze_program *program, int32_t value, int32_t step) {
  program_value *used = &program->values[value];
  if (used->first_step < 0) used->first_step = step;
  used->last_step = step;
}

laze_status laze_program_add_step(laze_program *program, const laze_step *given, laze_error *error) {
  LAZE_TRY(laze_grow(program->context, (void **)&program->steps, &program->step_capacity, program->step_count + 1,
                     sizeof *program->steps, error));
  laze_step step = *given;
  step.buffers =
      laze_arena_copy(&program->arena, given->buffers, given->buffer_count * (int64_t)sizeof *given->buffers);
  step.sizes = laze_arena_copy(&program->arena, given->sizes, given->size_count * (int64_t)sizeof *given->sizes);
  step.label = laze_arena_copy_string(&program->arena, given->label);
  int64_t row = given->buffer_count - given->write_count + 1;
  if (given->dependences)
    step.dependences = laze_arena_copy(&program->arena, given->dependences, given->write_count * row);
  if (!step.buffers || !step.sizes || !step.label || (given->dependences && !step.dependences))
    return laze_fail_memory(error, "a step of a program", -1);
  for (int32_t i = 0; i < step.buffer_count; i++) note_use(program, step.buffers[i], (int32_t)program->step_count);
  laze_kernel_retain(step.kernel);
  program->steps[program->step_count++] = step;
  program->fallback_count += step.fallback;
  if (step.buffer_count > program->most_buffers) program->most_buffers = step.buffer_count;
  return LAZE_OK;
}

/* Binding */

static laze_status bind_value(const laze_program *program, const program_value *value, const int64_t *bindings,
                              bound_value *out, laze_error *error) {
  int64_t bytes = laze_dtype_size(value->type.dtype);
  bool empty = false, overflows = false;
  for (int axis = 0; axis < value->type.rank; axis++) {
    int64_t size;
    LAZE_TRY(laze_size_evaluate(program->sizes, value->type.sizes[axis], bindings, &size, error));
    empty = empty || size == 0;
    if (size < 0) return laze_fail(error, LAZE_OUT_OF_RANGE, "a tensor has size %lld", (long long)size);
    overflows = overflows || (size > 0 && laze_mul_overflows(bytes, size, &bytes));
  }
  if (overflows && !empty)
    return laze_fail(error, LAZE_OUT_OF_MEMORY, "a tensor of more than 2^63 bytes does not fit memory");
  out->bytes = empty ? 0 : bytes;
  return LAZE_OK;
}

static laze_status bind_step(laze_executable *executable, const laze_step *step, const int64_t *bindings,
                             bound_step *out, laze_error *error) {
  const laze_size_table *table = executable->program->sizes;
  int64_t *sizes = laze_arena_alloc_array(&executable->arena, step->size_count, sizeof *sizes);
  if (!sizes) return laze_fail_memory(error, "the sizes of a step", step->size_count);
  for (int32_t i = 0; i < step->size_count; i++)
    LAZE_TRY(laze_size_evaluate(table, step->sizes[i], bindings, &sizes[i], error));
  out->sizes = sizes;
  LAZE_TRY(laze_size_evaluate(table, step->domain, bindings, &out->domain, error));
  LAZE_TRY(laze_size_evaluate(table, step->scratch, bindings, &out->scratch, error));
  LAZE_TRY(laze_size_evaluate(table, step->work, bindings, &out->work, error));
  out->scratch = (out->scratch + LAZE_BUFFER_ALIGNMENT - 1) / LAZE_BUFFER_ALIGNMENT * LAZE_BUFFER_ALIGNMENT;
  if (out->scratch > executable->scratch_bytes) executable->scratch_bytes = out->scratch;
  return LAZE_OK;
}

static laze_status bind_output(const laze_program *program, int64_t index, const int64_t *bindings, laze_type *out,
                               laze_error *error) {
  *out = program->values[program->outputs[index]].type;
  for (int axis = 0; axis < out->rank; axis++)
    LAZE_TRY(laze_size_evaluate(program->sizes, out->sizes[axis], bindings, &out->sizes[axis], error));
  return LAZE_OK;
}

static laze_status bind(laze_executable *executable, const int64_t *bindings, laze_error *error) {
  const laze_program *program = executable->program;
  laze_arena *arena = &executable->arena;
  executable->values = laze_arena_alloc_array(arena, program->value_count, sizeof *executable->values);
  executable->steps = laze_arena_alloc_array(arena, program->step_count, sizeof *executable->steps);
  executable->output_types = laze_arena_alloc_array(arena, program->output_count, sizeof *executable->output_types);
  if (!executable->values || !executable->steps || !executable->output_types)
    return laze_fail_memory(error, "an executable", -1);
  for (int64_t i = 0; i < program->value_count; i++)
    LAZE_TRY(bind_value(program, &program->values[i], bindings, &executable->values[i], error));
  for (int64_t i = 0; i < program->step_count; i++)
    LAZE_TRY(bind_step(executable, &program->steps[i], bindings, &executable->steps[i], error));
  for (int64_t i = 0; i < program->output_count; i++)
    LAZE_TRY(bind_output(program, i, bindings, &executable->output_types[i], error));
  return laze_plan_memory(program, executable->values, &executable->temporary_bytes, error);
}

laze_status laze_executable_create(laze_program *program, const int64_t *bindings, laze_executable **out,
                                   laze_error *error) {
  laze_executable *executable = laze_alloc_zero(program->context, sizeof *executable);
  *out = NULL;
  if (!executable) return laze_fail_memory(error, "an executable", sizeof *executable);
  executable->references = 1;
  executable->program = program;
  laze_program_retain(program);
  laze_arena_init(&executable->arena, program->context);
  laze_status status = bind(executable, bindings, error);
  if (status != LAZE_OK)
    laze_executable_release(executable);
  else
    *out = executable;
  return status;
}

void laze_executable_retain(laze_executable *executable) {
  atomic_fetch_add_explicit(&executable->references, 1, memory_order_relaxed);
}

void laze_executable_release(laze_executable *executable) {
  if (!executable || atomic_fetch_sub_explicit(&executable->references, 1, memory_order_acq_rel) != 1) return;
  laze_context *context = executable->program->context;
  laze_arena_deinit(&executable->arena);
  laze_program_release(executable->program);
  laze_free(context, executable);
}

laze_program *laze_executable_program(laze_executable *executable) {
  return executable->program;
}
int64_t laze_executable_temporary_bytes(const laze_executable *executable) {
  return executable->temporary_bytes;
}
void laze_executable_output_type(const laze_executable *executable, int32_t index, laze_type *out) {
  *out = executable->output_types[index];
}

/* Building a program: values, steps in order, which steps touch a value (for the memory plan), which checks an output
 * depends on. Finished, it keeps only the sizes that it uses. */
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
  laze_metrics_add(laze_context_metrics(program->context), LAZE_METRIC_PROGRAM_CACHE_BYTES, -program->bytes);
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
const laze_step *laze_program_step(const laze_program *program, int32_t index) {
  return &program->steps[index];
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

/* Neighbouring values often have the same shape. */
static const laze_size *copy_sizes(laze_program *program, const laze_type *type) {
  int64_t bytes = type->rank * (int64_t)sizeof *type->sizes;
  const program_value *last = program->value_count > 0 ? &program->values[program->value_count - 1] : NULL;
  if (last && last->rank == type->rank && memcmp(last->sizes, type->sizes, (size_t)bytes) == 0) return last->sizes;
  return laze_arena_copy(&program->arena, type->sizes, bytes);
}

laze_status laze_program_add_value(laze_program *program, laze_value_role role, const laze_type *type, const void *data,
                                   int32_t *out, laze_error *error) {
  LAZE_TRY(laze_grow(program->context, (void **)&program->values, &program->value_capacity, program->value_count + 1,
                     sizeof *program->values, error));
  program_value value = {
      .role = role, .kind = type->kind, .dtype = type->dtype, .rank = type->rank, .first_step = -1, .last_step = -1};
  value.sizes = copy_sizes(program, type);
  if (!value.sizes) return laze_fail_memory(error, "a value of a program", -1);
  int32_t number = value.place = (int32_t)program->value_count;
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

void program_note_use(laze_program *program, int32_t value, int32_t step) {
  program_value *used = &program->values[value];
  if (used->first_step < 0) used->first_step = step;
  used->last_step = step;
}

static laze_status copy_origins(laze_program *program, const laze_step *given, laze_step *step, laze_error *error) {
  laze_arena *arena = &program->arena;
  step->origins = laze_arena_copy(arena, given->origins, given->origin_count * (int64_t)sizeof *given->origins);
  if (given->makers)
    step->makers = laze_arena_copy(arena, given->makers, given->write_count * (int64_t)sizeof *given->makers);
  step->checks = laze_arena_copy(arena, given->checks, given->check_count * (int64_t)sizeof *given->checks);
  if (step->origins && !step->makers == !given->makers && step->checks) return LAZE_OK;
  return laze_fail_memory(error, "a step of a program", -1);
}

static laze_status copy_rows(laze_program *program, laze_step *step, laze_error *error) {
  if (!step->rows) return LAZE_OK;
  laze_step_rows *rows = laze_arena_copy(&program->arena, step->rows, sizeof *rows);
  if (!rows) return laze_fail_memory(error, "a step of a program", -1);
  rows->buffers = laze_arena_copy(&program->arena, rows->buffers, step->buffer_count * (int64_t)sizeof *rows->buffers);
  step->rows = rows;
  return rows->buffers ? LAZE_OK : laze_fail_memory(error, "a step of a program", -1);
}

laze_status laze_program_add_step(laze_program *program, const laze_step *given, laze_error *error) {
  LAZE_TRY(laze_grow(program->context, (void **)&program->steps, &program->step_capacity, program->step_count + 1,
                     sizeof *program->steps, error));
  laze_step step = *given;
  step.buffers =
      laze_arena_copy(&program->arena, given->buffers, given->buffer_count * (int64_t)sizeof *given->buffers);
  step.sizes = laze_arena_copy(&program->arena, given->sizes, given->size_count * (int64_t)sizeof *given->sizes);
  step.label = laze_arena_copy_string(&program->arena, given->label);
  if (!step.buffers || !step.sizes || !step.label) return laze_fail_memory(error, "a step of a program", -1);
  step.defines =
      laze_arena_copy(&program->arena, given->defines, given->define_count * (int64_t)sizeof *given->defines);
  if (given->define_count > 0 && !step.defines) return laze_fail_memory(error, "a step of a program", -1);
  LAZE_TRY(copy_origins(program, given, &step, error));
  LAZE_TRY(copy_rows(program, &step, error));
  for (int32_t i = 0; i < step.buffer_count; i++)
    program_note_use(program, step.buffers[i], (int32_t)program->step_count);
  if (step.updates) program_note_use(program, step.updated, (int32_t)program->step_count);
  if (step.kernel) laze_kernel_retain(step.kernel);
  program->steps[program->step_count++] = step;
  program->fallback_count += step.interpreted != NULL;
  if (step.buffer_count > program->most_buffers) program->most_buffers = step.buffer_count;
  if (step.check_count > program->most_checks) program->most_checks = step.check_count;
  return LAZE_OK;
}

static void each_row_size(const laze_step *step, void (*visit)(laze_size_compaction *compaction, laze_size *size),
                          laze_size_compaction *compaction) {
  laze_step_rows *rows = (laze_step_rows *)(uintptr_t)step->rows;
  if (!rows) return;
  laze_size *sizes[] = {&rows->batches, &rows->count, &rows->height, &rows->blocks};
  for (int k = 0; k < 4; k++) visit(compaction, sizes[k]);
  for (int32_t i = 0; i < step->buffer_count; i++) {
    laze_row_strides *strides = (laze_row_strides *)(uintptr_t)&rows->buffers[i];
    visit(compaction, &strides->batch);
    visit(compaction, &strides->row);
  }
}

/* Calls `visit` for every size of the program. A list that several values share is visited once. */
static void each_size(laze_program *program, void (*visit)(laze_size_compaction *compaction, laze_size *size),
                      laze_size_compaction *compaction) {
  for (int64_t i = 0; i < program->value_count; i++) {
    const program_value *value = &program->values[i];
    if (i > 0 && value->rank == value[-1].rank && value->sizes == value[-1].sizes) continue;
    for (int axis = 0; axis < value->rank; axis++) visit(compaction, (laze_size *)(uintptr_t)&value->sizes[axis]);
  }
  for (int64_t i = 0; i < program->step_count; i++) {
    laze_step *step = &program->steps[i];
    for (int32_t j = 0; j < step->size_count; j++) visit(compaction, (laze_size *)(uintptr_t)&step->sizes[j]);
    visit(compaction, &step->domain);
    visit(compaction, &step->scratch);
    visit(compaction, &step->work);
    visit(compaction, &step->bytes);
    each_row_size(step, visit, compaction);
    for (int32_t j = 0; j < step->define_count; j++) visit(compaction, (laze_size *)(uintptr_t)&step->defines[j].size);
  }
}

static void need(laze_size_compaction *compaction, laze_size *size) {
  laze_size_compaction_need(compaction, *size);
}
static void map(laze_size_compaction *compaction, laze_size *size) {
  *size = laze_size_compaction_map(compaction, *size);
}

/* Scheduling leaves many expressions behind that no step has. Without memory they stay. */
static void compact_sizes(laze_program *program) {
  laze_size_compaction compaction;
  if (laze_size_compaction_begin(&compaction, program->sizes, NULL) == LAZE_OK) {
    each_size(program, need, &compaction);
    laze_size_compaction_finish(&compaction);
    each_size(program, map, &compaction);
  }
  laze_size_compaction_deinit(&compaction);
}

static void trim(laze_program *program) {
  laze_context *context = program->context;
  compact_sizes(program);
  laze_trim(context, (void **)&program->values, &program->value_capacity, program->value_count,
            sizeof *program->values);
  laze_trim(context, (void **)&program->steps, &program->step_capacity, program->step_count, sizeof *program->steps);
  laze_trim(context, (void **)&program->inputs, &program->input_capacity, program->input_count,
            sizeof *program->inputs);
  laze_trim(context, (void **)&program->outputs, &program->output_capacity, program->output_count,
            sizeof *program->outputs);
}

void laze_program_finish(laze_program *program) {
  program_share_places(program, 0, (int32_t)program->step_count);
  program_find_launches(program);
  trim(program);
  int64_t bytes = (int64_t)sizeof *program + program->arena.bytes + laze_size_table_bytes(program->sizes) +
                  program->value_capacity * (int64_t)sizeof *program->values +
                  program->step_capacity * (int64_t)sizeof *program->steps +
                  (program->input_capacity + program->output_capacity) * (int64_t)sizeof(int32_t);
  for (int64_t i = 0; i < program->step_count; i++) {
    const laze_kernel *kernel = program->steps[i].kernel;
    if (kernel && !kernel->counted) bytes += laze_kernel_weight(kernel);
  }
  program->bytes = bytes;
  laze_metrics_add(laze_context_metrics(program->context), LAZE_METRIC_PROGRAM_CACHE_BYTES, bytes);
}

int64_t laze_program_bytes(const laze_program *program) {
  return program->bytes;
}

laze_status laze_program_set_checks(laze_program *program, const int32_t *nodes, int64_t count, const uint64_t *depends,
                                    laze_error *error) {
  int64_t words = program->output_count * ((count + 63) / 64);
  program->checked = laze_arena_copy(&program->arena, nodes, count * (int64_t)sizeof *nodes);
  if (depends) program->depends = laze_arena_copy(&program->arena, depends, words * (int64_t)sizeof *depends);
  if (!program->checked || !program->depends != !depends) return laze_fail_memory(error, "the checks of a program", -1);
  program->checked_count = count;
  return LAZE_OK;
}

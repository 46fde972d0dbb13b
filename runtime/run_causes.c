/* How a failure spreads through a run:
 *
 *   step 0   a = index_select(x, i)     an index is out of range: a fails with error 0
 *   step 1   b = relu(c)                computed
 *   step 2   d = add(a, b), e = neg(b)  one kernel, which still runs for e: d fails with error 0
 *   step 3   f = sum(d)                 skipped: f fails with error 0
 *
 * Memory of a failed value is there, and kernels check every index they take from memory: running on is safe.
 */
#include "runtime/program_internal.h"

#include <string.h>

laze_status laze_causes_init(run_causes *causes, laze_run_report *report, const laze_program *program,
                             laze_error *error) {
  *causes = (run_causes){.report = report};
  if (!report) return LAZE_OK;
  *report = (laze_run_report){.context = program->context};
  report->causes = laze_alloc_array(program->context, program->output_count, sizeof *report->causes);
  causes->of_value = laze_alloc_array(program->context, program->value_count, sizeof *causes->of_value);
  if (!report->causes || !causes->of_value) return laze_fail_memory(error, "running a graph", program->value_count);
  for (int64_t i = 0; i < program->value_count; i++) causes->of_value[i] = LAZE_CAUSE_NONE;
  return LAZE_OK;
}

void laze_causes_deinit(run_causes *causes) {
  if (causes->of_value) laze_free(causes->report->context, causes->of_value);
}

void laze_run_report_deinit(laze_run_report *report) {
  if (!report->context) return;
  laze_free(report->context, report->errors);
  laze_free(report->context, report->causes);
  *report = (laze_run_report){0};
}

static laze_status add_error(laze_run_report *report, const laze_error *failure, int32_t *out, laze_error *error) {
  LAZE_TRY(laze_grow(report->context, (void **)&report->errors, &report->error_capacity, report->error_count + 1,
                     sizeof *report->errors, error));
  *out = (int32_t)report->error_count;
  report->errors[report->error_count++] = *failure;
  return LAZE_OK;
}

laze_status laze_causes_fail_value(run_causes *causes, int64_t value, const laze_error *failure, laze_error *error) {
  return add_error(causes->report, failure, &causes->of_value[value], error);
}

/* The cause of what depends on both: an error before none that is known, the first of two errors. */
static int32_t join(int32_t a, int32_t b) {
  if (a >= 0 && b >= 0) return a < b ? a : b;
  if (a >= 0 || b >= 0) return a >= 0 ? a : b;
  return a == LAZE_CAUSE_OPEN ? a : b;
}

static const uint8_t *dependences_of(const laze_step *step, int32_t write) {
  return step->dependences ? step->dependences + write * (step->buffer_count - step->write_count + 1) : NULL;
}

bool laze_causes_pass_on(run_causes *causes, const laze_step *step) {
  int32_t reads = step->buffer_count - step->write_count, without_memory = LAZE_CAUSE_NONE;
  const int32_t *writes = step->buffers + reads;
  bool any_left = false;
  for (int32_t w = 0; w < step->write_count; w++) without_memory = join(without_memory, causes->of_value[writes[w]]);
  for (int32_t w = 0; w < step->write_count; w++) {
    const uint8_t *depends = dependences_of(step, w);
    int32_t cause = without_memory;
    for (int32_t r = 0; r < reads; r++)
      if (!depends || depends[r]) cause = join(cause, causes->of_value[step->buffers[r]]);
    causes->of_value[writes[w]] = cause;
    any_left = any_left || cause == LAZE_CAUSE_NONE;
  }
  return any_left;
}

laze_status laze_causes_fail_check(run_causes *causes, const laze_step *step, const laze_error *failure,
                                   laze_error *error) {
  int32_t reads = step->buffer_count - step->write_count, number = LAZE_CAUSE_NONE;
  for (int32_t w = 0; w < step->write_count; w++) {
    const uint8_t *depends = dependences_of(step, w);
    int32_t *cause = &causes->of_value[step->buffers[reads + w]];
    int checks = depends ? depends[reads] : LAZE_DEPENDS_ON_ALL_CHECKS;
    if (*cause != LAZE_CAUSE_NONE || checks == LAZE_DEPENDS_ON_NO_CHECK) continue;
    /* Another check may have failed as well, or only because of a read that had failed. */
    *cause = LAZE_CAUSE_OPEN;
    if (checks != LAZE_DEPENDS_ON_ALL_CHECKS) continue;
    if (number < 0) LAZE_TRY(add_error(causes->report, failure, &number, error));
    *cause = number;
  }
  return LAZE_OK;
}

void laze_causes_report(const run_causes *causes, const laze_program *program) {
  for (int64_t i = 0; i < program->output_count; i++) causes->report->causes[i] = causes->of_value[program->outputs[i]];
}

/* Checks that failed while an executable ran:
 *
 *   records of a call, one for each check ─> the run's: by node, and of a node the lowest position
 *
 * All steps run whatever fails, but for operators with regions (`needs_success`): a loop over wrong values might not
 * end. So what is reported does not depend on the order of the others: both backends name the same node and position.
 * Memory of wrong values is there, and kernels check every index they take from it: running on is safe.
 */
#include "runtime/program_internal.h"

#include "base/checked.h"

#include <string.h>

/* Where `node` is among the failures by ascending node, or where it would be. */
static int64_t find_place(const program_run *run, int32_t node) {
  int64_t low = 0, high = run->failure_count;
  while (low < high) {
    int64_t middle = (low + high) / 2;
    if (run->failures[middle].node < node)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static laze_status note(program_run *run, const laze_check_failure *failure, laze_error *error) {
  int64_t at = find_place(run, failure->node);
  if (at < run->failure_count && run->failures[at].node == failure->node) {
    if (failure->position < run->failures[at].position) run->failures[at] = *failure;
    return LAZE_OK;
  }
  LAZE_TRY(laze_grow(run->executable->program->context, (void **)&run->failures, &run->failure_capacity,
                     run->failure_count + 1, sizeof *run->failures, error));
  memmove(&run->failures[at + 1], &run->failures[at], (size_t)(run->failure_count - at) * sizeof *run->failures);
  run->failures[at] = *failure;
  run->failure_count++;
  return LAZE_OK;
}

/* What was said of a failure stays until the run ends. */
static laze_status keep_reason(program_run *run, const laze_error *reason, laze_check_failure *failure,
                               laze_error *error) {
  failure->reason = laze_arena_copy(&run->reasons, reason, sizeof *reason);
  return failure->reason ? LAZE_OK : laze_fail_memory(error, "running a graph", -1);
}

laze_status program_run_note(program_run *run, const laze_step *step, const laze_kernel_failure *records,
                             laze_error *error) {
  for (int32_t i = 0; i < step->check_count; i++) {
    if (records[i].position == INT64_MAX) continue;
    laze_check_failure failure = {.node = step->origins[step->checks[i]].node,
                                  .position = records[i].position,
                                  .index = records[i].index,
                                  .size = records[i].size,
                                  .length = records[i].length};
    if (failure.position == LAZE_KERNEL_FAILED) LAZE_TRY(keep_reason(run, run->reason, &failure, error));
    LAZE_TRY(note(run, &failure, error));
  }
  return LAZE_OK;
}

laze_status program_run_note_error(program_run *run, const laze_origin *origin, const laze_error *reason,
                                   laze_error *error) {
  laze_check_failure failure = {.node = origin->node};
  LAZE_TRY(keep_reason(run, reason, &failure, error));
  return note(run, &failure, error);
}

/* What the program knows of a node that may fail. */
static laze_origin find_origin(const laze_program *program, int32_t node) {
  for (int64_t i = 0; i < program->step_count; i++)
    for (int32_t k = 0; k < program->steps[i].origin_count; k++)
      if (program->steps[i].origins[k].node == node) return program->steps[i].origins[k];
  return (laze_origin){.node = node};
}

static laze_status fail(const program_run *run, const laze_check_failure *failure, laze_error *error) {
  laze_origin origin = find_origin(run->executable->program, failure->node);
  laze_site site = laze_site_find(run->request->sites, &origin);
  return laze_fail_index(error, &site, failure);
}

/* Whether output `index` depends on a node that failed. */
static bool depends_on(const laze_program *program, int64_t index, int32_t node) {
  int64_t words = (program->checked_count + 63) / 64;
  for (int64_t k = 0; program->depends && k < program->checked_count; k++)
    if (program->checked[k] == node) return program->depends[index * words + k / 64] >> (k % 64) & 1;
  return true;
}

void laze_run_report_deinit(laze_run_report *report) {
  if (!report->context) return;
  laze_free(report->context, report->errors);
  laze_free(report->context, report->causes);
  *report = (laze_run_report){0};
}

laze_status program_run_add_error(program_run *run, const laze_error *failure, int32_t *out, laze_error *error) {
  laze_run_report *report = run->request->report;
  int64_t outputs = run->executable->program->output_count;
  if (!report->causes) {
    report->causes = laze_alloc_array(report->context, outputs, sizeof *report->causes);
    if (!report->causes) return laze_fail_memory(error, "running a graph", -1);
    for (int64_t i = 0; i < outputs; i++) report->causes[i] = LAZE_CAUSE_NONE;
  }
  LAZE_TRY(laze_grow(report->context, (void **)&report->errors, &report->error_capacity, report->error_count + 1,
                     sizeof *report->errors, error));
  *out = (int32_t)report->error_count;
  report->errors[report->error_count++] = *failure;
  return LAZE_OK;
}

/* Gives the outputs that depend on a failed node, and have no error yet, its error. */
static laze_status report_node(program_run *run, const laze_check_failure *failure, laze_error *error) {
  laze_run_report *report = run->request->report;
  const laze_program *program = run->executable->program;
  int32_t number = LAZE_CAUSE_NONE;
  for (int64_t i = 0; i < program->output_count; i++) {
    laze_error message;
    if (report->causes && report->causes[i] != LAZE_CAUSE_NONE) continue;
    if (!depends_on(program, i, failure->node)) continue;
    if (number == LAZE_CAUSE_NONE) {
      (void)fail(run, failure, &message);
      LAZE_TRY(program_run_add_error(run, &message, &number, error));
    }
    report->causes[i] = number;
    laze_buffer_release(run->request->outputs[i]);
    run->request->outputs[i] = NULL;
  }
  return LAZE_OK;
}

laze_status program_run_verdict(program_run *run, laze_error *error) {
  if (!run->request->report) return run->failure_count == 0 ? LAZE_OK : fail(run, &run->failures[0], error);
  for (int64_t k = 0; k < run->failure_count; k++) LAZE_TRY(report_node(run, &run->failures[k], error));
  return LAZE_OK;
}

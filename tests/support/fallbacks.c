#include "tests/support/fallbacks.h"

#include <string.h>

const test_fallback test_fallbacks[] = {
    {NULL, NULL, NULL},
};

/* Of operators that a test forces (laze_force_fallback) nothing is expected. */
static bool is_listed(const laze_step *step) {
  if (strncmp(step->interpreted, "it is told to", strlen("it is told to")) == 0) return true;
  for (const test_fallback *entry = test_fallbacks; entry->op; entry++)
    if (!strcmp(entry->op, step->label) && !strcmp(entry->reason, step->interpreted)) return true;
  return false;
}

laze_status test_check_fallbacks(const laze_program *program, laze_error *error) {
  for (int32_t i = 0; i < laze_program_step_count(program); i++) {
    const laze_step *step = laze_program_step(program, i);
    if (step->interpreted && !is_listed(step))
      return laze_fail(error, LAZE_INTERNAL,
                       "%s runs on the interpreter (%s), and tests/support/fallbacks.c does not list it", step->label,
                       step->interpreted);
  }
  return LAZE_OK;
}

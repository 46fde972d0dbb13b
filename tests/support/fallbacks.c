#include "tests/support/fallbacks.h"

#include <string.h>

const test_fallback test_fallbacks[] = {
    /* A region of single elements is a loop in loop IR, with no loop that ends by a value and no kernels inside. */
    {"reduce", "its region holds a loop",
     "graph @g(%x: f32[3], %i: f32[]) -> f32[] {\n"
     "  %0 = reduce %x, [%i], dim=[0] (%a: f32[], %b: f32[]) {\n"
     "    %1:2 = while [%a, %b] (%p: f32[], %q: f32[]) {\n      %2 = lt %p, %q\n      return %2\n"
     "    } (%p: f32[], %q: f32[]) {\n      %3 = add %p, 1.0\n      return %3, %q\n    }\n    return %1#0\n  }\n"
     "  return %0\n}\n"},
    {"reduce", "its region does more than compute elements",
     "graph @g(%x: f32[3], %i: f32[]) -> f32[] {\n"
     "  %0 = reduce %x, [%i], dim=[0] (%a: f32[], %b: f32[]) {\n    %1 = sum %a\n    %2 = add %1, %b\n    return %2\n"
     "  }\n  return %0\n}\n"},
    {"reduce", "its region makes more than single elements",
     "graph @g(%x: f32[3], %i: f32[]) -> f32[] {\n"
     "  %0 = reduce %x, [%i], dim=[0] (%a: f32[], %b: f32[]) {\n    %1 = expand %a, size=[2]\n"
     "    %2 = sum %1\n    %3 = add %2, %b\n    return %3\n  }\n  return %0\n}\n"},
};
const int test_fallback_count = sizeof test_fallbacks / sizeof *test_fallbacks;

static bool is_listed(const laze_step *step) {
  for (int i = 0; i < test_fallback_count; i++)
    if (!strcmp(test_fallbacks[i].op, step->label) && !strcmp(test_fallbacks[i].reason, step->interpreted)) return true;
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

/* Scans: each element of the result is the state after one more element along a dim, from the initial value on.
 *
 *   self [[1 2 3]      cumsum, dim 0  [[1 2 3]      dim 1  [[1 3  6]
 *         [4 5 6]]                     [5 7 9]]             [4 9 15]]
 *
 * Neighbouring places behind the dim are taken some at a time, which leaves each of them its order.
 */
#include "codegen/interp/unit.h"

#include "codegen/order.h"

#include <string.h>

enum { ELEMENT_SIZE = 8, CHUNK = 64 };

typedef struct {
  laze_eval_function combine, convert, finish;
  int64_t size, from, to; /* of a state, an element and an element of the result, in bytes */
  int64_t along, behind;  /* elements */
  char initial[ELEMENT_SIZE];
} scan;

/* `count` neighbouring places, from `self` and `result` on. */
static void scan_lines(const scan *s, const char *self, char *result, int64_t count) {
  _Alignas(16) char states[CHUNK * ELEMENT_SIZE], values[CHUNK * ELEMENT_SIZE];
  const char *const operands[] = {states, values};
  const int64_t steps[] = {s->size, s->size};
  for (int64_t i = 0; i < count; i++) memcpy(states + i * s->size, s->initial, (size_t)s->size);
  for (int64_t at = 0; at < s->along; at++, self += s->behind * s->from, result += s->behind * s->to) {
    const char *const state = states;
    s->convert(count, &self, &s->from, values, s->size);
    s->combine(count, operands, steps, states, s->size);
    s->finish(count, &state, &s->size, result, s->to);
  }
}

void interp_execute_scan(const interp_run *run, const interp_node *node) {
  interp_tensor self = interp_operand(run, node, 0), result = interp_result(run, node, 0);
  laze_dtype state = laze_reduction_state(node->info, result.dtype);
  int axis = interp_axis(node, laze_op_argument(node->info, "dim")->position, self.rank);
  int64_t count = interp_elements(&self);
  if (count == 0) return;
  scan s = {.combine = node->eval,
            .convert = laze_eval_find_conversion(self.dtype, state),
            .finish = laze_eval_find_conversion(state, result.dtype),
            .size = laze_dtype_size(state),
            .from = laze_dtype_size(self.dtype),
            .to = laze_dtype_size(result.dtype),
            .along = self.rank > 0 ? self.dims[axis] : 1,
            .behind = 1};
  laze_scalar_store(laze_initial_value(node->info->initial, state), state, s.initial, 0);
  for (int i = axis + 1; i < self.rank; i++) s.behind *= self.dims[i];
  for (int64_t at = 0; at < count; at += s.along * s.behind)
    for (int64_t line = 0; line < s.behind; line += CHUNK) {
      int64_t lines = s.behind - line < CHUNK ? s.behind - line : CHUNK;
      scan_lines(&s, self.data + (at + line) * s.from, result.data + (at + line) * s.to, lines);
    }
}

/* Operators with regions, with an explicit stack: a frame for each node whose region is running.
 *
 *   begin ──> enter a region ──> its nodes, one after the other ──> end of region ──> enter again, or leave
 *
 * What goes around a loop rests in the node's results between two runs of a region: a region may return its own
 * parameters in another order, and only the results' memory is certain to be nobody's source.
 */
#include "codegen/interp/unit.h"

#include "ir/op.gen.h"

#include <string.h>

struct interp_frame {
  const interp_node *node;
  const interp_block *block; /* the region that runs; NULL: done */
  int32_t next;              /* node of the block */
  int64_t outer, inner;      /* reduce: element of the result, and how many it has taken in; scan: round */
};

static void copy_value(const interp_run *run, int32_t to, int32_t from) {
  interp_tensor target = interp_get(run, to), source = interp_get(run, from);
  int64_t bytes = interp_bytes(&source);
  if (bytes > 0 && target.data != source.data) memcpy(target.data, source.data, (size_t)bytes);
}

static void enter(interp_frame *top, int32_t region) {
  top->block = &top->node->regions[region];
  top->next = 0;
}

static void copy_to_parameters(const interp_run *run, const interp_block *block, const int32_t *values) {
  for (int32_t i = 0; i < block->parameter_count; i++) copy_value(run, block->parameters[i], values[i]);
}

static void copy_to_results(const interp_run *run, const interp_frame *top) {
  for (int32_t i = 0; i < top->node->result_count; i++) copy_value(run, top->node->results[i], top->block->results[i]);
}

static bool holds(const interp_run *run, int32_t value) {
  return *interp_get(run, value).data != 0;
}

static void begin_if(const interp_run *run, interp_frame *top) {
  enter(top, holds(run, top->node->operands[0]) ? 0 : 1);
  copy_to_parameters(run, top->block, top->node->operands + 1);
}
static void end_if(const interp_run *run, interp_frame *top) {
  copy_to_results(run, top);
  top->block = NULL;
}

static void begin_while(const interp_run *run, interp_frame *top) {
  for (int32_t i = 0; i < top->node->result_count; i++) copy_value(run, top->node->results[i], top->node->operands[i]);
  enter(top, 0);
  copy_to_parameters(run, top->block, top->node->results);
}
static void end_while(const interp_run *run, interp_frame *top) {
  bool was_condition = top->block == &top->node->regions[0];
  bool stop = was_condition && !holds(run, top->block->results[0]);
  if (!was_condition) copy_to_results(run, top);
  enter(top, was_condition ? 1 : 0);
  if (stop)
    top->block = NULL;
  else
    copy_to_parameters(run, top->block, top->node->results);
}

/* Element `index` along axis 0 of a value, as a place in memory of `bytes` bytes. */
static char *slice_at(const interp_run *run, int32_t value, int64_t index, int64_t *bytes) {
  interp_tensor tensor = interp_get(run, value);
  *bytes = tensor.dims[0] > 0 ? interp_bytes(&tensor) / tensor.dims[0] : 0;
  return tensor.data + index * *bytes;
}

/* States rest in the node's results between two runs of the region, of which round `inner` is next. */
static void next_slice(const interp_run *run, interp_frame *top) {
  const interp_node *node = top->node;
  const interp_block *block = &node->regions[0];
  int64_t length = interp_operand(run, node, node->operand_count - 1).dims[0], bytes;
  top->block = NULL;
  if (top->inner == length) return;
  enter(top, 0);
  for (int32_t i = 0; i < block->parameter_count; i++) {
    if (i < top->node->first_count) {
      copy_value(run, block->parameters[i], node->results[i]);
      continue;
    }
    const char *slice = slice_at(run, node->operands[i], top->inner, &bytes);
    if (bytes > 0) memcpy(interp_get(run, block->parameters[i]).data, slice, (size_t)bytes);
  }
}
static void begin_scan(const interp_run *run, interp_frame *top) {
  top->inner = 0;
  for (int32_t i = 0; i < top->node->first_count; i++) copy_value(run, top->node->results[i], top->node->operands[i]);
  next_slice(run, top);
}
static void end_scan(const interp_run *run, interp_frame *top) {
  for (int32_t i = 0; i < top->node->result_count; i++) {
    int64_t bytes;
    if (i < top->node->first_count) {
      copy_value(run, top->node->results[i], top->block->results[i]);
      continue;
    }
    char *slice = slice_at(run, top->node->results[i], top->inner, &bytes);
    if (bytes > 0) memcpy(slice, interp_get(run, top->block->results[i]).data, (size_t)bytes);
  }
  top->inner++;
  next_slice(run, top);
}

/* Position in self of element `inner` of the reduced axes, for element `outer` of the others. */
static int64_t reduced_position(const interp_node *node, const interp_tensor *self, int64_t outer, int64_t inner) {
  const laze_attribute *dim = &node->attributes[LAZE_REDUCE_DIM];
  int64_t position = 0, stride = 1;
  for (int axis = self->rank - 1; axis >= 0; axis--) {
    bool reduced = false;
    for (int32_t i = 0; i < dim->count; i++)
      reduced = reduced || dim->value.items[i] == axis || dim->value.items[i] + self->rank == axis;
    int64_t *rest = reduced ? &inner : &outer;
    position += *rest % self->dims[axis] * stride;
    *rest /= self->dims[axis];
    stride *= self->dims[axis];
  }
  return position;
}

/* Elements of a state's result, and element `index` of it as a place in memory. */
static char *state_at(const interp_run *run, const interp_node *node, int32_t state, int64_t index) {
  interp_tensor result = interp_result(run, node, state);
  return result.data + index * laze_dtype_size(result.dtype);
}

static void move_states(const interp_run *run, const interp_node *node, int64_t outer, const int32_t *values,
                        bool to_values) {
  for (int32_t i = 0; i < node->result_count; i++) {
    interp_tensor value = interp_get(run, values[i]);
    char *state = state_at(run, node, i, outer);
    memcpy(to_values ? value.data : state, to_values ? state : value.data, (size_t)laze_dtype_size(value.dtype));
  }
}

/* Enters the region for the element at hand; states start anew with each element of the result. */
static void enter_element(const interp_run *run, interp_frame *top) {
  const interp_node *node = top->node;
  interp_tensor self = interp_operand(run, node, 0);
  int64_t size = laze_dtype_size(self.dtype);
  if (top->inner == 0) move_states(run, node, top->outer, node->operands + 1, false);
  enter(top, 0);
  move_states(run, node, top->outer, top->block->parameters, true);
  char *element = interp_get(run, top->block->parameters[node->result_count]).data;
  memcpy(element, self.data + reduced_position(node, &self, top->outer, top->inner) * size, (size_t)size);
}

static void begin_reduce(const interp_run *run, interp_frame *top) {
  interp_tensor self = interp_operand(run, top->node, 0), result = interp_result(run, top->node, 0);
  int64_t elements = interp_elements(&self), results = interp_elements(&result);
  top->block = NULL;
  top->outer = 0;
  top->inner = 0;
  if (elements > 0) enter_element(run, top);
  for (int64_t i = 0; i < results && elements == 0; i++) move_states(run, top->node, i, top->node->operands + 1, false);
}
static void end_reduce(const interp_run *run, interp_frame *top) {
  interp_tensor self = interp_operand(run, top->node, 0), result = interp_result(run, top->node, 0);
  int64_t results = interp_elements(&result), each = interp_elements(&self) / results;
  move_states(run, top->node, top->outer, top->block->results, false);
  if (++top->inner == each) {
    top->inner = 0;
    top->outer++;
  }
  if (top->outer < results)
    enter_element(run, top);
  else
    top->block = NULL;
}

const interp_control interp_control_if = {begin_if, end_if};
const interp_control interp_control_while = {begin_while, end_while};
const interp_control interp_control_scan = {begin_scan, end_scan};
const interp_control interp_control_reduce = {begin_reduce, end_reduce};

/* Whether a check failed: what comes after may be wrong, and a loop over it might not end. */
static bool has_failed(const interp_run *run) {
  for (int64_t i = 0; i < run->unit->check_count; i++)
    if (run->failures[i].position != INT64_MAX) return true;
  return false;
}

/* Whether a region that has ended was that of a loop's iteration, and not of a condition. */
static bool ends_iteration(const interp_frame *top) {
  return top->node->op != LAZE_OP_IF && top->block == &top->node->regions[top->node->info->region_count - 1];
}

/* Whether whoever watches wants no further iteration. */
static bool is_stopped(const interp_run *run, int64_t done) {
  return run->stopped && laze_context_report(run->unit->arena.context, "loop", done, -1, run->stopped) != LAZE_OK;
}

void interp_execute_control(const interp_run *run, const interp_node *node) {
  interp_frame stack[INTERP_MAX_DEPTH + 1];
  int64_t iterations = 0;
  int depth = 0;
  stack[0] = (interp_frame){.node = node};
  interp_find_control(node->op)->begin(run, &stack[0]);
  while (depth >= 0 && !has_failed(run)) {
    interp_frame *top = &stack[depth];
    if (!top->block) {
      depth--;
    } else if (top->next == top->block->node_count) {
      if (ends_iteration(top) && is_stopped(run, ++iterations)) return;
      interp_find_control(top->node->op)->end(run, top);
    } else {
      const interp_node *next = &top->block->nodes[top->next++];
      if (next->execute) {
        next->execute(run, next);
      } else {
        stack[++depth] = (interp_frame){.node = next};
        interp_find_control(next->op)->begin(run, &stack[depth]);
      }
    }
  }
}

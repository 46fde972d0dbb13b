/* The instructions of one instance at the place where the builder stands. */
#include "codegen/schedule/emit.h"

#include "codegen/schedule/group.h"
#include "ir/op.gen.h"

#include <string.h>

int32_t laze_group_emit_own_size(laze_loop_emitter *emitter, laze_size size) {
  return laze_group_emit_size(emitter->scheduler, emitter->kernel, &emitter->numbers, size);
}

/* Index values */

static int32_t add_index(laze_loop_emitter *emitter, int32_t a, int32_t b) {
  if (a < 0) return b;
  return laze_loop_index(emitter->kernel, LAZE_LOOP_INDEX_ADD, a, b);
}

/* `value` times a coefficient, `value` itself where that is 1: the lowering reads stride classes off this form. */
static int32_t scale_index(laze_loop_emitter *emitter, int32_t value, laze_size coefficient) {
  if (coefficient == 1) return value;
  return laze_loop_index(emitter->kernel, LAZE_LOOP_INDEX_MUL, value, laze_group_emit_own_size(emitter, coefficient));
}

int32_t laze_group_emit_value_or_zero(laze_loop_emitter *emitter, int32_t value) {
  return value >= 0 ? value : laze_loop_index_constant(emitter->kernel, 0);
}

static int32_t component_value(laze_loop_emitter *emitter, const laze_component *component) {
  int32_t value = component->offset == 0 ? -1 : laze_group_emit_own_size(emitter, component->offset);
  for (int32_t i = 0; i < component->term_count; i++) {
    int32_t induction = emitter->induction[component->terms[i].axis];
    value = add_index(emitter, value, scale_index(emitter, induction, component->terms[i].coefficient));
  }
  return laze_group_emit_value_or_zero(emitter, value);
}

static void step_access(laze_loop_emitter *emitter, laze_access_state *access, int32_t axis) {
  for (int32_t i = 0; i < access->offset.affine.term_count; i++) {
    const laze_term *term = &access->offset.affine.terms[i];
    if (term->axis == axis)
      access->partial =
          add_index(emitter, access->partial, scale_index(emitter, emitter->induction[axis], term->coefficient));
  }
}

/* Adds the axis just opened to the offsets of everything needed in its loop. */
void laze_group_emit_step(laze_loop_emitter *emitter, int32_t axis) {
  const bool parks = emitter->parked >= 0 && emitter->needed[emitter->parked];
  for (int32_t i = 0; i < emitter->count; i++) {
    int32_t index = emitter->order[i];
    const bool needed = emitter->needed[index], stores = needed || (parks && index == emitter->parked_at);
    if (needed && laze_instance_has_access(laze_group_instance_at(emitter, index)))
      step_access(emitter, &emitter->loads[index], axis);
    if (stores && laze_group_instance_at(emitter, index)->store >= 0)
      step_access(emitter, &emitter->stores[index], axis);
  }
}

/* Values */

static int32_t guard_value(laze_loop_emitter *emitter, const laze_guard *guard, int32_t all) {
  for (; guard; guard = guard->next) {
    int32_t component = component_value(emitter, &guard->component);
    int32_t below = laze_loop_index(emitter->kernel, LAZE_LOOP_INDEX_LESS, component,
                                    laze_group_emit_own_size(emitter, guard->high));
    all = all < 0 ? below : laze_loop_index(emitter->kernel, LAZE_LOOP_AND, all, below);
    if (guard->low == 0) continue;
    int32_t next =
        laze_loop_index(emitter->kernel, LAZE_LOOP_INDEX_ADD, component, laze_loop_index_constant(emitter->kernel, 1));
    int32_t above =
        laze_loop_index(emitter->kernel, LAZE_LOOP_INDEX_LESS, laze_group_emit_own_size(emitter, guard->low), next);
    all = laze_loop_index(emitter->kernel, LAZE_LOOP_AND, all, above);
  }
  return all;
}

int32_t laze_group_emit_access(laze_loop_emitter *emitter, const laze_access_state *access) {
  const laze_offset *offset = &access->offset;
  int32_t at = access->partial;
  for (int32_t i = 0; i < offset->dynamic_count; i++)
    at = add_index(emitter, at, scale_index(emitter, emitter->value[offset->dynamics[i]], offset->coefficients[i]));
  return laze_group_emit_value_or_zero(emitter, at);
}

static int32_t load_value(laze_loop_emitter *emitter, int32_t index) {
  const laze_instance *instance = laze_group_instance_at(emitter, index);
  const laze_offset *offset = &emitter->loads[index].offset;
  int32_t at = laze_group_emit_access(emitter, &emitter->loads[index]), guard = -1;
  for (int32_t i = 0; i < offset->dynamic_count; i++) {
    int32_t dynamic = emitter->value[offset->dynamics[i]];
    if (laze_group_instance_at(emitter, offset->dynamics[i])->length != 0) continue;
    /* The axis may have no element at all, where no slice of it does. */
    int32_t size = laze_group_emit_own_size(emitter, laze_group_instance_at(emitter, offset->dynamics[i])->size);
    int32_t inside = laze_loop_index(emitter->kernel, LAZE_LOOP_INDEX_LESS, dynamic, size);
    guard = guard < 0 ? inside : laze_loop_index(emitter->kernel, LAZE_LOOP_AND, guard, inside);
  }
  guard = guard_value(emitter, instance->map->guards, guard);
  return laze_loop_load(emitter->kernel, emitter->buffer[index], at, guard);
}

int32_t laze_group_emit_converted(laze_loop_emitter *emitter, int32_t value, laze_dtype dtype) {
  if (value < 0 || laze_loop_dtype(emitter->kernel, value) == dtype) return value;
  return laze_loop_convert(emitter->kernel, value, dtype);
}

static int32_t element_value(laze_loop_emitter *emitter, int32_t index) {
  const laze_instance *instance = laze_group_instance_at(emitter, index);
  const laze_node *node = laze_graph_node(emitter->scheduler->graph, instance->value);
  const laze_type *types[LAZE_MAX_OPERANDS];
  int32_t operands[LAZE_MAX_OPERANDS];
  laze_call call = laze_node_call(node);
  laze_dtype result = node->types[0]->dtype, compute = result;
  if (laze_op_get(node->op)->compute == LAZE_COMPUTE_CONVERT)
    return laze_group_emit_converted(emitter, emitter->value[instance->operands[0]], result);
  for (int32_t i = 0; i < instance->operand_count; i++)
    types[i] = laze_graph_type(emitter->scheduler->graph, node->operands[i]);
  for (int32_t i = 0; i < instance->operand_count; i++) {
    compute = laze_call_compute_dtype(&call, types, i);
    operands[i] = laze_group_emit_converted(emitter, emitter->value[instance->operands[i]], compute);
  }
  laze_dtype computed = laze_dtype_is_half(result) ? compute : result;
  int32_t value = laze_loop_element(emitter->kernel, node->op, compute, computed, operands, instance->operand_count);
  return laze_group_emit_converted(emitter, value, result);
}

/* Loop IR has no selection of its own: it is what `where` computes of one element. */
static int32_t select_value(laze_loop_emitter *emitter, int32_t index) {
  const laze_instance *instance = laze_group_instance_at(emitter, index);
  laze_dtype dtype = laze_graph_type(emitter->scheduler->graph, instance->value)->dtype;
  int32_t last = instance->operand_count - 1;
  int32_t value = laze_group_emit_converted(emitter, emitter->value[instance->operands[last]], dtype);
  for (int32_t i = last; i-- > 0;) {
    const laze_guard *piece = instance->pieces[i];
    int32_t high = laze_group_emit_own_size(emitter, piece->high);
    int32_t at = component_value(emitter, &piece->component);
    int32_t operands[3] = {[2] = value};
    operands[0] = laze_loop_index(emitter->kernel, LAZE_LOOP_INDEX_LESS, at, high);
    operands[1] = laze_group_emit_converted(emitter, emitter->value[instance->operands[i]], dtype);
    value = laze_loop_element(emitter->kernel, LAZE_OP_WHERE_SELF, dtype, dtype, operands, 3);
  }
  return value;
}

static bool is_zero(const laze_loop_emitter *emitter, int32_t index) {
  const laze_instance *instance = laze_group_instance_at(emitter, index);
  if (instance->kind != LAZE_INSTANCE_CONSTANT) return false;
  const laze_node *node = laze_graph_node(emitter->scheduler->graph, instance->value);
  static const char zeros[sizeof(double _Complex)];
  return memcmp(laze_node_constant(node)->bytes, zeros, (size_t)laze_dtype_size(node->types[0]->dtype)) == 0;
}

/* Whether the value is 0 wherever a guard of its map is false: a load is, and what pads it with zeros. */
static bool is_zero_outside(const laze_loop_emitter *emitter, int32_t index) {
  const laze_instance *instance = laze_group_instance_at(emitter, index);
  for (; instance->kind == LAZE_INSTANCE_PAD; instance = laze_group_instance_at(emitter, instance->operands[0]))
    if (!is_zero(emitter, instance->operands[1])) return false;
  return instance->kind == LAZE_INSTANCE_LOAD;
}

static int32_t pad_value(laze_loop_emitter *emitter, int32_t index) {
  const laze_instance *instance = laze_group_instance_at(emitter, index);
  laze_dtype dtype = laze_graph_type(emitter->scheduler->graph, instance->value)->dtype;
  int32_t inside = laze_group_emit_converted(emitter, emitter->value[instance->operands[0]], dtype);
  if (is_zero_outside(emitter, index)) return inside;
  int32_t operands[3] = {[1] = inside};
  operands[0] = guard_value(emitter, instance->pieces[0], -1);
  operands[2] = laze_group_emit_converted(emitter, emitter->value[instance->operands[1]], dtype);
  return laze_loop_element(emitter->kernel, LAZE_OP_WHERE_SELF, dtype, dtype, operands, 3);
}

static int32_t check_value(laze_loop_emitter *emitter, int32_t index) {
  const laze_instance *instance = laze_group_instance_at(emitter, index);
  int32_t operands[4];
  operands[0] = laze_group_emit_converted(emitter, emitter->value[instance->operands[0]], LAZE_I64);
  operands[1] = laze_group_emit_own_size(emitter, instance->size);
  operands[2] = laze_group_emit_value_or_zero(emitter, emitter->loads[index].partial);
  laze_loop_instruction instruction = {.code = LAZE_LOOP_CHECK, .dtype = LAZE_I64, .imm = instance->check};
  if (instance->length == 0) return laze_loop_emit(emitter->kernel, instruction, operands, 3);
  instruction.code = LAZE_LOOP_CHECK_SLICE;
  operands[3] = laze_group_emit_own_size(emitter, instance->length);
  return laze_loop_emit(emitter->kernel, instruction, operands, 4);
}

static int32_t constant_value(laze_loop_emitter *emitter, int32_t index) {
  const laze_node *node = laze_graph_node(emitter->scheduler->graph, laze_group_instance_at(emitter, index)->value);
  laze_dtype dtype = node->types[0]->dtype, part = laze_dtype_part(dtype);
  const void *bytes = laze_node_constant(node)->bytes;
  if (part == dtype) return laze_loop_constant(emitter->kernel, dtype, laze_scalar_load(dtype, bytes, 0));
  int32_t parts[2];
  for (int i = 0; i < 2; i++) parts[i] = laze_loop_constant(emitter->kernel, part, laze_scalar_load(part, bytes, i));
  return laze_loop_element(emitter->kernel, LAZE_OP_COMPLEX, part, dtype, parts, 2);
}

laze_dtype laze_group_state(const laze_loop_emitter *emitter, const laze_instance *instance) {
  const laze_node *node = laze_graph_node(emitter->scheduler->graph, instance->value);
  return laze_reduction_state(laze_op_get(node->op), node->types[0]->dtype);
}

/* The state takes this element, and is the value. */
static int32_t scan_value(laze_loop_emitter *emitter, int32_t index, laze_dtype dtype) {
  const laze_instance *instance = laze_group_instance_at(emitter, index);
  uint8_t state = (uint8_t)laze_group_state(emitter, instance);
  int32_t element = laze_group_emit_converted(emitter, emitter->value[instance->operands[0]], state);
  int32_t operands[3] = {emitter->state[index], element, emitter->run};
  laze_loop_emit(emitter->kernel, (laze_loop_instruction){.code = LAZE_LOOP_UPDATE, .dtype = state}, operands, 3);
  laze_loop_instruction result = {.code = LAZE_LOOP_RESULT, .dtype = state};
  return laze_group_emit_converted(emitter, laze_loop_emit(emitter->kernel, result, operands, 1), dtype);
}

void laze_group_emit_instance(laze_loop_emitter *emitter, int32_t index) {
  const laze_instance *instance = laze_group_instance_at(emitter, index);
  laze_dtype dtype = laze_graph_type(emitter->scheduler->graph, instance->value)->dtype;
  int32_t *value = &emitter->value[index];
  switch (instance->kind) {
  case LAZE_INSTANCE_LOAD: *value = load_value(emitter, index); break;
  case LAZE_INSTANCE_CONSTANT: *value = constant_value(emitter, index); break;
  case LAZE_INSTANCE_ELEMENT: *value = element_value(emitter, index); break;
  case LAZE_INSTANCE_SELECT: *value = select_value(emitter, index); break;
  case LAZE_INSTANCE_PAD: *value = pad_value(emitter, index); break;
  case LAZE_INSTANCE_CHECK: *value = check_value(emitter, index); break;
  case LAZE_INSTANCE_PASS:
    *value = laze_group_emit_converted(emitter, emitter->value[instance->operands[0]], dtype);
    break;
  case LAZE_INSTANCE_BITCAST:
    *value = laze_loop_bitcast(emitter->kernel, emitter->value[instance->operands[0]], dtype);
    break;
  case LAZE_INSTANCE_SIZE:
    *value = laze_group_emit_converted(emitter, laze_group_emit_own_size(emitter, instance->size), dtype);
    break;
  case LAZE_INSTANCE_IOTA:
    *value = laze_group_emit_converted(emitter, laze_group_emit_access(emitter, &emitter->loads[index]), dtype);
    break;
  case LAZE_INSTANCE_SCAN: *value = scan_value(emitter, index, dtype); break;
  case LAZE_INSTANCE_REDUCE:
  case LAZE_INSTANCE_MATRIX: break; /* by the loops around them */
  }
}

/* The walk over a kernel's instructions, in their order:
 *
 *   entry    buffers, sizes, where failures go: loaded once
 *   BEGIN    kernel_loop.c, which walks over the loop's body by way of laze_llvm_span
 *   others   the handler of their code, for each strip that runs in lockstep (`copies`)
 */
#include "codegen/llvm/kernel.h"
#include "codegen/llvm/lowerings.h"
#include "runtime/kernel.h"

#include <stddef.h>

LLVMBasicBlockRef laze_llvm_add_block(laze_llvm_kernel *l) {
  return LLVMAppendBasicBlockInContext(l->e.context, l->function, "");
}

LLVMValueRef laze_llvm_stack(laze_llvm_kernel *l, LLVMTypeRef type, uint64_t count) {
  LLVMBasicBlockRef here = LLVMGetInsertBlock(l->e.builder);
  LLVMPositionBuilderBefore(l->e.builder, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(l->function)));
  LLVMValueRef room = LLVMBuildAlloca(l->e.builder, LLVMArrayType2(type, count), "");
  LLVMSetAlignment(room, (unsigned)l->unit.register_bytes);
  LLVMPositionBuilderAtEnd(l->e.builder, here);
  return room;
}

static bool all_uniform(const laze_llvm_kernel *l, const laze_loop_instruction *i) {
  for (int32_t k = 0; k < i->count; k++)
    if (!laze_llvm_is_uniform(l->values[laze_llvm_operand(l, i, k)][0])) return false;
  return true;
}

static LLVMValueRef constant(laze_llvm_kernel *l, const laze_loop_instruction *i) {
  LLVMTypeRef type = laze_llvm_scalar_type(&l->e, i->dtype);
  if (!laze_dtype_is_float(i->dtype)) return LLVMConstInt(type, (uint64_t)i->imm, false);
  LLVMTypeRef bits = LLVMIntTypeInContext(l->e.context, 8 * (unsigned)laze_dtype_size(i->dtype));
  return LLVMConstBitCast(LLVMConstInt(bits, (uint64_t)i->imm, false), type);
}

static laze_status lower_element(laze_llvm_kernel *l, const laze_loop_instruction *i, int copy, LLVMValueRef *result) {
  LLVMValueRef operands[8];
  bool uniform = all_uniform(l, i);
  if (i->count > 8) return laze_fail(l->error, LAZE_INTERNAL, "an element operation of %d operands", i->count);
  for (int32_t k = 0; k < i->count; k++) {
    laze_lane_value value = l->values[laze_llvm_operand(l, i, k)][copy];
    operands[k] = uniform ? value.value : laze_llvm_lanes(l, value);
  }
  return laze_llvm_operation(l, i->op, i->compute, operands, result);
}

/* The only operand: one value that all lanes share, or a vector. */
static LLVMValueRef plain_operand(laze_llvm_kernel *l, const laze_loop_instruction *i, int copy) {
  laze_lane_value value = l->values[laze_llvm_operand(l, i, 0)][copy];
  return laze_llvm_is_uniform(value) ? value.value : laze_llvm_lanes(l, value);
}

static LLVMValueRef convert(laze_llvm_kernel *l, const laze_loop_instruction *i, int copy) {
  laze_dtype from = laze_loop_dtype(l->kernel, laze_llvm_operand(l, i, 0));
  return laze_math_convert(&l->e, plain_operand(l, i, copy), from, i->dtype);
}

static LLVMValueRef bitcast(laze_llvm_kernel *l, const laze_loop_instruction *i, int copy) {
  LLVMValueRef value = plain_operand(l, i, copy);
  bool vector = LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMVectorTypeKind;
  LLVMTypeRef type = laze_llvm_scalar_type(&l->e, i->dtype);
  return LLVMBuildBitCast(l->e.builder, value, vector ? LLVMVectorType(type, LAZE_LANES) : type, "");
}

/* An i64 that becomes an index again stays affine. */
static bool is_plain_copy(const laze_llvm_kernel *l, const laze_loop_instruction *i) {
  return laze_loop_dtype(l->kernel, laze_llvm_operand(l, i, 0)) == i->dtype;
}

/* What a variable holds: a value of one form all the time. Loops around which it goes run one strip at a time. */
static LLVMValueRef held_value(laze_llvm_kernel *l, const laze_loop_instruction *i, int32_t k) {
  laze_lane_value value = l->values[laze_llvm_operand(l, i, k)][0];
  return l->in_lanes ? laze_llvm_lanes(l, value) : value.value;
}

static laze_status lower_copy(laze_llvm_kernel *l, int32_t index, int copy) {
  const laze_loop_instruction *i = laze_llvm_instruction_at(l, index);
  laze_lane_value *result = &l->values[index][copy], made = {0};
  switch (i->code) {
  case LAZE_LOOP_INDEX_CONSTANT: made.value = laze_llvm_i64_constant(l, i->imm); break;
  case LAZE_LOOP_INDEX_SIZE: made.value = l->sizes[i->imm]; break;
  case LAZE_LOOP_CONSTANT: made.value = constant(l, i); break;
  case LAZE_LOOP_LOAD: made = laze_llvm_load(l, i, copy); break;
  case LAZE_LOOP_STORE: laze_llvm_store(l, i, copy); break;
  case LAZE_LOOP_ELEMENT: LAZE_TRY(lower_element(l, i, copy, &made.value)); break;
  case LAZE_LOOP_CONVERT:
    if (is_plain_copy(l, i))
      made = l->values[laze_llvm_operand(l, i, 0)][copy];
    else
      made.value = convert(l, i, copy);
    break;
  case LAZE_LOOP_BITCAST: made.value = bitcast(l, i, copy); break;
  case LAZE_LOOP_CHECK:
  case LAZE_LOOP_CHECK_SLICE: made = laze_llvm_check(l, i, copy); break;
  case LAZE_LOOP_UPDATE: return laze_llvm_update(l, i, copy);
  case LAZE_LOOP_VARIABLE:
    l->accumulators[index] = (laze_accumulator_state){.block = {held_value(l, i, 0)}, .copies = 1};
    return LAZE_OK;
  case LAZE_LOOP_GET: made.value = l->accumulators[laze_llvm_operand(l, i, 0)].block[0]; break;
  case LAZE_LOOP_SET: l->accumulators[laze_llvm_operand(l, i, 0)].block[0] = held_value(l, i, 1); return LAZE_OK;
  case LAZE_LOOP_MATRIX: return laze_llvm_matrix(l, i);
  default:
    made = laze_llvm_index(l, i->code, l->values[laze_llvm_operand(l, i, 0)][copy],
                           l->values[laze_llvm_operand(l, i, 1)][copy]);
  }
  *result = made;
  return LAZE_OK;
}

laze_status laze_llvm_instruction(laze_llvm_kernel *l, int32_t index) {
  const laze_loop_instruction *i = laze_llvm_instruction_at(l, index);
  if (i->code == LAZE_LOOP_ACCUMULATOR) {
    laze_llvm_accumulator(l, index);
    return LAZE_OK;
  }
  if (i->code == LAZE_LOOP_RESULT) return laze_llvm_result(l, i, l->values[index]);
  bool effect = i->code == LAZE_LOOP_STORE || i->code == LAZE_LOOP_UPDATE || i->code == LAZE_LOOP_CHECK ||
                i->code == LAZE_LOOP_CHECK_SLICE;
  bool once = l->copies == 1 || (!effect && all_uniform(l, i));
  LAZE_TRY(lower_copy(l, index, 0));
  for (int copy = 1; copy < LAZE_MAX_COPIES; copy++) {
    if (once)
      l->values[index][copy] = l->values[index][0];
    else if (copy < l->copies)
      LAZE_TRY(lower_copy(l, index, copy));
  }
  return LAZE_OK;
}

laze_status laze_llvm_span(laze_llvm_kernel *l, int32_t first, int32_t last) {
  for (int32_t k = first; k < last; k++) {
    if (l->hoisted[k]) continue;
    if (laze_llvm_instruction_at(l, k)->code != LAZE_LOOP_BEGIN) {
      LAZE_TRY(laze_llvm_instruction(l, k));
      continue;
    }
    LAZE_TRY(laze_llvm_loop(l, k)); /* nests as deep as the kernel's loops, which the verifier bounds */
    k = l->ends[k];
  }
  return LAZE_OK;
}

/* The pointer in the field at `offset` of what `base` points to. */
static LLVMValueRef load_field(laze_llvm_kernel *l, LLVMTypeRef type, LLVMValueRef base, int64_t offset) {
  LLVMValueRef index = laze_llvm_i64_constant(l, offset);
  LLVMValueRef pointer = LLVMBuildGEP2(l->e.builder, LLVMInt8TypeInContext(l->e.context), base, &index, 1, "");
  return LLVMBuildLoad2(l->e.builder, type, pointer, "");
}

/* Loads what the whole kernel uses: buffers, sizes, where failures go. */
static void lower_entry(laze_llvm_kernel *l) {
  LLVMPositionBuilderAtEnd(l->e.builder, laze_llvm_add_block(l));
  LLVMValueRef arguments = LLVMGetParam(l->function, 0);
  LLVMTypeRef pointer = LLVMPointerTypeInContext(l->e.context, 0), i64 = laze_llvm_i64_type(l);
  l->begin = LLVMGetParam(l->function, 1);
  l->end = LLVMGetParam(l->function, 2);
  LLVMValueRef buffers = load_field(l, pointer, arguments, offsetof(laze_kernel_arguments, buffers));
  LLVMValueRef sizes = load_field(l, pointer, arguments, offsetof(laze_kernel_arguments, sizes));
  l->failure = load_field(l, pointer, arguments, offsetof(laze_kernel_arguments, failures));
  for (int32_t k = 0; k < l->kernel->buffer_count; k++) l->buffers[k] = load_field(l, pointer, buffers, 8 * (int64_t)k);
  for (int32_t k = 0; k < l->kernel->size_count; k++) l->sizes[k] = load_field(l, i64, sizes, 8 * (int64_t)k);
}

static void pair_loops(laze_llvm_kernel *l) {
  int32_t open[32];
  int depth = 0;
  for (int32_t k = 0; k < l->kernel->instruction_count; k++) {
    if (laze_llvm_instruction_at(l, k)->code == LAZE_LOOP_BEGIN) open[depth++] = k;
    if (laze_llvm_instruction_at(l, k)->code == LAZE_LOOP_END) l->ends[open[--depth]] = k;
  }
}

static LLVMValueRef add_function(const laze_llvm_emitter *e, const char *symbol) {
  LLVMTypeRef pointer = LLVMPointerTypeInContext(e->context, 0), i64 = LLVMInt64TypeInContext(e->context);
  LLVMTypeRef parameters[4] = {pointer, i64, i64, pointer};
  LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(e->context), parameters, 4, false);
  return LLVMAddFunction(e->module, symbol, type);
}

static laze_status allocate(laze_llvm_kernel *l) {
  int64_t count = l->kernel->instruction_count;
  l->buffers = laze_arena_alloc_array(l->arena, l->kernel->buffer_count, sizeof *l->buffers);
  l->sizes = laze_arena_alloc_array(l->arena, l->kernel->size_count, sizeof *l->sizes);
  l->values = laze_arena_alloc_zero(l->arena, count * (int64_t)sizeof *l->values);
  l->accumulators = laze_arena_alloc_zero(l->arena, count * (int64_t)sizeof *l->accumulators);
  l->clocks = laze_arena_alloc_zero(l->arena, count * (int64_t)sizeof *l->clocks);
  l->ends = laze_arena_alloc_zero(l->arena, count * (int64_t)sizeof *l->ends);
  l->hoisted = laze_arena_alloc_zero(l->arena, count * (int64_t)sizeof *l->hoisted);
  if (l->buffers && l->sizes && l->values && l->accumulators && l->clocks && l->ends && l->hoisted) return LAZE_OK;
  return laze_fail_memory(l->error, "lowering a kernel", -1);
}

laze_status laze_llvm_add_kernel(const laze_llvm_emitter *emitter, laze_vector_unit unit,
                                 const laze_loop_kernel *kernel, const char *symbol, laze_arena *arena,
                                 laze_error *error) {
  laze_llvm_kernel l = {.e = *emitter, .kernel = kernel, .unit = unit, .arena = arena, .copies = 1, .error = error};
  LAZE_TRY(allocate(&l));
  pair_loops(&l);
  l.function = add_function(emitter, symbol);
  lower_entry(&l);
  LAZE_TRY(laze_llvm_span(&l, 0, kernel->instruction_count));
  LLVMBuildRetVoid(l.e.builder);
  return LAZE_OK;
}

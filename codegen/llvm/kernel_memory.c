/* Loads and stores by the form of their offset:
 *
 *   uniform     one scalar access
 *   contiguous  a vector, masked where a guard or the end of the loop asks for it
 *   otherwise   gather and scatter
 *
 * A guarded load takes no branch. Where its guard is false for all that it would read, it reads zeros on the stack
 * instead: the processor takes hundreds of cycles over a vector whose lanes are all masked at an address that is not
 * mapped, and pieces of a concatenation lie there most of the time.
 */
#include "codegen/llvm/llvm_versions.h"
#include "codegen/llvm/kernel.h"
#include "runtime/kernel.h"

#include <string.h>

LLVMTypeRef laze_llvm_memory_type(const laze_llvm_kernel *l, laze_dtype dtype) {
  return dtype == LAZE_BOOL ? LLVMInt8TypeInContext(l->e.context) : laze_llvm_scalar_type(&l->e, dtype);
}

LLVMValueRef laze_llvm_pointer(laze_llvm_kernel *l, int64_t buffer, LLVMValueRef offset) {
  LLVMTypeRef element = laze_llvm_memory_type(l, l->kernel->buffers[buffer].dtype);
  return LLVMBuildGEP2(l->e.builder, element, l->buffers[buffer], &offset, 1, "");
}

static LLVMValueRef from_memory(laze_llvm_kernel *l, laze_dtype dtype, LLVMValueRef value) {
  if (dtype != LAZE_BOOL) return value;
  return LLVMBuildICmp(l->e.builder, LLVMIntNE, value, LLVMConstNull(LLVMTypeOf(value)), "");
}

static LLVMValueRef to_memory(laze_llvm_kernel *l, laze_dtype dtype, LLVMValueRef value) {
  if (dtype != LAZE_BOOL) return value;
  LLVMTypeRef byte = LLVMInt8TypeInContext(l->e.context);
  bool vector = LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMVectorTypeKind;
  return LLVMBuildZExt(l->e.builder, value, vector ? LLVMVectorType(byte, LAZE_LANES) : byte, "");
}

/* Calls a masked intrinsic with `count` operands, of which number `pointer` holds addresses. */
static LLVMValueRef call_masked(laze_llvm_kernel *l, const char *name, LLVMTypeRef overloads[2], LLVMValueRef *operands,
                                int count, int pointer, int64_t alignment) {
  LLVMValueRef all[5];
  int total = 0;
  for (int i = 0; i < count; i++) {
    all[total++] = operands[i];
    if (i == pointer && LAZE_MASKED_ALIGNMENT_IS_OPERAND)
      all[total++] = LLVMConstInt(LLVMInt32TypeInContext(l->e.context), (uint64_t)alignment, false);
  }
  unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
  LLVMValueRef function = LLVMGetIntrinsicDeclaration(l->e.module, id, overloads, 2);
  LLVMTypeRef type = LLVMIntrinsicGetType(l->e.context, id, overloads, 2);
  LLVMValueRef call = LLVMBuildCall2(l->e.builder, type, function, all, (unsigned)total, "");
  if (!LAZE_MASKED_ALIGNMENT_IS_OPERAND) {
    unsigned kind = LLVMGetEnumAttributeKindForName("align", strlen("align"));
    LLVMAddCallSiteAttribute(call, (unsigned)pointer + 1,
                             LLVMCreateEnumAttribute(l->e.context, kind, (uint64_t)alignment));
  }
  return call;
}

/* Bytes ahead of a contiguous stream that a load asks for: about 100 ns, a memory's latency, at the speed of a body
 * with two functions. Such bodies gain 5%, plain ones neither gain nor lose. */
#define PREFETCH_DISTANCE 640

void laze_llvm_prefetch(laze_llvm_kernel *l, LLVMValueRef pointer, laze_prefetch what) {
  enum { DATA = 1, ALL_LEVELS = 3, SECOND_LEVEL = 2 };
  const int level = what == LAZE_PREFETCH_SOON ? ALL_LEVELS : SECOND_LEVEL;
  LLVMTypeRef i32 = LLVMInt32TypeInContext(l->e.context);
  LLVMValueRef operands[4] = {pointer, LLVMConstInt(i32, what == LAZE_PREFETCH_TO_WRITE, false),
                              LLVMConstInt(i32, (uint64_t)level, false), LLVMConstInt(i32, DATA, false)};
  laze_llvm_intrinsic(&l->e, "llvm.prefetch", operands, 4);
}

/* Asks for what a later strip will load. */
static void prefetch_stream(laze_llvm_kernel *l, LLVMValueRef pointer) {
  LLVMTypeRef byte = LLVMInt8TypeInContext(l->e.context);
  LLVMValueRef distance = laze_llvm_i64_constant(l, PREFETCH_DISTANCE);
  laze_llvm_prefetch(l, LLVMBuildGEP2(l->e.builder, byte, pointer, &distance, 1, ""), LAZE_PREFETCH_SOON);
}

LLVMValueRef laze_llvm_vector_load(laze_llvm_kernel *l, LLVMTypeRef vector, LLVMValueRef pointer, LLVMValueRef mask,
                                   int64_t alignment) {
  if (!mask) {
    LLVMValueRef load = LLVMBuildLoad2(l->e.builder, vector, pointer, "");
    LLVMSetAlignment(load, (unsigned)alignment);
    return load;
  }
  LLVMValueRef operands[3] = {pointer, mask, LLVMConstNull(vector)};
  LLVMTypeRef overloads[2] = {vector, LLVMTypeOf(pointer)};
  return call_masked(l, "llvm.masked.load", overloads, operands, 3, 0, alignment);
}

void laze_llvm_vector_store(laze_llvm_kernel *l, LLVMValueRef value, LLVMValueRef pointer, LLVMValueRef mask,
                            int64_t alignment) {
  if (!mask) {
    LLVMSetAlignment(LLVMBuildStore(l->e.builder, value, pointer), (unsigned)alignment);
    return;
  }
  LLVMValueRef operands[3] = {value, pointer, mask};
  LLVMTypeRef overloads[2] = {LLVMTypeOf(value), LLVMTypeOf(pointer)};
  call_masked(l, "llvm.masked.store", overloads, operands, 3, 1, alignment);
}

static LLVMValueRef all_lanes(laze_llvm_kernel *l, LLVMTypeRef vector) {
  LLVMTypeRef boolean = LLVMInt1TypeInContext(l->e.context);
  return LLVMConstAllOnes(LLVMVectorType(boolean, LLVMGetVectorSize(vector)));
}

LLVMValueRef laze_llvm_gather(laze_llvm_kernel *l, LLVMTypeRef vector, LLVMValueRef pointers, LLVMValueRef mask,
                              int64_t alignment) {
  LLVMValueRef operands[3] = {pointers, mask ? mask : all_lanes(l, vector), LLVMConstNull(vector)};
  LLVMTypeRef overloads[2] = {vector, LLVMTypeOf(pointers)};
  return call_masked(l, "llvm.masked.gather", overloads, operands, 3, 0, alignment);
}

static void scatter(laze_llvm_kernel *l, LLVMValueRef value, LLVMValueRef pointers, LLVMValueRef mask,
                    int64_t alignment) {
  LLVMValueRef operands[3] = {value, pointers, mask ? mask : all_lanes(l, LLVMTypeOf(value))};
  LLVMTypeRef overloads[2] = {LLVMTypeOf(value), LLVMTypeOf(pointers)};
  call_masked(l, "llvm.masked.scatter", overloads, operands, 3, 1, alignment);
}

static LLVMValueRef any_lane(laze_llvm_kernel *l, LLVMValueRef mask) {
  return laze_llvm_intrinsic(&l->e, "llvm.vector.reduce.or", &mask, 1);
}

/* Of the widest elements that the kernel has, in words. */
static unsigned words_of_elements(const laze_llvm_kernel *l) {
  int64_t bytes = sizeof(int64_t);
  for (int32_t i = 0; i < l->kernel->buffer_count; i++)
    if (laze_dtype_size((laze_dtype)l->kernel->buffers[i].dtype) > bytes)
      bytes = laze_dtype_size((laze_dtype)l->kernel->buffers[i].dtype);
  return (unsigned)(bytes / (int64_t)sizeof(int64_t));
}

/* What a guarded load reads where it must not read its buffer. */
static LLVMValueRef zeros(laze_llvm_kernel *l) {
  if (l->zero_slot) return l->zero_slot;
  enum { STACK_ALIGNMENT = 16 }; /* more would cost each call of the kernel */
  LLVMTypeRef type = LLVMArrayType2(laze_llvm_i64_type(l), LAZE_LANES * words_of_elements(l));
  LLVMBasicBlockRef here = LLVMGetInsertBlock(l->e.builder);
  LLVMPositionBuilderBefore(l->e.builder, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(l->function)));
  l->zero_slot = LLVMBuildAlloca(l->e.builder, type, "");
  LLVMSetAlignment(l->zero_slot, STACK_ALIGNMENT);
  LLVMSetAlignment(LLVMBuildStore(l->e.builder, LLVMConstNull(type), l->zero_slot), STACK_ALIGNMENT);
  LLVMPositionBuilderAtEnd(l->e.builder, here);
  return l->zero_slot;
}

/* A scalar load; where `condition` (NULL: always) is false it gives 0. */
static LLVMValueRef scalar_load(laze_llvm_kernel *l, const laze_loop_instruction *i, LLVMValueRef offset,
                                LLVMValueRef condition) {
  condition = laze_llvm_mask_and(l, condition, l->hoisted_guard);
  LLVMValueRef pointer = laze_llvm_pointer(l, i->imm, offset);
  if (condition) pointer = LLVMBuildSelect(l->e.builder, condition, pointer, zeros(l), "");
  LLVMValueRef load = LLVMBuildLoad2(l->e.builder, laze_llvm_memory_type(l, i->dtype), pointer, "");
  return from_memory(l, i->dtype, load);
}

/* One address for all lanes, under a guard that differs between them. */
static LLVMValueRef shared_load(laze_llvm_kernel *l, const laze_loop_instruction *i, LLVMValueRef offset,
                                LLVMValueRef mask) {
  LLVMValueRef loaded = laze_llvm_splat(l, scalar_load(l, i, offset, any_lane(l, mask)));
  return LLVMBuildSelect(l->e.builder, mask, loaded, LLVMConstNull(LLVMTypeOf(loaded)), "");
}

/* Neighbouring elements. `condition` is the guard where the lanes share it, `mask` says which lanes are read. */
static LLVMValueRef contiguous_load(laze_llvm_kernel *l, const laze_loop_instruction *i, LLVMValueRef offset,
                                    LLVMValueRef condition, LLVMValueRef mask, bool guarded_lanes) {
  LLVMTypeRef vector = LLVMVectorType(laze_llvm_memory_type(l, i->dtype), LAZE_LANES);
  LLVMValueRef pointer = laze_llvm_pointer(l, i->imm, offset);
  if (!mask && !l->down_columns) prefetch_stream(l, pointer);
  if (guarded_lanes) condition = any_lane(l, mask);
  if (condition) pointer = LLVMBuildSelect(l->e.builder, condition, pointer, zeros(l), "");
  return laze_llvm_vector_load(l, vector, pointer, mask, laze_dtype_size(i->dtype));
}

/* Elements a run-time stride apart, all of them the first zero on the stack where `condition` is false. */
static LLVMValueRef strided_load(laze_llvm_kernel *l, const laze_loop_instruction *i, laze_lane_value offset,
                                 LLVMValueRef condition, LLVMValueRef mask) {
  LLVMTypeRef element = laze_llvm_memory_type(l, i->dtype), vector = LLVMVectorType(element, LAZE_LANES);
  LLVMBuilderRef builder = l->e.builder;
  LLVMValueRef base = l->buffers[i->imm], none = LLVMConstNull(LLVMTypeOf(offset.value));
  if (condition) {
    base = LLVMBuildSelect(builder, condition, base, zeros(l), "");
    offset.value = LLVMBuildSelect(builder, condition, offset.value, none, "");
    if (offset.stride)
      offset.stride = LLVMBuildSelect(builder, condition, offset.stride, laze_llvm_i64_constant(l, 0), "");
  }
  LLVMValueRef lanes = laze_llvm_lanes(l, offset);
  LLVMValueRef pointers = LLVMBuildGEP2(builder, element, base, &lanes, 1, "");
  return laze_llvm_gather(l, vector, pointers, mask, laze_dtype_size(i->dtype));
}

laze_lane_value laze_llvm_load(laze_llvm_kernel *l, const laze_loop_instruction *i, int copy) {
  laze_lane_value offset = l->values[laze_llvm_operand(l, i, 0)][copy], result = {0};
  const laze_lane_value *guard = i->count > 1 ? &l->values[laze_llvm_operand(l, i, 1)][copy] : NULL;
  bool guarded_lanes = guard && !laze_llvm_is_uniform(*guard);
  LLVMValueRef condition = guard && !guarded_lanes ? guard->value : NULL;
  if (laze_llvm_is_uniform(offset) && !guarded_lanes) {
    result.value = scalar_load(l, i, offset.value, condition);
    return result;
  }
  LLVMValueRef mask = laze_llvm_mask_and(l, l->active[copy], guarded_lanes ? laze_llvm_lanes(l, *guard) : NULL);
  if (laze_llvm_is_uniform(offset)) {
    result.value = shared_load(l, i, offset.value, mask);
    return result;
  }
  result.value = laze_llvm_is_contiguous(offset) ? contiguous_load(l, i, offset.value, condition, mask, guarded_lanes)
                                                 : strided_load(l, i, offset, condition, mask);
  result.value = from_memory(l, i->dtype, result.value);
  return result;
}

static void scalar_store(laze_llvm_kernel *l, const laze_loop_instruction *i, LLVMValueRef offset, LLVMValueRef value,
                         LLVMValueRef condition) {
  LLVMBasicBlockRef after = NULL;
  if (condition) {
    LLVMBasicBlockRef inside = laze_llvm_add_block(l);
    after = laze_llvm_add_block(l);
    LLVMBuildCondBr(l->e.builder, condition, inside, after);
    LLVMPositionBuilderAtEnd(l->e.builder, inside);
  }
  LLVMBuildStore(l->e.builder, to_memory(l, i->dtype, value), laze_llvm_pointer(l, i->imm, offset));
  if (!condition) return;
  LLVMBuildBr(l->e.builder, after);
  LLVMPositionBuilderAtEnd(l->e.builder, after);
}

void laze_llvm_store(laze_llvm_kernel *l, const laze_loop_instruction *i, int copy) {
  laze_lane_value offset = l->values[laze_llvm_operand(l, i, 0)][copy],
                  value = l->values[laze_llvm_operand(l, i, 1)][copy];
  const laze_lane_value *guard = i->count > 2 ? &l->values[laze_llvm_operand(l, i, 2)][copy] : NULL;
  if (!l->in_lanes) {
    scalar_store(l, i, offset.value, value.value, guard ? guard->value : NULL);
    return;
  }
  LLVMValueRef mask = laze_llvm_mask_and(l, l->active[copy], guard ? laze_llvm_lanes(l, *guard) : NULL);
  LLVMValueRef stored = to_memory(l, i->dtype, laze_llvm_lanes(l, value));
  int64_t alignment = laze_dtype_size(i->dtype);
  if (laze_llvm_is_contiguous(offset))
    laze_llvm_vector_store(l, stored, laze_llvm_pointer(l, i->imm, offset.value), mask, alignment);
  else
    scatter(l, stored, laze_llvm_pointer(l, i->imm, laze_llvm_lanes(l, offset)), mask, alignment);
}

enum { FAILURE_FIELDS = sizeof(laze_kernel_failure) / sizeof(int64_t) }; /* position, index, size, length */

/* Field `number` of a check's failure record. */
static LLVMValueRef failure_field(laze_llvm_kernel *l, int64_t check, int number) {
  LLVMValueRef index = laze_llvm_i64_constant(l, check * FAILURE_FIELDS + number);
  return LLVMBuildGEP2(l->e.builder, laze_llvm_i64_type(l), l->failure, &index, 1, "");
}

/* Notes a check's failure unless one at a lower or equal position is known. Scalars. */
static void note_failure(laze_llvm_kernel *l, int64_t check, const LLVMValueRef fields[FAILURE_FIELDS]) {
  LLVMBasicBlockRef lower = laze_llvm_add_block(l), after = laze_llvm_add_block(l);
  LLVMValueRef known = LLVMBuildLoad2(l->e.builder, laze_llvm_i64_type(l), failure_field(l, check, 0), "");
  LLVMBuildCondBr(l->e.builder, LLVMBuildICmp(l->e.builder, LLVMIntSLT, fields[0], known, ""), lower, after);
  LLVMPositionBuilderAtEnd(l->e.builder, lower);
  for (int k = 0; k < FAILURE_FIELDS; k++) LLVMBuildStore(l->e.builder, fields[k], failure_field(l, check, k));
  LLVMBuildBr(l->e.builder, after);
  LLVMPositionBuilderAtEnd(l->e.builder, after);
}

/* Of the failing lanes, the element of `values` in the first one. */
static LLVMValueRef first_failing(laze_llvm_kernel *l, LLVMValueRef values, LLVMValueRef failing) {
  LLVMTypeRef bits = LLVMIntTypeInContext(l->e.context, LAZE_LANES);
  LLVMValueRef operands[2] = {LLVMBuildBitCast(l->e.builder, failing, bits, ""),
                              LLVMConstInt(LLVMInt1TypeInContext(l->e.context), 1, false)};
  LLVMValueRef lane = laze_llvm_intrinsic(&l->e, "llvm.cttz", operands, 2);
  return LLVMBuildExtractElement(l->e.builder, values, lane, "");
}

/* How many elements of a check must lie in the axis. */
static LLVMValueRef checked_length(laze_llvm_kernel *l, const laze_loop_instruction *i, int copy) {
  if (i->code == LAZE_LOOP_CHECK) return laze_llvm_i64_constant(l, 1);
  laze_lane_value length = l->values[laze_llvm_operand(l, i, 3)][copy];
  return l->in_lanes ? laze_llvm_lanes(l, length) : length.value;
}

/* The failure of the lowest position among the failing lanes; the lowest lane of those that share it. */
static void note_lanes(laze_llvm_kernel *l, const laze_loop_instruction *i, int copy, LLVMValueRef failing) {
  LLVMValueRef operands[3], length = checked_length(l, i, copy);
  for (int k = 0; k < 3; k++) operands[k] = laze_llvm_lanes(l, l->values[laze_llvm_operand(l, i, k)][copy]);
  LLVMValueRef none = laze_llvm_integer(LLVMTypeOf(operands[2]), INT64_MAX);
  LLVMValueRef positions = LLVMBuildSelect(l->e.builder, failing, operands[2], none, "");
  LLVMValueRef lowest = laze_llvm_intrinsic(&l->e, "llvm.vector.reduce.smin", &positions, 1);
  LLVMValueRef is_lowest = LLVMBuildICmp(l->e.builder, LLVMIntEQ, positions, laze_llvm_splat(l, lowest), "");
  failing = LLVMBuildAnd(l->e.builder, failing, is_lowest, "");
  LLVMValueRef fields[] = {lowest, first_failing(l, operands[0], failing), first_failing(l, operands[1], failing),
                           i->code == LAZE_LOOP_CHECK ? length : first_failing(l, length, failing)};
  note_failure(l, i->imm, fields);
}

laze_lane_value laze_llvm_check(laze_llvm_kernel *l, const laze_loop_instruction *i, int copy) {
  LLVMBuilderRef builder = l->e.builder;
  laze_lane_value operands[3];
  for (int k = 0; k < 3; k++) operands[k] = l->values[laze_llvm_operand(l, i, k)][copy];
  LLVMValueRef found = operands[0].value, size = operands[1].value;
  if (l->in_lanes) found = laze_llvm_lanes(l, operands[0]), size = laze_llvm_lanes(l, operands[1]);
  LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(found));
  LLVMValueRef negative = LLVMBuildICmp(builder, LLVMIntSLT, found, zero, "");
  LLVMValueRef wrapped = LLVMBuildSelect(builder, negative, LLVMBuildAdd(builder, found, size, ""), found, "");
  LLVMValueRef length = checked_length(l, i, copy), starts = size; /* how many starts there are */
  if (i->code == LAZE_LOOP_CHECK_SLICE)
    starts = LLVMBuildAdd(builder, LLVMBuildSub(builder, size, length, ""), laze_llvm_integer(LLVMTypeOf(size), 1), "");
  LLVMValueRef invalid = LLVMBuildICmp(builder, LLVMIntUGE, wrapped, starts, "");
  laze_lane_value result = {.value = LLVMBuildSelect(builder, invalid, zero, wrapped, "")};
  LLVMValueRef failing = l->in_lanes ? laze_llvm_mask_and(l, l->active[copy], invalid) : invalid;
  LLVMBasicBlockRef slow = laze_llvm_add_block(l), after = laze_llvm_add_block(l);
  LLVMBuildCondBr(builder, l->in_lanes ? any_lane(l, failing) : failing, slow, after);
  LLVMPositionBuilderAtEnd(builder, slow);
  LLVMValueRef fields[] = {operands[2].value, found, size, length};
  if (l->in_lanes)
    note_lanes(l, i, copy, failing);
  else
    note_failure(l, i->imm, fields);
  LLVMBuildBr(builder, after);
  LLVMPositionBuilderAtEnd(builder, after);
  return result;
}

/* Appending instructions to a kernel's loop IR: each builder gives the number of what it appended (loop.h). When memory
 * runs out the kernel says so, once, at the end. */
#include "codegen/loop/loop.h"

#include <string.h>

void laze_loop_init(laze_loop_kernel *kernel, laze_arena *arena) {
  memset(kernel, 0, sizeof *kernel);
  kernel->arena = arena;
}

/* Makes room for `extra` more elements; an arena cannot give memory back, so growing by doubling wastes at most half.
 */
static bool reserve(laze_loop_kernel *kernel, void **array, int32_t *capacity, int32_t count, int32_t extra,
                    int64_t element_size) {
  int64_t needed = (int64_t)count + extra;
  if (needed <= *capacity) return true;
  int64_t grown = *capacity ? 2 * (int64_t)*capacity : 16;
  if (grown < needed) grown = needed;
  void *memory = grown > INT32_MAX ? NULL : laze_arena_alloc_array(kernel->arena, grown, element_size);
  if (!memory) {
    kernel->failed = true;
    return false;
  }
  if (count > 0) memcpy(memory, *array, (size_t)count * (size_t)element_size);
  *array = memory;
  *capacity = (int32_t)grown;
  return true;
}

int32_t laze_loop_add_buffer(laze_loop_kernel *kernel, laze_dtype dtype, bool written) {
  void *buffers = kernel->buffers;
  if (!reserve(kernel, &buffers, &kernel->buffer_capacity, kernel->buffer_count, 1, sizeof *kernel->buffers)) return -1;
  kernel->buffers = buffers;
  kernel->buffers[kernel->buffer_count] = (laze_loop_buffer){.dtype = (uint8_t)dtype, .written = written};
  return kernel->buffer_count++;
}

int32_t laze_loop_emit(laze_loop_kernel *kernel, laze_loop_instruction instruction, const int32_t *operands,
                       int32_t count) {
  void *instructions = kernel->instructions, *all = kernel->operands;
  if (kernel->failed ||
      !reserve(kernel, &instructions, &kernel->instruction_capacity, kernel->instruction_count, 1,
               sizeof *kernel->instructions) ||
      !reserve(kernel, &all, &kernel->operand_capacity, kernel->operand_count, count, sizeof *kernel->operands))
    return -1;
  kernel->instructions = instructions;
  kernel->operands = all;
  instruction.first = kernel->operand_count;
  instruction.count = count;
  for (int32_t i = 0; i < count; i++) kernel->operands[kernel->operand_count++] = operands[i];
  kernel->instructions[kernel->instruction_count] = instruction;
  return kernel->instruction_count++;
}

laze_status laze_loop_finish(const laze_loop_kernel *kernel, laze_error *error) {
  return kernel->failed ? laze_fail_memory(error, "building a kernel's loops", -1) : LAZE_OK;
}

int32_t laze_loop_begin(laze_loop_kernel *kernel, int32_t extent, int flags) {
  laze_loop_instruction begin = {.code = LAZE_LOOP_BEGIN, .dtype = LAZE_I64, .flags = (uint8_t)flags};
  return laze_loop_emit(kernel, begin, &extent, 1);
}

void laze_loop_end(laze_loop_kernel *kernel) {
  laze_loop_emit(kernel, (laze_loop_instruction){.code = LAZE_LOOP_END}, NULL, 0);
}

int32_t laze_loop_index(laze_loop_kernel *kernel, laze_loop_code code, int32_t a, int32_t b) {
  bool predicate = code == LAZE_LOOP_INDEX_LESS || code == LAZE_LOOP_AND;
  laze_loop_instruction index = {.code = (uint8_t)code, .dtype = predicate ? LAZE_BOOL : LAZE_I64};
  return laze_loop_emit(kernel, index, (int32_t[]){a, b}, 2);
}

int32_t laze_loop_index_constant(laze_loop_kernel *kernel, int64_t value) {
  laze_loop_instruction constant = {.code = LAZE_LOOP_INDEX_CONSTANT, .dtype = LAZE_I64, .imm = value};
  return laze_loop_emit(kernel, constant, NULL, 0);
}

int32_t laze_loop_index_size(laze_loop_kernel *kernel, int32_t number) {
  laze_loop_instruction size = {.code = LAZE_LOOP_INDEX_SIZE, .dtype = LAZE_I64, .imm = number};
  if (number >= kernel->size_count) kernel->size_count = number + 1;
  return laze_loop_emit(kernel, size, NULL, 0);
}

int32_t laze_loop_constant(laze_loop_kernel *kernel, laze_dtype dtype, laze_scalar value) {
  uint64_t bits = 0;
  uint8_t element[8] = {0};
  laze_scalar_store(value, dtype, element, 0);
  for (int i = 7; i >= 0; i--) bits = bits << 8 | element[i]; /* little-endian, as every target of the code is */
  laze_loop_instruction constant = {.code = LAZE_LOOP_CONSTANT, .dtype = (uint8_t)dtype, .imm = (int64_t)bits};
  return laze_loop_emit(kernel, constant, NULL, 0);
}

static laze_dtype buffer_dtype(const laze_loop_kernel *kernel, int32_t buffer) {
  return buffer >= 0 && buffer < kernel->buffer_count ? kernel->buffers[buffer].dtype : LAZE_DTYPE_NONE;
}

int32_t laze_loop_load(laze_loop_kernel *kernel, int32_t buffer, int32_t offset, int32_t guard) {
  laze_loop_instruction load = {.code = LAZE_LOOP_LOAD, .dtype = (uint8_t)buffer_dtype(kernel, buffer), .imm = buffer};
  return laze_loop_emit(kernel, load, (int32_t[]){offset, guard}, guard < 0 ? 1 : 2);
}

void laze_loop_store(laze_loop_kernel *kernel, int32_t buffer, int32_t offset, int32_t value, int32_t guard) {
  laze_loop_instruction store = {
      .code = LAZE_LOOP_STORE, .dtype = (uint8_t)buffer_dtype(kernel, buffer), .imm = buffer};
  laze_loop_emit(kernel, store, (int32_t[]){offset, value, guard}, guard < 0 ? 2 : 3);
}

int32_t laze_loop_element(laze_loop_kernel *kernel, laze_op op, laze_dtype compute, laze_dtype result,
                          const int32_t *operands, int32_t count) {
  laze_loop_instruction element = {
      .code = LAZE_LOOP_ELEMENT, .dtype = (uint8_t)result, .compute = (uint8_t)compute, .op = op};
  return laze_loop_emit(kernel, element, operands, count);
}

int32_t laze_loop_convert(laze_loop_kernel *kernel, int32_t value, laze_dtype dtype) {
  laze_loop_instruction convert = {.code = LAZE_LOOP_CONVERT, .dtype = (uint8_t)dtype};
  return laze_loop_emit(kernel, convert, &value, 1);
}

int32_t laze_loop_bitcast(laze_loop_kernel *kernel, int32_t value, laze_dtype dtype) {
  laze_loop_instruction bitcast = {.code = LAZE_LOOP_BITCAST, .dtype = (uint8_t)dtype};
  return laze_loop_emit(kernel, bitcast, &value, 1);
}

laze_dtype laze_loop_dtype(const laze_loop_kernel *kernel, int32_t index) {
  if (index < 0 || index >= kernel->instruction_count) return LAZE_DTYPE_NONE;
  return kernel->instructions[index].dtype;
}

/* Prints a kernel, one instruction a line, loops indented:
 *
 *   kernel (b0: f32, b1: f32 written), sizes: 1 {
 *     %0 = size 0
 *     loop %1 = range(%0) lanes {
 *       %2 = load b0[%1] : f32
 *       %3 = exp %2 : f32
 *       store b1[%1], %3
 *     }
 *   }
 */
#include "codegen/loop/loop.h"

#include "codegen/order.h"

#include <inttypes.h>
#include <string.h>

static const char *const words[] = {
    [LAZE_LOOP_INDEX_ADD] = "index.add",
    [LAZE_LOOP_INDEX_SUB] = "index.sub",
    [LAZE_LOOP_INDEX_MUL] = "index.mul",
    [LAZE_LOOP_INDEX_FLOOR_DIV] = "index.floor_div",
    [LAZE_LOOP_INDEX_MOD] = "index.mod",
    [LAZE_LOOP_INDEX_MIN] = "index.min",
    [LAZE_LOOP_INDEX_MAX] = "index.max",
    [LAZE_LOOP_INDEX_LESS] = "index.less",
    [LAZE_LOOP_AND] = "and",
    [LAZE_LOOP_CONVERT] = "convert",
    [LAZE_LOOP_BITCAST] = "bitcast",
    [LAZE_LOOP_CHECK] = "check",
    [LAZE_LOOP_CHECK_SLICE] = "check_slice",
    [LAZE_LOOP_UPDATE] = "update",
    [LAZE_LOOP_RESULT] = "result",
    [LAZE_LOOP_VARIABLE] = "variable",
    [LAZE_LOOP_GET] = "get",
    [LAZE_LOOP_SET] = "set",
    [LAZE_LOOP_MATRIX] = "matrix",
};

static const char *const initial_words[] = {[LAZE_INITIAL_ZERO] = "zero",
                                            [LAZE_INITIAL_ONE] = "one",
                                            [LAZE_INITIAL_LOWEST] = "lowest",
                                            [LAZE_INITIAL_HIGHEST] = "highest"};
static const char *const order_words[] = {
    [LAZE_ORDER_LANES16] = "lanes16", [LAZE_ORDER_ROWS] = "rows", [LAZE_ORDER_SEQUENCE] = "sequence"};

typedef struct {
  laze_text *text;
  const laze_loop_kernel *kernel;
} printer;

static int32_t operand(const printer *p, const laze_loop_instruction *i, int32_t k) {
  return k < i->count ? p->kernel->operands[i->first + k] : -1;
}

static void print_operands(const printer *p, const laze_loop_instruction *i, int32_t from) {
  for (int32_t k = from; k < i->count; k++)
    laze_text_format(p->text, "%s%%%d", k == from ? " " : ", ", operand(p, i, k));
}

static void print_type(const printer *p, const laze_loop_instruction *i) {
  laze_text_format(p->text, " : %s", laze_dtype_name(i->dtype));
}

static void print_guard(const printer *p, const laze_loop_instruction *i, int32_t position) {
  if (i->count > position) laze_text_format(p->text, " if %%%d", operand(p, i, position));
}

static void print_constant(const printer *p, const laze_loop_instruction *i) {
  laze_text_append(p->text, "constant ");
  uint8_t element[8];
  for (int k = 0; k < 8; k++) element[k] = (uint8_t)((uint64_t)i->imm >> 8 * k);
  laze_text_append_scalar(p->text, i->dtype, laze_scalar_load(i->dtype, element, 0));
  print_type(p, i);
}

static void print_element(const printer *p, const laze_loop_instruction *i) {
  laze_text_append(p->text, laze_op_get(i->op)->name);
  print_operands(p, i, 0);
  print_type(p, i);
  if (i->compute != i->dtype) laze_text_format(p->text, " in %s", laze_dtype_name(i->compute));
}

static void print_accumulator(const printer *p, const laze_loop_instruction *i) {
  laze_text_format(p->text, "accumulator %s from %s, %s", laze_op_get(i->op)->name,
                   i->initial <= LAZE_INITIAL_HIGHEST ? initial_words[i->initial] : "?",
                   i->order <= LAZE_ORDER_SEQUENCE ? order_words[i->order] : "?");
  print_type(p, i);
}

/* Strides of further digits with the extents below. */
static void print_digits(const printer *p, const laze_loop_instruction *i, int32_t first, int32_t digits) {
  for (int32_t k = first; k < first + 2 * digits; k += 2)
    laze_text_format(p->text, " + %%%d by %%%d", operand(p, i, k + 1), operand(p, i, k));
}

/* The stride of the last digit, and the others: "%7 + %9 by %8". */
static void print_strides(const printer *p, const laze_loop_instruction *i, int32_t last, int32_t first,
                          int32_t digits) {
  laze_text_format(p->text, "%%%d", operand(p, i, last));
  print_digits(p, i, first, digits);
}

static void print_matrix(const printer *p, const laze_loop_instruction *i) {
  const laze_loop_product product = laze_loop_read_product(i->imm);
  const int32_t columns = LAZE_LOOP_PRODUCT_FIXED + 2 * product.depth_digits;
  const int32_t results = columns + 2 * product.column_digits;
  laze_text_format(p->text, "matrix b%d[%%%d; %%%d, %%%d] x b%d[%%%d; ", product.a,
                   operand(p, i, LAZE_PRODUCT_A_OFFSET), operand(p, i, LAZE_PRODUCT_A_ROW),
                   operand(p, i, LAZE_PRODUCT_A_K), product.b, operand(p, i, LAZE_PRODUCT_B_OFFSET));
  print_strides(p, i, LAZE_PRODUCT_B_K, LAZE_LOOP_PRODUCT_FIXED, product.depth_digits);
  laze_text_append(p->text, ", ");
  print_strides(p, i, LAZE_PRODUCT_B_COLUMN, columns, product.column_digits);
  laze_text_format(p->text, "] -> b%d[%%%d; %%%d", product.c, operand(p, i, LAZE_PRODUCT_C_OFFSET),
                   operand(p, i, LAZE_PRODUCT_C_ROW));
  if (product.result_digits > 0) laze_text_append(p->text, ", 1");
  print_digits(p, i, results, product.result_digits);
  laze_text_format(p->text, "] rows %%%d columns %%%d from %%%d depth %%%d", operand(p, i, LAZE_PRODUCT_ROWS),
                   operand(p, i, LAZE_PRODUCT_COLUMNS), operand(p, i, LAZE_PRODUCT_FIRST_COLUMN),
                   operand(p, i, LAZE_PRODUCT_DEPTH));
  print_type(p, i);
}

static void print_store(const printer *p, const laze_loop_instruction *i) {
  laze_text_format(p->text, "store b%" PRId64 "[%%%d], %%%d", i->imm, operand(p, i, 0), operand(p, i, 1));
  print_guard(p, i, 2);
}

/* Everything right of "%n = ". */
static void print_value(const printer *p, const laze_loop_instruction *i) {
  switch (i->code) {
  case LAZE_LOOP_INDEX_CONSTANT: laze_text_format(p->text, "index %" PRId64, i->imm); break;
  case LAZE_LOOP_INDEX_SIZE: laze_text_format(p->text, "size %" PRId64, i->imm); break;
  case LAZE_LOOP_CONSTANT: print_constant(p, i); break;
  case LAZE_LOOP_LOAD:
    laze_text_format(p->text, "load b%" PRId64 "[%%%d]", i->imm, operand(p, i, 0));
    print_guard(p, i, 1);
    print_type(p, i);
    break;
  case LAZE_LOOP_ELEMENT: print_element(p, i); break;
  case LAZE_LOOP_ACCUMULATOR: print_accumulator(p, i); break;
  case LAZE_LOOP_CHECK:
  case LAZE_LOOP_CHECK_SLICE:
    laze_text_format(p->text, "%s #%" PRId64, words[i->code], i->imm);
    print_operands(p, i, 0);
    break;
  default:
    laze_text_append(p->text, i->code <= LAZE_LOOP_MATRIX && words[i->code] ? words[i->code] : "?");
    print_operands(p, i, 0);
    if (i->code == LAZE_LOOP_CONVERT || i->code == LAZE_LOOP_BITCAST || i->code == LAZE_LOOP_RESULT ||
        i->code == LAZE_LOOP_VARIABLE)
      print_type(p, i);
  }
}

static void print_instruction(const printer *p, int32_t index) {
  const laze_loop_instruction *i = &p->kernel->instructions[index];
  switch (i->code) {
  case LAZE_LOOP_BEGIN:
    laze_text_format(p->text, "loop %%%d = %s(%%%d)%s {", index, i->flags & LAZE_LOOP_RANGE ? "range" : "upto",
                     operand(p, i, 0), i->flags & LAZE_LOOP_LANES ? " lanes" : "");
    break;
  case LAZE_LOOP_END: laze_text_append(p->text, "}"); break;
  case LAZE_LOOP_STORE: print_store(p, i); break;
  case LAZE_LOOP_UPDATE:
  case LAZE_LOOP_SET: print_value(p, i); break;
  case LAZE_LOOP_MATRIX: print_matrix(p, i); break;
  default: laze_text_format(p->text, "%%%d = ", index); print_value(p, i);
  }
}

void laze_loop_print(laze_text *text, const laze_loop_kernel *kernel) {
  printer p = {text, kernel};
  laze_text_append(text, "kernel (");
  for (int32_t i = 0; i < kernel->buffer_count; i++)
    laze_text_format(text, "%sb%d: %s%s", i ? ", " : "", i, laze_dtype_name(kernel->buffers[i].dtype),
                     kernel->buffers[i].written ? " written" : "");
  laze_text_append(text, ")");
  if (kernel->size_count) laze_text_format(text, ", sizes: %d", kernel->size_count);
  if (kernel->check_count) laze_text_format(text, ", checks: %d", kernel->check_count);
  laze_text_append(text, " {\n");
  int depth = 1;
  for (int32_t i = 0; i < kernel->instruction_count; i++) {
    if (kernel->instructions[i].code == LAZE_LOOP_END && depth > 1) depth--;
    laze_text_format(text, "%*s", 2 * depth, "");
    print_instruction(&p, i);
    laze_text_append(text, "\n");
    depth += kernel->instructions[i].code == LAZE_LOOP_BEGIN;
  }
  laze_text_append(text, "}\n");
}

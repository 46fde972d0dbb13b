/* The operator tables for those outside: the rows of laze_operators, each with its row of laze_op_infos. */
#include "ir/schema.h"

#include <string.h>

static const laze_op_info *info_of(const laze_operator *op) {
  return laze_op_get(op->op);
}

int32_t laze_operator_count(void) {
  return laze_operators_count;
}

const laze_operator *laze_operator_at(int32_t index) {
  return index >= 0 && index < laze_operators_count ? &laze_operators[index] : NULL;
}

const laze_operator *laze_operator_find(const char *name) {
  if (!name) return NULL;
  laze_op op = laze_op_find(name);
  if (op == LAZE_OP_NONE || strcmp(laze_op_get(op)->name, name) != 0) return NULL;
  int32_t low = 0, high = laze_operators_count;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (laze_operators[middle].op < op)
      low = middle + 1;
    else
      high = middle;
  }
  return low < laze_operators_count && laze_operators[low].op == op ? &laze_operators[low] : NULL;
}

int32_t laze_operator_number(const char *name) {
  const laze_operator *op = laze_operator_find(name);
  return op ? (int32_t)(op - laze_operators) : -1;
}

const char *laze_operator_name(const laze_operator *op) {
  return op ? info_of(op)->name : NULL;
}

const char *laze_operator_base_name(const laze_operator *op) {
  return op ? info_of(op)->base : NULL;
}

const char *laze_operator_function(const laze_operator *op) {
  return op ? op->function : NULL;
}

const char *laze_operator_schema(const laze_operator *op) {
  return op ? info_of(op)->schema : NULL;
}

const char *laze_operator_doc(const laze_operator *op) {
  return op ? op->doc : NULL;
}

int32_t laze_operator_is_method(const laze_operator *op) {
  return op ? op->is_method : 0;
}

const char *laze_operator_in_place(const laze_operator *op) {
  return op ? laze_op_in_place(info_of(op)) : NULL;
}

int32_t laze_operator_target(const laze_operator *op) {
  return op ? laze_op_target(info_of(op)) : 0;
}

int32_t laze_operator_result_count(const laze_operator *op) {
  return op ? info_of(op)->result_count : 0;
}

const char *laze_operator_result_name(const laze_operator *op, int32_t index) {
  return op && index >= 0 && index < info_of(op)->result_count ? op->result_names[index] : NULL;
}

int32_t laze_operator_argument_count(const laze_operator *op) {
  return op ? info_of(op)->argument_count : 0;
}

const laze_operator_argument *laze_operator_argument_at(const laze_operator *op, int32_t index) {
  return op && index >= 0 && index < info_of(op)->argument_count ? &op->arguments[index] : NULL;
}

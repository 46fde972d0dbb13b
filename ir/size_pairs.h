/* Compares and hashes sizes of different tables: expressions are equal when they have the same shape and their symbols
 * correspond one to one, whatever the symbols are called. */
#ifndef LAZE_IR_SIZE_PAIRS_H
#define LAZE_IR_SIZE_PAIRS_H

#include "shape_inference/size.h"

typedef struct laze_size_pair {
  laze_size left;
  uint64_t right; /* the matching size, or the hash */
  bool used;
} laze_size_pair;

/* What is known so far, by the size on the left; each expression is looked into once. */
typedef struct laze_size_pairs {
  laze_context *context;
  const laze_size_table *left, *right; /* right: NULL when hashing */
  laze_size_pair *slots;
  int64_t count, capacity;
  laze_size_pair *symbols; /* from right to left, so that the correspondence is one to one */
  int64_t symbol_count, symbol_capacity;
  laze_size *stack;
  int64_t stack_count, stack_capacity;
} laze_size_pairs;

void laze_size_pairs_init(laze_size_pairs *pairs, laze_context *context, const laze_size_table *left,
                          const laze_size_table *right);
void laze_size_pairs_deinit(laze_size_pairs *pairs);
/* False as well when memory is out. */
bool laze_size_pairs_equal(laze_size_pairs *pairs, laze_size left, laze_size right);
/* The hash of a size of the left table; *failed is set when memory is out. */
uint64_t laze_size_pairs_hash(laze_size_pairs *pairs, laze_size size, bool *failed);

#endif

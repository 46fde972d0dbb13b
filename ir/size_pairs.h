/* Compares and hashes sizes of different tables. Expressions are equal when they are the same sums and products, in any
 * order (which depends on the numbers of their symbols), and their symbols correspond one to one, whatever the
 * symbols are called.
 *
 * Expressions are compared by a 64-bit hash that does not depend on order; symbols and constants exactly.
 */
#ifndef LAZE_IR_SIZE_PAIRS_H
#define LAZE_IR_SIZE_PAIRS_H

#include "shape_inference/size.h"

/* A table from size words to words. */
typedef struct laze_word_entry {
  laze_size key;
  uint64_t value;
  bool used;
} laze_word_entry;

typedef struct laze_word_map {
  laze_word_entry *entries; /* open addressing, at most half full */
  int64_t count, capacity;
} laze_word_map;

enum { LAZE_LEFT, LAZE_RIGHT };

typedef struct laze_size_pairs {
  laze_context *context;
  const laze_size_table *tables[2]; /* the right one: NULL when hashing */
  laze_word_map hashes[2];          /* of the expressions seen so far: each is looked into once */
  laze_word_map partners[2];        /* of a side's symbols: the symbol of the other side */
  uint64_t next_number;             /* of symbols that are met standing alone, when hashing */
  laze_size *stack;
  int64_t stack_count, stack_capacity;
  bool failed; /* memory ran out */
} laze_size_pairs;

void laze_size_pairs_init(laze_size_pairs *pairs, laze_context *context, const laze_size_table *left,
                          const laze_size_table *right);
void laze_size_pairs_deinit(laze_size_pairs *pairs);
/* False as well when memory is out. */
bool laze_size_pairs_equal(laze_size_pairs *pairs, laze_size left, laze_size right);
/* The hash of a size of the left table; look at `failed` at the end. */
uint64_t laze_size_pairs_hash(laze_size_pairs *pairs, laze_size size);

#endif

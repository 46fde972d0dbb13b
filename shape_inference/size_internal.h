/* The inside of laze_size_table, shared by the size*.c and facts.c files. */
#ifndef LAZE_SHAPE_INFERENCE_SIZE_INTERNAL_H
#define LAZE_SHAPE_INFERENCE_SIZE_INTERNAL_H

#include "shape_inference/size.h"

/* What a message quotes of a text: at most `most` (63) characters, and of the line alone. */
typedef struct laze_excerpt_text {
  char text[64];
} laze_excerpt_text;
static inline laze_excerpt_text laze_excerpt(const char *text, size_t most) {
  laze_excerpt_text excerpt;
  size_t length = 0;
  for (; length < most && text[length] && text[length] != '\r' && text[length] != '\n'; length++)
    excerpt.text[length] = text[length];
  excerpt.text[length] = 0;
  return excerpt;
}

/* One term of a polynomial: coefficient * monomial. The monomial of a constant term is the constant 1. */
typedef struct laze_size_term {
  int64_t coefficient;
  laze_size monomial;
} laze_size_term;

typedef struct laze_term_list {
  laze_size_term *items;
  int64_t count, capacity;
} laze_term_list;

struct laze_size_table {
  laze_context *context; /* borrowed */
  laze_arena names;
  laze_size_node *nodes; /* operands come before users */
  int64_t node_count, node_capacity;
  int32_t *slots; /* open hash table of node indices, -1 free; at most half full */
  int64_t slot_count;
  laze_size *symbols;
  int64_t symbol_count, symbol_capacity;
  int64_t *hints; /* per symbol, -1: none */
  int64_t hint_capacity, hint_count;
  int64_t defined_count; /* symbols that nodes define */
  bool asks;             /* questions about those fail, and the last one is `question` */
  laze_fact question;
  laze_fact *facts;
  int64_t fact_count, fact_capacity;
  int32_t *carried; /* indices of facts, in the order in which they were first asked as carried ones */
  int64_t carried_count, carried_capacity;
  int32_t *fact_slots; /* like `slots`, of fact indices */
  int64_t fact_slot_count;
  laze_term_list left, right, result; /* scratch of one building step */
  laze_size *factors;                 /* scratch of one product of monomials */
  int64_t factor_capacity;
};

static inline int64_t laze_size_index(laze_size size) {
  return LAZE_SIZE_CONSTANT_MIN - 1 - size;
}
static inline laze_size laze_size_from_index(int64_t index) {
  return LAZE_SIZE_CONSTANT_MIN - 1 - index;
}

/* Bounds of a value, inclusive. They saturate at the ends of int64_t, which bound every value that can be evaluated. */
typedef struct laze_size_range {
  int64_t low, high;
} laze_size_range;

laze_size_range laze_size_get_range(const laze_size_table *table, laze_size size);
/* The bounds of an operation on values within `a` and `b`. */
laze_size_range laze_size_range_apply(laze_size_kind kind, laze_size_range a, laze_size_range b);

/* The entry for exactly this node, made if new, without any simplification. */
LAZE_MUST_USE laze_status laze_size_intern(laze_size_table *table, laze_size_kind kind, laze_size left, laze_size right,
                                           laze_size *out, laze_error *error);
/* The operation on numbers. LAZE_OUT_OF_RANGE for division by zero and for what does not fit int64_t. */
LAZE_MUST_USE laze_status laze_size_apply(laze_size_kind kind, int64_t a, int64_t b, int64_t *out, laze_error *error);
/* "+", "*", "floordiv", ...; static storage. */
const char *laze_size_kind_name(laze_size_kind kind);
/* The bounds of a - b as a polynomial, so that n and n + 1 are told apart although their ranges overlap. `known` is
 * false where coefficients overflow. */
LAZE_MUST_USE laze_status laze_size_difference_range(laze_size_table *table, laze_size a, laze_size b,
                                                     laze_size_range *out, bool *known, laze_error *error);

static inline bool laze_size_fits(int64_t value) {
  return value >= LAZE_SIZE_CONSTANT_MIN && value <= LAZE_SIZE_CONSTANT_MAX;
}
LAZE_MUST_USE laze_status laze_size_fail_overflow(laze_error *error);
bool laze_size_is_kind(const laze_size_table *table, laze_size size, laze_size_kind kind);

/* Polynomials (size_polynomial.c). */
laze_size_term laze_size_get_term(const laze_size_table *table, laze_size size);
/* Order of monomials: of higher degree first, then by factors, symbols in the order of their numbers before compound
 * factors; the constant's 1 comes last. It depends on expressions and numbers of symbols alone, not on what the table
 * met first, so that the text form of an expression reads back to the same text. */
int laze_monomial_compare(const laze_size_table *table, laze_size a, laze_size b);
/* Order of factors, and of any other expressions of which neither is a product: constants come last. */
int laze_factor_compare(const laze_size_table *table, laze_size a, laze_size b);
LAZE_MUST_USE laze_status laze_monomial_multiply(laze_size_table *table, laze_size a, laze_size b, laze_size *out,
                                                 laze_error *error);
/* *out = a / b where every factor of `b` is one of `a`'s; *exact says whether. */
LAZE_MUST_USE laze_status laze_monomial_divide(laze_size_table *table, laze_size a, laze_size b, bool *exact,
                                               laze_size *out, laze_error *error);
LAZE_MUST_USE laze_status laze_terms_push(laze_size_table *table, laze_term_list *list, int64_t coefficient,
                                          laze_size monomial, laze_error *error);
/* The terms of a sum times `scale`, in order. */
LAZE_MUST_USE laze_status laze_terms_collect(laze_size_table *table, laze_size size, int64_t scale,
                                             laze_term_list *list, laze_error *error);
/* Puts a term that comes after all others at the end of *sum (0: no terms yet). */
LAZE_MUST_USE laze_status laze_terms_append(laze_size_table *table, laze_size_term term, laze_size *sum,
                                            laze_error *error);
/* The word of an ordered list of terms with distinct monomials and coefficients other than 0. */
LAZE_MUST_USE laze_status laze_terms_build(laze_size_table *table, const laze_term_list *list, laze_size *out,
                                           laze_error *error);
/* Merges the ordered lists `left` and `right` of the table into `result`. */
LAZE_MUST_USE laze_status laze_terms_merge(laze_size_table *table, laze_error *error);
/* Orders the table's `result` and joins terms of the same monomial. */
LAZE_MUST_USE laze_status laze_terms_normalise(laze_size_table *table, laze_error *error);

/* A table from node index to a number, for walks that must visit shared parts once. Small walks stay on the stack. */
enum { LAZE_SIZE_MEMO_INLINE = 32 };
typedef struct laze_size_memo_entry {
  int64_t index, value; /* index -1: free */
} laze_size_memo_entry;
typedef struct laze_size_memo {
  laze_context *context;
  laze_size_memo_entry *entries;
  int64_t count, capacity;
  laze_size_memo_entry local[LAZE_SIZE_MEMO_INLINE];
} laze_size_memo;

/* Evaluates several sizes under the same bindings, sharing what they have in common. */
typedef struct laze_size_evaluator {
  const laze_size_table *table;
  const int64_t *bindings;
  laze_size_memo memo;
} laze_size_evaluator;

void laze_size_evaluator_init(laze_size_evaluator *evaluator, const laze_size_table *table, const int64_t *bindings);
void laze_size_evaluator_deinit(laze_size_evaluator *evaluator);
LAZE_MUST_USE laze_status laze_size_evaluator_run(laze_size_evaluator *evaluator, laze_size size, int64_t *out,
                                                  laze_error *error);

#endif

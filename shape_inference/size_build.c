/* Building size expressions in canonical form.
 *
 *   sum      = term + term + ... + constant     ADD nodes, leftmost deepest; ordered by laze_monomial_compare()
 *   term     = monomial * coefficient           the coefficient is left out when it is 1
 *   monomial = factor * factor * ...            MUL nodes, leftmost deepest; by laze_factor_compare(); powers repeat
 *   factor   = a symbol, or a floordiv, ceildiv, mod, min or max
 *
 * Two polynomials over the same factors are equal exactly when these forms are, which hash-consing makes the same word:
 *   n*2 + n      -> n*3
 *   (n+1)*(n-1)  -> n*n-1
 *   floordiv(n*4+6, 4) -> n+1
 */
#include "shape_inference/size.h"

#include "base/checked.h"
#include "shape_inference/size_internal.h"

#include <string.h>

enum {
  LARGEST_EXPANSION = 4096, /* terms of a product of two sums: enough for any real shape, and bounded for a bad file */
  LARGEST_EXACT_SEARCH = 16,
};

/* Adds a term to a sum: terms that come after it are taken off the end and put back, so that a sum which grows at its
 * end, as one of many symbols does, takes linear time. */
static laze_status add_term(laze_size_table *table, laze_size sum, laze_size_term term, laze_size *out,
                            laze_error *error) {
  laze_term_list *after = &table->right;
  after->count = 0;
  for (bool more = true; more && sum != 0;) {
    more = laze_size_is_kind(table, sum, LAZE_SIZE_ADD);
    laze_size_term last = laze_size_get_term(table, more ? laze_size_get(table, sum)->right : sum);
    int order = laze_monomial_compare(table, last.monomial, term.monomial);
    if (order < 0) break;
    sum = more ? laze_size_get(table, sum)->left : 0;
    if (order > 0) {
      LAZE_TRY(laze_terms_push(table, after, last.coefficient, last.monomial, error));
      continue;
    }
    if (laze_add_overflows(term.coefficient, last.coefficient, &term.coefficient))
      return laze_size_fail_overflow(error);
    break;
  }
  if (!laze_size_fits(term.coefficient)) return laze_size_fail_overflow(error);
  if (term.coefficient != 0) LAZE_TRY(laze_terms_push(table, after, term.coefficient, term.monomial, error));
  while (after->count > 0) LAZE_TRY(laze_terms_append(table, after->items[--after->count], &sum, error));
  *out = sum;
  return LAZE_OK;
}

static laze_status build_add(laze_size_table *table, laze_size a, laze_size b, laze_size *out, laze_error *error) {
  if (!laze_size_is_kind(table, b, LAZE_SIZE_ADD)) return add_term(table, a, laze_size_get_term(table, b), out, error);
  if (!laze_size_is_kind(table, a, LAZE_SIZE_ADD)) return add_term(table, b, laze_size_get_term(table, a), out, error);
  LAZE_TRY(laze_terms_collect(table, a, 1, &table->left, error));
  LAZE_TRY(laze_terms_collect(table, b, 1, &table->right, error));
  LAZE_TRY(laze_terms_merge(table, error));
  return laze_terms_build(table, &table->result, out, error);
}

typedef __int128 wide;

static int64_t narrow(wide value) {
  return value > INT64_MAX ? INT64_MAX : value < INT64_MIN ? INT64_MIN : (int64_t)value;
}

/* The bounds of the sum in `result`. Its terms and prefixes are not what is evaluated, so they may be beyond int64_t;
 * a term beyond 2^100 makes its side unbounded, for a few of those would not fit `wide` either. */
static laze_size_range range_of_result(const laze_size_table *table) {
  const wide beyond = (wide)1 << 100;
  wide low = 0, high = 0;
  bool no_low = false, no_high = false;
  for (int64_t i = 0; i < table->result.count; i++) {
    laze_size_range factor = laze_size_get_range(table, table->result.items[i].monomial);
    wide coefficient = table->result.items[i].coefficient;
    wide least = coefficient * (coefficient > 0 ? factor.low : factor.high);
    wide most = coefficient * (coefficient > 0 ? factor.high : factor.low);
    no_low = no_low || least < -beyond || least > beyond;
    no_high = no_high || most < -beyond || most > beyond;
    if (!no_low) low += least;
    if (!no_high) high += most;
  }
  return (laze_size_range){no_low ? INT64_MIN : narrow(low), no_high ? INT64_MAX : narrow(high)};
}

laze_status laze_size_difference_range(laze_size_table *table, laze_size a, laze_size b, laze_size_range *out,
                                       bool *known, laze_error *error) {
  laze_status status = laze_terms_collect(table, a, 1, &table->left, NULL);
  if (status == LAZE_OK) status = laze_terms_collect(table, b, -1, &table->right, NULL);
  if (status == LAZE_OK) status = laze_terms_merge(table, NULL);
  *known = status == LAZE_OK;
  if (*known) *out = range_of_result(table);
  return status == LAZE_OUT_OF_MEMORY ? laze_fail_memory(error, "comparing sizes", -1) : LAZE_OK;
}

static laze_status build_mul(laze_size_table *table, laze_size a, laze_size b, laze_size *out, laze_error *error) {
  if (laze_size_is_constant(a) || laze_size_is_constant(b)) {
    int64_t scale = laze_size_is_constant(a) ? a : b;
    LAZE_TRY(laze_terms_collect(table, laze_size_is_constant(a) ? b : a, scale, &table->result, error));
    return laze_terms_build(table, &table->result, out, error);
  }
  LAZE_TRY(laze_terms_collect(table, a, 1, &table->left, error));
  LAZE_TRY(laze_terms_collect(table, b, 1, &table->right, error));
  int64_t left = table->left.count, right = table->right.count;
  if (left > 1 && right > 1 && left * right > LARGEST_EXPANSION)
    return laze_fail(error, LAZE_OUT_OF_RANGE,
                     "the product of two size expressions with %lld and %lld terms is too large; at most %d",
                     (long long)left, (long long)right, LARGEST_EXPANSION);
  table->result.count = 0;
  for (int64_t i = 0; i < left; i++)
    for (int64_t j = 0; j < right; j++) {
      laze_size_term x = table->left.items[i], y = table->right.items[j];
      if (laze_mul_overflows(x.coefficient, y.coefficient, &x.coefficient) || !laze_size_fits(x.coefficient))
        return laze_size_fail_overflow(error);
      LAZE_TRY(laze_monomial_multiply(table, x.monomial, y.monomial, &x.monomial, error));
      LAZE_TRY(laze_terms_push(table, &table->result, x.coefficient, x.monomial, error));
    }
  LAZE_TRY(laze_terms_normalise(table, error));
  return laze_terms_build(table, &table->result, out, error);
}

/* Splits a = quotient * b + rest, where `b` is one term: what divides exactly, and the constant's share. */
static laze_status split_quotient(laze_size_table *table, laze_size a, laze_size_term b, laze_size *quotient,
                                  laze_size *rest, laze_error *error) {
  LAZE_TRY(laze_terms_collect(table, a, 1, &table->left, error));
  table->result.count = table->right.count = 0;
  for (int64_t i = 0; i < table->left.count; i++) {
    laze_size_term term = table->left.items[i];
    laze_size monomial;
    bool exact;
    LAZE_TRY(laze_monomial_divide(table, term.monomial, b.monomial, &exact, &monomial, error));
    int64_t share = laze_floor_div(term.coefficient, b.coefficient);
    int64_t left_over = laze_floor_mod(term.coefficient, b.coefficient);
    if (!exact || (left_over != 0 && term.monomial != 1)) {
      share = 0;
      left_over = term.coefficient;
    }
    if (share != 0) LAZE_TRY(laze_terms_push(table, &table->result, share, monomial, error));
    if (left_over != 0) LAZE_TRY(laze_terms_push(table, &table->right, left_over, term.monomial, error));
  }
  LAZE_TRY(laze_terms_normalise(table, error)); /* dividing by a symbol may change the order */
  LAZE_TRY(laze_terms_build(table, &table->result, quotient, error));
  return laze_terms_build(table, &table->right, rest, error);
}

/* Finds *quotient (one term) with quotient * b = a for a sum `b`, as in (n*m+n)/(m+1). */
static laze_status find_exact_quotient(laze_size_table *table, laze_size a, laze_size b, bool *found,
                                       laze_size *quotient, laze_error *error) {
  laze_size first = b;
  *found = false;
  while (laze_size_is_kind(table, first, LAZE_SIZE_ADD)) first = laze_size_get(table, first)->left;
  laze_size_term divisor = laze_size_get_term(table, first);
  LAZE_TRY(laze_terms_collect(table, a, 1, &table->left, error));
  int64_t count = table->left.count;
  laze_size_term terms[LARGEST_EXACT_SEARCH];
  if (count == 0 || count > LARGEST_EXACT_SEARCH) return LAZE_OK;
  memcpy(terms, table->left.items, (size_t)count * sizeof *terms);
  for (int64_t i = 0; i < count && !*found; i++) {
    laze_size candidate, product;
    LAZE_TRY(laze_monomial_divide(table, terms[i].monomial, divisor.monomial, found, &candidate, error));
    *found = *found && laze_floor_mod(terms[i].coefficient, divisor.coefficient) == 0;
    if (!*found) continue;
    int64_t coefficient = laze_floor_div(terms[i].coefficient, divisor.coefficient);
    laze_status status = laze_size_binary(table, LAZE_SIZE_MUL, candidate, coefficient, quotient, NULL);
    if (status == LAZE_OK) status = laze_size_binary(table, LAZE_SIZE_MUL, *quotient, b, &product, NULL);
    if (status == LAZE_OUT_OF_MEMORY) return laze_fail_memory(error, "a quotient of sizes", -1);
    *found = status == LAZE_OK && product == a;
  }
  return LAZE_OK;
}

static int64_t greatest_divisor(int64_t a, int64_t b) {
  while (b != 0) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a < 0 ? -a : a;
}

/* Divides the terms of *a and the constant *b by what they have in common, which *common receives. */
static laze_status reduce_fraction(laze_size_table *table, laze_size *a, laze_size *b, int64_t *common,
                                   laze_error *error) {
  *common = 1;
  if (!laze_size_is_constant(*b)) return LAZE_OK;
  LAZE_TRY(laze_terms_collect(table, *a, 1, &table->result, error));
  int64_t divisor = *b;
  for (int64_t i = 0; i < table->result.count; i++)
    divisor = greatest_divisor(divisor, table->result.items[i].coefficient);
  if (divisor <= 1) return LAZE_OK;
  for (int64_t i = 0; i < table->result.count; i++) table->result.items[i].coefficient /= divisor;
  *b /= divisor;
  *common = divisor;
  return laze_terms_build(table, &table->result, a, error);
}

/* floordiv(floordiv(x, 2), 3) is floordiv(x, 6), ceildiv likewise; mod(mod(x, 6), 3) is mod(x, 3). */
static bool flatten_division(laze_size_table *table, laze_size_kind kind, laze_size *a, laze_size *b) {
  bool flattened = false;
  while (laze_size_is_kind(table, *a, kind) && laze_size_is_constant(*b) && *b > 0) {
    const laze_size_node *inner = laze_size_get(table, *a);
    if (!laze_size_is_constant(inner->right) || inner->right <= 0) break;
    int64_t product = *b;
    if (kind == LAZE_SIZE_MOD && inner->right % *b != 0) break;
    if (kind != LAZE_SIZE_MOD && (laze_mul_overflows(inner->right, *b, &product) || !laze_size_fits(product))) break;
    *b = product;
    *a = inner->left;
    flattened = true;
  }
  return flattened;
}

/* A division node, or the constant to which its operands' ranges pin it, or mod's left operand where that is small. */
static laze_status intern_division(laze_size_table *table, laze_size_kind kind, laze_size a, laze_size b,
                                   laze_size *out, laze_error *error) {
  laze_size_range x = laze_size_get_range(table, a), y = laze_size_get_range(table, b);
  laze_size_range range = laze_size_range_apply(kind, x, y);
  *out = range.low;
  if (laze_size_is_constant(a) && laze_size_is_constant(b)) return laze_size_apply(kind, a, b, out, error);
  if (range.low == range.high && laze_size_fits(range.low)) return LAZE_OK;
  *out = a;
  if (kind == LAZE_SIZE_MOD && y.low > 0 && x.low >= 0 && x.high < y.low) return LAZE_OK;
  return laze_size_intern(table, kind, a, b, out, error);
}

static laze_status build_division(laze_size_table *table, laze_size_kind kind, laze_size a, laze_size b, laze_size *out,
                                  laze_error *error) {
  laze_size quotient = 0;
  bool is_mod = kind == LAZE_SIZE_MOD, exact = a == b;
  if (exact)
    quotient = 1;
  else if (laze_size_is_kind(table, b, LAZE_SIZE_ADD))
    LAZE_TRY(find_exact_quotient(table, a, b, &exact, &quotient, error));
  if (exact) {
    *out = is_mod ? 0 : quotient;
    return LAZE_OK;
  }
  quotient = 0;
  int64_t scale = 1; /* of the remainder: mod(2*x, 2*c) is 2*mod(x, c) */
  for (bool again = true; again && a != 0;) {
    laze_size part = 0;
    int64_t common;
    if (!laze_size_is_kind(table, b, LAZE_SIZE_ADD))
      LAZE_TRY(split_quotient(table, a, laze_size_get_term(table, b), &part, &a, error));
    LAZE_TRY(laze_size_binary(table, LAZE_SIZE_ADD, quotient, part, &quotient, error));
    LAZE_TRY(reduce_fraction(table, &a, &b, &common, error));
    scale *= common; /* the product divides the constant that `b` was */
    again = flatten_division(table, kind, &a, &b);
  }
  laze_size rest = 0;
  if (a != 0) LAZE_TRY(intern_division(table, kind, a, b, &rest, error));
  if (is_mod) return laze_size_binary(table, LAZE_SIZE_MUL, rest, scale, out, error);
  return laze_size_binary(table, LAZE_SIZE_ADD, quotient, rest, out, error);
}

static laze_status build_extreme(laze_size_table *table, laze_size_kind kind, laze_size a, laze_size b, laze_size *out,
                                 laze_error *error) {
  laze_size_range difference;
  bool known;
  LAZE_TRY(laze_size_difference_range(table, a, b, &difference, &known, error));
  bool is_min = kind == LAZE_SIZE_MIN;
  if (known && (difference.high <= 0 || difference.low >= 0)) {
    *out = (difference.high <= 0) == is_min ? a : b;
    return LAZE_OK;
  }
  for (int turn = 0; turn < 2; turn++) {
    laze_size outer = turn ? b : a, inner = turn ? a : b;
    if (!laze_size_is_kind(table, outer, kind)) continue;
    const laze_size_node *node = laze_size_get(table, outer);
    if (node->left != inner && node->right != inner) continue;
    *out = outer;
    return LAZE_OK;
  }
  bool ordered = laze_factor_compare(table, a, b) <= 0;
  return laze_size_intern(table, kind, ordered ? a : b, ordered ? b : a, out, error);
}

laze_status laze_size_binary(laze_size_table *table, laze_size_kind kind, laze_size a, laze_size b, laze_size *out,
                             laze_error *error) {
  if (a > LAZE_SIZE_CONSTANT_MAX || b > LAZE_SIZE_CONSTANT_MAX) return laze_size_fail_overflow(error);
  if (laze_size_is_constant(a) && laze_size_is_constant(b)) {
    LAZE_TRY(laze_size_apply(kind, a, b, out, error));
    return laze_size_fits(*out) ? LAZE_OK : laze_size_fail_overflow(error);
  }
  switch (kind) {
  case LAZE_SIZE_ADD: return build_add(table, a, b, out, error);
  case LAZE_SIZE_MUL: return build_mul(table, a, b, out, error);
  case LAZE_SIZE_MIN:
  case LAZE_SIZE_MAX: return build_extreme(table, kind, a, b, out, error);
  default: break;
  }
  if (b == 0)
    return laze_fail(error, LAZE_OUT_OF_RANGE, "%s by 0: the divisor of a size must not be 0",
                     laze_size_kind_name(kind));
  return build_division(table, kind, a, b, out, error);
}

laze_status laze_size_estimate(laze_size_table *table, laze_size_kind kind, laze_size a, laze_size b, laze_size *out,
                               laze_error *error) {
  laze_status status = laze_size_binary(table, kind, a, b, out, error);
  if (status != LAZE_OUT_OF_RANGE) return status;
  *out = LAZE_SIZE_CONSTANT_MAX;
  return LAZE_OK;
}

laze_status laze_size_product(laze_size_table *table, const laze_size *sizes, int count, laze_size *out,
                              laze_error *error) {
  laze_size product = 1;
  /* A zero first: the others' product may be beyond what fits. */
  for (int i = 0; i < count; i++)
    if (sizes[i] == 0) product = 0;
  for (int i = 0; i < count && product != 0; i++)
    LAZE_TRY(laze_size_binary(table, LAZE_SIZE_MUL, product, sizes[i], &product, error));
  *out = product;
  return LAZE_OK;
}

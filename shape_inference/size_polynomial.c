/* Sums of products as lists of terms: taking expressions apart and putting them together in canonical order. */
#include "shape_inference/size.h"

#include "base/checked.h"
#include "shape_inference/size_internal.h"

#include <stdlib.h>

laze_status laze_size_fail_overflow(laze_error *error) {
  return laze_fail(error, LAZE_OUT_OF_RANGE,
                   "a constant in a size expression exceeds 2^62; sizes and their products must stay below 2^62");
}

bool laze_size_is_kind(const laze_size_table *table, laze_size size, laze_size_kind kind) {
  return !laze_size_is_constant(size) && laze_size_get(table, size)->kind == kind;
}

static bool has_coefficient(const laze_size_table *table, laze_size size) {
  return laze_size_is_kind(table, size, LAZE_SIZE_MUL) && laze_size_is_constant(laze_size_get(table, size)->right);
}

laze_size_term laze_size_get_term(const laze_size_table *table, laze_size size) {
  if (laze_size_is_constant(size)) return (laze_size_term){size, 1};
  if (!has_coefficient(table, size)) return (laze_size_term){1, size};
  const laze_size_node *node = laze_size_get(table, size);
  return (laze_size_term){node->right, node->left};
}

static int compare_numbers(int64_t a, int64_t b) {
  return a < b ? -1 : a > b;
}

int laze_factor_compare(const laze_size_table *table, laze_size a, laze_size b) {
  if (a == b) return 0;
  if (laze_size_is_constant(a) || laze_size_is_constant(b))
    return laze_size_is_constant(a) && laze_size_is_constant(b) ? compare_numbers(a, b)
           : laze_size_is_constant(a)                           ? 1
                                                                : -1;
  const laze_size_node *x = laze_size_get(table, a), *y = laze_size_get(table, b);
  if ((x->kind == LAZE_SIZE_SYMBOL) != (y->kind == LAZE_SIZE_SYMBOL)) return x->kind == LAZE_SIZE_SYMBOL ? -1 : 1;
  if (x->first != y->first) return compare_numbers(x->first, y->first);
  if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
  if (x->shape != y->shape) return x->shape < y->shape ? -1 : 1;
  return a > b ? -1 : 1; /* two expressions with one hash of 64 bits: in the order in which they came */
}

int laze_monomial_compare(const laze_size_table *table, laze_size a, laze_size b) {
  if (a == b) return 0;
  if (laze_size_is_constant(a) || laze_size_is_constant(b)) return laze_size_is_constant(a) ? 1 : -1;
  const laze_size_node *x = laze_size_get(table, a), *y = laze_size_get(table, b);
  if (x->degree != y->degree) return x->degree > y->degree ? -1 : 1;
  /* The same number of factors, the first ones deepest: the deepest difference counts. */
  int order = 0;
  for (int64_t left = x->degree; left > 1 && a != b; left--) {
    x = laze_size_get(table, a);
    y = laze_size_get(table, b);
    if (x->right != y->right) order = laze_factor_compare(table, x->right, y->right);
    a = x->left;
    b = y->left;
  }
  return a != b ? laze_factor_compare(table, a, b) : order;
}

static int compare_terms(const void *a, const void *b, void *table) {
  return laze_monomial_compare(table, ((const laze_size_term *)a)->monomial, ((const laze_size_term *)b)->monomial);
}

static int compare_factors(const void *a, const void *b, void *table) {
  return laze_factor_compare(table, *(const laze_size *)a, *(const laze_size *)b);
}

laze_status laze_terms_push(laze_size_table *table, laze_term_list *list, int64_t coefficient, laze_size monomial,
                            laze_error *error) {
  LAZE_TRY(
      laze_grow(table->context, (void **)&list->items, &list->capacity, list->count + 1, sizeof *list->items, error));
  list->items[list->count++] = (laze_size_term){coefficient, monomial};
  return LAZE_OK;
}

/* The terms of a sum times `scale`, in order. */
laze_status laze_terms_collect(laze_size_table *table, laze_size size, int64_t scale, laze_term_list *list,
                               laze_error *error) {
  list->count = 0;
  for (bool more = true; more;) {
    more = laze_size_is_kind(table, size, LAZE_SIZE_ADD);
    laze_size_term term = laze_size_get_term(table, more ? laze_size_get(table, size)->right : size);
    if (more) size = laze_size_get(table, size)->left;
    if (laze_mul_overflows(term.coefficient, scale, &term.coefficient) || !laze_size_fits(term.coefficient))
      return laze_size_fail_overflow(error);
    if (term.coefficient != 0) LAZE_TRY(laze_terms_push(table, list, term.coefficient, term.monomial, error));
  }
  for (int64_t low = 0, high = list->count - 1; low < high; low++, high--) {
    laze_size_term swapped = list->items[low];
    list->items[low] = list->items[high];
    list->items[high] = swapped;
  }
  return LAZE_OK;
}

/* Puts a term that comes after all others at the end of *sum (0: no terms yet). */
laze_status laze_terms_append(laze_size_table *table, laze_size_term term, laze_size *sum, laze_error *error) {
  laze_size word = term.monomial;
  if (word == 1)
    word = term.coefficient;
  else if (term.coefficient != 1)
    LAZE_TRY(laze_size_intern(table, LAZE_SIZE_MUL, word, term.coefficient, &word, error));
  if (*sum != 0) return laze_size_intern(table, LAZE_SIZE_ADD, *sum, word, sum, error);
  *sum = word;
  return LAZE_OK;
}

/* The word of an ordered list of terms with distinct monomials and coefficients other than 0. */
laze_status laze_terms_build(laze_size_table *table, const laze_term_list *list, laze_size *out, laze_error *error) {
  *out = 0;
  for (int64_t i = 0; i < list->count; i++) LAZE_TRY(laze_terms_append(table, list->items[i], out, error));
  return LAZE_OK;
}

/* Merges the ordered lists `left` and `right` into `result`. */
laze_status laze_terms_merge(laze_size_table *table, laze_error *error) {
  const laze_term_list *left = &table->left, *right = &table->right;
  table->result.count = 0;
  for (int64_t i = 0, j = 0; i < left->count || j < right->count;) {
    int order = i == left->count    ? 1
                : j == right->count ? -1
                                    : laze_monomial_compare(table, left->items[i].monomial, right->items[j].monomial);
    laze_size_term term = order <= 0 ? left->items[i] : right->items[j];
    if (order == 0 && laze_add_overflows(term.coefficient, right->items[j].coefficient, &term.coefficient))
      return laze_size_fail_overflow(error);
    if (!laze_size_fits(term.coefficient)) return laze_size_fail_overflow(error);
    if (term.coefficient != 0) LAZE_TRY(laze_terms_push(table, &table->result, term.coefficient, term.monomial, error));
    i += order <= 0;
    j += order >= 0;
  }
  return LAZE_OK;
}

/* Appends the factors of a monomial to table->factors from `count` on, in order. */
static laze_status collect_factors(laze_size_table *table, laze_size monomial, int64_t *count, laze_error *error) {
  if (monomial == 1) return LAZE_OK;
  int64_t length = 1;
  for (laze_size at = monomial; laze_size_is_kind(table, at, LAZE_SIZE_MUL); at = laze_size_get(table, at)->left)
    length++;
  LAZE_TRY(laze_grow(table->context, (void **)&table->factors, &table->factor_capacity, *count + length,
                     sizeof *table->factors, error));
  laze_size at = monomial;
  for (int64_t i = *count + length - 1; i > *count; i--) {
    table->factors[i] = laze_size_get(table, at)->right;
    at = laze_size_get(table, at)->left;
  }
  table->factors[*count] = at;
  *count += length;
  return LAZE_OK;
}

static laze_status build_monomial(laze_size_table *table, int64_t count, laze_size *out, laze_error *error) {
  laze_size product = count > 0 ? table->factors[0] : 1;
  for (int64_t i = 1; i < count; i++)
    LAZE_TRY(laze_size_intern(table, LAZE_SIZE_MUL, product, table->factors[i], &product, error));
  *out = product;
  return LAZE_OK;
}

laze_status laze_monomial_multiply(laze_size_table *table, laze_size a, laze_size b, laze_size *out,
                                   laze_error *error) {
  if (a == 1 || b == 1) {
    *out = a == 1 ? b : a;
    return LAZE_OK;
  }
  if (!laze_size_is_kind(table, b, LAZE_SIZE_MUL)) {
    laze_size last = laze_size_is_kind(table, a, LAZE_SIZE_MUL) ? laze_size_get(table, a)->right : a;
    if (laze_factor_compare(table, last, b) <= 0) return laze_size_intern(table, LAZE_SIZE_MUL, a, b, out, error);
  }
  int64_t count = 0;
  LAZE_TRY(collect_factors(table, a, &count, error));
  LAZE_TRY(collect_factors(table, b, &count, error));
  qsort_r(table->factors, (size_t)count, sizeof *table->factors, compare_factors, table);
  return build_monomial(table, count, out, error);
}

/* *out = a / b where every factor of `b` is one of `a`'s; *exact says whether. */
laze_status laze_monomial_divide(laze_size_table *table, laze_size a, laze_size b, bool *exact, laze_size *out,
                                 laze_error *error) {
  int64_t count = 0;
  *exact = true;
  *out = a;
  if (b == 1) return LAZE_OK;
  LAZE_TRY(collect_factors(table, a, &count, error));
  int64_t first = count, end = count, kept = 0;
  LAZE_TRY(collect_factors(table, b, &end, error));
  int64_t divisor = first;
  for (int64_t i = 0; i < first; i++) {
    if (divisor < end && table->factors[i] == table->factors[divisor])
      divisor++;
    else
      table->factors[kept++] = table->factors[i];
  }
  *exact = divisor == end;
  return *exact ? build_monomial(table, kept, out, error) : LAZE_OK;
}

/* Orders `result` and joins terms of the same monomial. */
laze_status laze_terms_normalise(laze_size_table *table, laze_error *error) {
  laze_term_list *list = &table->result;
  if (list->count > 1) qsort_r(list->items, (size_t)list->count, sizeof *list->items, compare_terms, table);
  int64_t kept = 0;
  for (int64_t i = 0; i < list->count;) {
    laze_size_term term = list->items[i++];
    for (; i < list->count && list->items[i].monomial == term.monomial; i++)
      if (laze_add_overflows(term.coefficient, list->items[i].coefficient, &term.coefficient))
        return laze_size_fail_overflow(error);
    if (!laze_size_fits(term.coefficient)) return laze_size_fail_overflow(error);
    if (term.coefficient != 0) list->items[kept++] = term;
  }
  list->count = kept;
  return LAZE_OK;
}

/* Norms of matrices, and of what may be either, over the norm of vectors.
 *
 *   linalg_norm   no ord, or one dim: of vectors     two dims: of matrices
 *   renorm        the norm over all dims but one
 */
#include "ir/composite/composite.h"

#include "ir/composite.gen.h"
#include "ir/attribute.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

#include <math.h>
#include <string.h>

/* What the norms say in common: the dims (NULL: all), whether they stay, and the dtype. */
typedef struct {
  laze_recorder *recorder;
  const laze_call *call;
  laze_value self;
  laze_type type;
  const laze_attribute *dims, *keepdim, *dtype;
} norm;

static laze_status vector_norm(const norm *n, laze_scalar ord, laze_value *out, laze_error *error) {
  laze_attribute attributes[] = {laze_attribute_literal(ord), *n->dims, *n->keepdim, *n->dtype};
  return laze_record_call(n->recorder, LAZE_OP_LINALG_VECTOR_NORM, &n->self, 1, attributes, out, error);
}

/* The axes of matrices: the last two where the call has none but needs them. */
static laze_status find_axes(norm *n, laze_size *axes, laze_error *error) {
  const laze_size_list given = n->dims->present ? laze_attribute_list(n->dims) : (laze_size_list){0};
  if (n->type.rank < 2 || (n->dims->present && given.count != 2))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: %d dims of a tensor that has %d; expected two, of matrices",
                     laze_compose_name(n->call), (int)given.count, n->type.rank);
  for (int i = 0; i < 2; i++) {
    int axis;
    LAZE_TRY(
        laze_compose_axis(n->recorder, n->call, n->dims->present ? given.items[i] : i - 2, n->type.rank, &axis, error));
    axes[i] = axis;
  }
  if (axes[0] != axes[1]) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: both dims are %lld; expected two", laze_compose_name(n->call),
                   (long long)axes[0]);
}

static laze_status frobenius_norm(norm *n, laze_value *out, laze_error *error) {
  laze_size axes[2];
  LAZE_TRY(find_axes(n, axes, error));
  const laze_attribute dims = laze_attribute_integers(axes, 2);
  n->dims = &dims;
  return vector_norm(n, laze_scalar_integer(2), out, error);
}

/* Of all singular values the sum, the largest or the smallest one. */
static laze_status spectral_norm(norm *n, const char *kind, laze_value *out, laze_error *error) {
  laze_size axes[2];
  laze_value widened;
  LAZE_TRY(find_axes(n, axes, error));
  laze_attribute attributes[] = {laze_attribute_integer(axes[0]), laze_attribute_integer(axes[1]),
                                 laze_attribute_string(kind), *n->keepdim};
  LAZE_TRY(laze_record_call(n->recorder, LAZE_OP__WIDENED, &n->self, 1, n->dtype, &widened, error));
  return laze_record_call(n->recorder, LAZE_OP__NORM_OF_SINGULAR_VALUES, &widened, 1, attributes, out, error);
}

static laze_status matrix_norm(norm *n, laze_scalar ord, laze_value *out, laze_error *error) {
  const double number = laze_scalar_as_real(ord);
  const bool columns = fabs(number) == 1;
  laze_size axes[2];
  laze_value widened;
  if (fabs(number) == 2) return spectral_norm(n, number > 0 ? "largest" : "smallest", out, error);
  LAZE_TRY(find_axes(n, axes, error));
  if (!columns && !isinf(number))
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: ord is %g; expected 1, -1, 2, -2, inf, -inf, \"fro\" or \"nuc\"", laze_compose_name(n->call),
                     number);
  laze_attribute attributes[] = {laze_attribute_integer(axes[columns ? 0 : 1]),
                                 laze_attribute_integer(axes[columns ? 1 : 0]), laze_attribute_boolean(number > 0),
                                 *n->keepdim};
  LAZE_TRY(laze_record_call(n->recorder, LAZE_OP__WIDENED, &n->self, 1, n->dtype, &widened, error));
  return laze_record_call(n->recorder, LAZE_OP__LINE_NORM, &widened, 1, attributes, out, error);
}

static laze_status named_norm(norm *n, const char *name, laze_value *out, laze_error *error) {
  if (strcmp(name, "fro") == 0) return frobenius_norm(n, out, error);
  if (strcmp(name, "nuc") == 0) return spectral_norm(n, "sum", out, error);
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "%s: ord is \"%s\"; expected 1, -1, 2, -2, inf, -inf, \"fro\" or \"nuc\"",
                   laze_compose_name(n->call), name);
}

/* The three arguments that follow one another in all of them, from `dims` on. */
static norm begin(laze_recorder *recorder, const laze_call *call, int dims) {
  return (norm){.recorder = recorder,
                .call = call,
                .self = call->operands[0],
                .type = laze_compose_type(recorder, call->operands[0]),
                .dims = &call->attributes[dims],
                .keepdim = &call->attributes[dims + 1],
                .dtype = &call->attributes[dims + 2]};
}

laze_status laze_composite_linalg_matrix_norm(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                              laze_error *error) {
  norm n = begin(recorder, call, LAZE_LINALG_MATRIX_NORM_DIM);
  return matrix_norm(&n, call->attributes[LAZE_LINALG_MATRIX_NORM_ORD].value.literal, results, error);
}

laze_status laze_composite_linalg_matrix_norm_str_ord(laze_recorder *recorder, const laze_call *call,
                                                      laze_value *results, laze_error *error) {
  norm n = begin(recorder, call, LAZE_LINALG_MATRIX_NORM_STR_ORD_DIM);
  return named_norm(&n, call->attributes[LAZE_LINALG_MATRIX_NORM_STR_ORD_ORD].value.string, results, error);
}

laze_status laze_composite_linalg_norm(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                       laze_error *error) {
  const laze_attribute *ord = &call->attributes[LAZE_LINALG_NORM_ORD];
  norm n = begin(recorder, call, LAZE_LINALG_NORM_DIM);
  const int count = n.dims->present ? (int)laze_attribute_list(n.dims).count : n.type.rank;
  if ((n.dims->present || ord->present) && count != 1 && count != 2)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: got %d dims; expected one, of vectors, or two, of matrices",
                     laze_compose_name(call), count);
  if (ord->present && count == 2) return matrix_norm(&n, ord->value.literal, results, error);
  return vector_norm(&n, ord->present ? ord->value.literal : laze_scalar_integer(2), results, error);
}

laze_status laze_composite_linalg_norm_ord_str(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                               laze_error *error) {
  norm n = begin(recorder, call, LAZE_LINALG_NORM_ORD_STR_DIM);
  if (!n.dims->present && n.type.rank != 2)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: got a tensor of %d dims; expected two, of a matrix",
                     laze_compose_name(call), n.type.rank);
  return named_norm(&n, call->attributes[LAZE_LINALG_NORM_ORD_STR_ORD].value.string, results, error);
}

/* Of matrices without elements it is 0. */
laze_status laze_composite_linalg_cond(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                       laze_error *error) {
  const laze_attribute *p = &call->attributes[LAZE_LINALG_COND_P];
  const laze_type type = laze_compose_type(recorder, call->operands[0]);
  const double number = p->present ? laze_scalar_as_real(p->value.literal) : 2;
  laze_attribute attribute = laze_attribute_boolean(number > 0);
  if (type.rank < 2)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: got a tensor of %d dims; expected two or more, of matrices",
                     laze_compose_name(call), type.rank);
  if (type.sizes[type.rank - 1] == 0 && type.sizes[type.rank - 2] == 0) {
    laze_attribute filled[] = {laze_attribute_sizes(type.sizes, type.rank - 2),
                               laze_attribute_dtype(laze_dtype_part((laze_dtype)type.dtype))};
    return laze_record_call(recorder, LAZE_OP_ZEROS, NULL, 0, filled, results, error);
  }
  if (fabs(number) == 2)
    return laze_record_call(recorder, LAZE_OP__COND_BY_VALUES, call->operands, 1, &attribute, results, error);
  return laze_record_call(recorder, LAZE_OP__COND_BY_NORM, call->operands, 1, p, results, error);
}

laze_status laze_composite_renorm(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                  laze_error *error) {
  const laze_type type = laze_compose_type(recorder, call->operands[0]);
  const laze_scalar p = call->attributes[LAZE_RENORM_P].value.literal;
  const laze_attribute *maxnorm = &call->attributes[LAZE_RENORM_MAXNORM];
  laze_value operands[2] = {call->operands[0]};
  laze_size dims[LAZE_MAX_RANK];
  int kept;
  if (type.rank < 2 || !(laze_scalar_as_real(p) > 0) || !(laze_scalar_as_real(maxnorm->value.literal) >= 0))
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: got %d dims, p %g and maxnorm %g; expected two dims or more, p above 0 and maxnorm from 0 on",
                     laze_compose_name(call), type.rank, laze_scalar_as_real(p),
                     laze_scalar_as_real(maxnorm->value.literal));
  LAZE_TRY(laze_compose_axis(recorder, call, call->attributes[LAZE_RENORM_DIM].value.integer, type.rank, &kept, error));
  for (int i = 0, count = 0; i < type.rank; i++)
    if (i != kept) dims[count++] = i;
  laze_attribute attributes[] = {laze_attribute_literal(p), laze_attribute_integers(dims, type.rank - 1),
                                 laze_attribute_boolean(true), laze_attribute_absent(LAZE_ARGUMENT_DTYPE)};
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_LINALG_VECTOR_NORM, operands, 1, attributes, &operands[1], error));
  return laze_record_call(recorder, LAZE_OP__HELD_TO, operands, 2, maxnorm, results, error);
}

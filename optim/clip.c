/* Gradients that are limited before a step. */
#include "base/context.h"
#include "laze/autograd.h"
#include "laze/functions.h"
#include "optim/optimiser.h"

#include <math.h>

/* The norm of each gradient; how many there are. */
static int32_t fill_norms(laze_tensor *const *parameters, int32_t count, double order, laze_tensor **norms) {
  int32_t found = 0;
  for (int32_t i = 0; i < count; i++) {
    laze_tensor *gradient = laze_tensor_grad(parameters[i]);
    if (gradient) norms[found++] = laze_linalg_vector_norm(gradient, order, LAZE_ALL_DIMS, false);
  }
  return found;
}

/* The norm of all gradients is that of their norms; of none it is 0. */
static laze_status total_norm(laze_context *context, laze_tensor *const *parameters, int32_t count, double order,
                              laze_tensor **out, laze_error *error) {
  laze_tensor **norms = laze_alloc_array(context, count, sizeof *norms);
  if (!norms) return laze_fail_memory(error, "norms of gradients", count * (int64_t)sizeof *norms);
  const int32_t found = fill_norms(parameters, count, order, norms);
  *out = found > 0 ? laze_linalg_vector_norm(laze_stack(norms, found, 0), order, LAZE_ALL_DIMS, false)
                   : laze_zeros(context, LAZE_SHAPE_SCALAR, LAZE_F32);
  laze_free(context, norms);
  const laze_status status = laze_tensor_status(*out);
  return status == LAZE_OK ? LAZE_OK : laze_fail(error, status, "%s", laze_tensor_error(*out));
}

/* Whether the arguments make sense; the default context for NULL. */
static laze_status check_list(const char *function, laze_context **context, laze_tensor *const *parameters,
                              int32_t count, double limit, laze_error *error) {
  if (!*context) *context = laze_context_default();
  if (!*context) return laze_fail_memory(error, "the default context", -1);
  if (count < 0 || (count > 0 && !parameters))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: %d tensors at %p are no list", function, (int)count,
                     (const void *)parameters);
  for (int32_t i = 0; i < count; i++) {
    const laze_status status = laze_tensor_status(parameters[i]);
    if (status != LAZE_OK)
      return laze_fail(error, status, "%s: parameter %d is an error: %s", function, (int)i,
                       laze_tensor_error(parameters[i]));
  }
  if (limit >= 0) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: the limit is %g: expected 0 or more", function, limit);
}

static laze_status clip_norm(laze_context *context, laze_tensor *const *parameters, int32_t count, double max_norm,
                             double order, laze_tensor **norm, laze_error *error) {
  LAZE_TRY(total_norm(context, parameters, count, order, norm, error));
  laze_tensor *factor = laze_clamp_max(laze_div(max_norm, laze_add(*norm, 1e-6)), 1.0);
  for (int32_t i = 0; i < count; i++) {
    laze_tensor *gradient = laze_tensor_grad(parameters[i]);
    if (gradient) LAZE_TRY(laze_tensor_write(gradient, laze_mul(gradient, factor), error));
  }
  return LAZE_OK;
}

laze_status laze_clip_grad_norm(laze_context *context, laze_tensor *const *parameters, int32_t count, double max_norm,
                                double order, laze_tensor **norm, laze_error *error) {
  laze_tensor *local;
  if (!norm) norm = &local;
  *norm = NULL;
  LAZE_TRY(check_list("laze_clip_grad_norm", &context, parameters, count, max_norm, error));
  if (isnan(order) || order == 0)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "laze_clip_grad_norm: the order is %g: expected 2, 1, HUGE_VAL or another that is not 0", order);
  const int32_t recorded = laze_set_grad_enabled(context, 0);
  const laze_status status = clip_norm(context, parameters, count, max_norm, order, norm, error);
  (void)laze_set_grad_enabled(context, recorded);
  return status;
}

laze_status laze_clip_grad_value(laze_context *context, laze_tensor *const *parameters, int32_t count, double limit,
                                 laze_error *error) {
  LAZE_TRY(check_list("laze_clip_grad_value", &context, parameters, count, limit, error));
  const int32_t recorded = laze_set_grad_enabled(context, 0);
  laze_status status = LAZE_OK;
  for (int32_t i = 0; i < count && status == LAZE_OK; i++) {
    laze_tensor *gradient = laze_tensor_grad(parameters[i]);
    if (gradient) status = laze_tensor_write(gradient, laze_clamp(gradient, -limit, limit), error);
  }
  (void)laze_set_grad_enabled(context, recorded);
  return status;
}

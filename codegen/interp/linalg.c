/* Linear algebra: a node's operands and results as the runtime's functions of matrices take them.
 *
 *   linalg_lu_factor_ex %a, check_errors=true   ──>   laze_matrix_run(LAZE_MATRIX_LU, {operands, results, check})
 */
#include "codegen/interp/unit.h"
#include "runtime/lapack/matrix.h"

#include "ir/op.gen.h"

#include <string.h>

/* The last letter of the routine for least squares, as matrix.h has it. */
static char driver_of(const char *name) {
  return !strcmp(name, "gels") ? 's' : !strcmp(name, "gelsy") ? 'y' : !strcmp(name, "gelss") ? 'S' : 'd';
}

static bool flag(const interp_node *node, int32_t attribute) {
  return node->attributes[attribute].value.integer != 0;
}

static void describe_least(const interp_node *node, laze_matrix_call *call) {
  const laze_attribute *rcond = &node->attributes[LAZE__LINALG_LSTSQ_RCOND];
  call->driver = driver_of(node->attributes[LAZE__LINALG_LSTSQ_DRIVER].value.string);
  call->rcond = rcond->present ? rcond->value.real : -1;
}

/* Which function a node is, and what its attributes say. */
static laze_matrix_function describe(const interp_node *node, laze_matrix_call *call) {
  switch (node->op) {
  case LAZE_OP_LINALG_CHOLESKY_EX:
    call->upper = flag(node, LAZE_LINALG_CHOLESKY_EX_UPPER);
    call->check = flag(node, LAZE_LINALG_CHOLESKY_EX_CHECK_ERRORS);
    return LAZE_MATRIX_CHOLESKY;
  case LAZE_OP_LINALG_LU_FACTOR_EX:
    call->check = flag(node, LAZE_LINALG_LU_FACTOR_EX_CHECK_ERRORS);
    call->unpivoted = !flag(node, LAZE_LINALG_LU_FACTOR_EX_PIVOT);
    return LAZE_MATRIX_LU;
  case LAZE_OP_LINALG_LU_SOLVE:
    call->right = !flag(node, LAZE_LINALG_LU_SOLVE_LEFT);
    call->adjoint = flag(node, LAZE_LINALG_LU_SOLVE_ADJOINT);
    return LAZE_MATRIX_LU_SOLVE;
  case LAZE_OP_LU_UNPACK: return LAZE_MATRIX_LU_UNPACK;
  case LAZE_OP_LINALG_SOLVE_TRIANGULAR:
    call->upper = flag(node, LAZE_LINALG_SOLVE_TRIANGULAR_UPPER);
    call->right = !flag(node, LAZE_LINALG_SOLVE_TRIANGULAR_LEFT);
    call->unit = flag(node, LAZE_LINALG_SOLVE_TRIANGULAR_UNITRIANGULAR);
    return LAZE_MATRIX_TRIANGULAR;
  case LAZE_OP_GEQRF: return LAZE_MATRIX_QR;
  case LAZE_OP_LINALG_HOUSEHOLDER_PRODUCT: return LAZE_MATRIX_HOUSEHOLDER;
  case LAZE_OP_ORMQR:
    call->right = !flag(node, LAZE_ORMQR_LEFT);
    call->adjoint = flag(node, LAZE_ORMQR_TRANSPOSE);
    return LAZE_MATRIX_REFLECT;
  case LAZE_OP__LINALG_EIGH: {
    char letter = node->attributes[LAZE__LINALG_EIGH_UPLO].value.string[0];
    call->upper = letter == 'U' || letter == 'u';
    return LAZE_MATRIX_EIGEN;
  }
  case LAZE_OP__LINALG_EIG: return LAZE_MATRIX_SPECTRUM;
  case LAZE_OP__LINALG_SVD: return LAZE_MATRIX_SVD;
  case LAZE_OP__LINALG_LSTSQ: describe_least(node, call); return LAZE_MATRIX_LEAST;
  case LAZE_OP_LINALG_MATRIX_EXP: return LAZE_MATRIX_EXPONENTIAL;
  case LAZE_OP_LINALG_LDL_FACTOR_EX:
    call->check = flag(node, LAZE_LINALG_LDL_FACTOR_EX_CHECK_ERRORS);
    call->hermitian = flag(node, LAZE_LINALG_LDL_FACTOR_EX_HERMITIAN);
    return LAZE_MATRIX_LDL;
  default: call->hermitian = flag(node, LAZE_LINALG_LDL_SOLVE_HERMITIAN); return LAZE_MATRIX_LDL_SOLVE;
  }
}

static laze_matrix_tensor tensor_of(interp_tensor tensor) {
  return (laze_matrix_tensor){tensor.dtype, tensor.rank, tensor.dims, tensor.data};
}

void interp_execute_linalg(const interp_run *run, const interp_node *node) {
  laze_matrix_call call = {.context = run->unit->arena.context};
  laze_matrix_function function = describe(node, &call);
  laze_error error;
  for (int32_t i = 0; i < node->operand_count; i++) call.operands[i] = tensor_of(interp_operand(run, node, i));
  for (int32_t i = 0; i < node->result_count; i++) call.results[i] = tensor_of(interp_result(run, node, i));
  if (laze_matrix_run(function, &call, &error) != LAZE_OK)
    laze_kernel_fail(run->failures, node->check, run->reason, &error);
}

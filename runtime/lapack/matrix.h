/* Functions of batches of matrices, real or complex: what operators of linear algebra run. */
#ifndef LAZE_RUNTIME_LAPACK_MATRIX_H
#define LAZE_RUNTIME_LAPACK_MATRIX_H

#include "base/context.h"

#include <stdbool.h>

/* Elements by rows. */
typedef struct laze_matrix_tensor {
  laze_dtype dtype;
  int rank;
  const int64_t *dims;
  char *data;
} laze_matrix_tensor;

enum { LAZE_MATRIX_MAX_TENSORS = 4 };

/* One call. Result types are those of the operators (ops/native_functions/linalg.yaml), whose inference has checked the
 * operands. Batches of operands are broadcast. A result that is not wanted has no elements. */
typedef struct laze_matrix_call {
  laze_context *context;
  laze_matrix_tensor operands[LAZE_MATRIX_MAX_TENSORS], results[LAZE_MATRIX_MAX_TENSORS];
  bool upper;     /* the upper triangle is read, or written */
  bool right;     /* solves X A = B, multiplies C Q */
  bool adjoint;   /* takes the conjugate transpose of the matrix that is solved or multiplied with */
  bool unit;      /* the diagonal is taken to be of ones */
  bool unpivoted; /* rows are not to be exchanged, which LAPACK always does */
  bool hermitian; /* a complex matrix is its conjugate transpose, and not its transpose */
  char driver;    /* of least squares, the last letter of the routine: s as in gels, y, d, or S as in gelss */
  double rcond;   /* singular values count above it times the largest one; below 0: what roundings make of 0 */
  bool check;     /* fails where a matrix has no factor, which `info` says otherwise */
} laze_matrix_call;

typedef enum laze_matrix_function {
  LAZE_MATRIX_CHOLESKY,    /* A -> L, info */
  LAZE_MATRIX_LU,          /* A -> LU, pivots, info */
  LAZE_MATRIX_LU_SOLVE,    /* LU, pivots, B -> X */
  LAZE_MATRIX_LU_UNPACK,   /* LU, pivots -> P, L, U */
  LAZE_MATRIX_TRIANGULAR,  /* A, B -> X */
  LAZE_MATRIX_QR,          /* A -> a, tau */
  LAZE_MATRIX_HOUSEHOLDER, /* a, tau -> Q */
  LAZE_MATRIX_REFLECT,     /* a, tau, C -> Q C */
  LAZE_MATRIX_EIGEN,       /* A -> values, vectors */
  LAZE_MATRIX_SPECTRUM,    /* A -> values, vectors, which are complex */
  LAZE_MATRIX_SVD,         /* A -> U, S, Vh */
  LAZE_MATRIX_LDL,         /* A -> LD, pivots, info */
  LAZE_MATRIX_LDL_SOLVE,   /* LD, pivots, B -> X */
  LAZE_MATRIX_LEAST,       /* A, B -> X, residuals, rank, values */
  LAZE_MATRIX_EXPONENTIAL, /* A -> exp(A) */
  LAZE_MATRIX_FUNCTION_COUNT
} laze_matrix_function;

/* Fails where LAPACK is missing, a matrix is too large for it, memory is out, a matrix is none that the function takes
 * (where `check` says so), or an iteration does not end. */
LAZE_MUST_USE laze_status laze_matrix_run(laze_matrix_function function, const laze_matrix_call *call,
                                          laze_error *error);

#endif

/* LAPACK, opened when an operator of linear algebra first runs: nothing is linked with it or compiled against it.
 *
 * The functions have the plain Fortran interface with integers of 32 bits (LP64): everything is passed by address,
 * matrices lie by columns, and behind the arguments come the lengths of texts. Those of f32 and f64 differ in what they
 * point to alone, so that one table serves both.
 *
 * The reference's functions end the process where an argument is wrong (XERBLA): whoever calls them has checked all.
 */
#ifndef LAZE_RUNTIME_LAPACK_LAPACK_H
#define LAZE_RUNTIME_LAPACK_LAPACK_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/* Names or paths of libraries, separated by colons, that are tried in this order instead of the usual ones. */
#define LAZE_LAPACK_VARIABLE "LAZE_LAPACK"

/* f(name in the table, name of the function behind s or d, its parameters) */
#define LAZE_LAPACK_FUNCTIONS(f)                                                                                       \
  f(cholesky, potrf, (const char *uplo, const int32_t *n, void *a, const int32_t *lda, int32_t *info, size_t))         \
      f(lu, getrf, (const int32_t *m, const int32_t *n, void *a, const int32_t *lda, int32_t *pivots, int32_t *info))  \
          f(lu_solve, getrs,                                                                                           \
            (const char *trans, const int32_t *n, const int32_t *columns, const void *a, const int32_t *lda,           \
             const int32_t *pivots, void *b, const int32_t *ldb, int32_t *info, size_t))                               \
              f(triangular, trsm,                                                                                      \
                (const char *side, const char *uplo, const char *trans, const char *diag, const int32_t *m,            \
                 const int32_t *n, const void *alpha, const void *a, const int32_t *lda, void *b, const int32_t *ldb,  \
                 size_t, size_t, size_t, size_t)) f(qr, geqrf,                                                         \
                                                    (const int32_t *m, const int32_t *n, void *a, const int32_t *lda,  \
                                                     void *tau, void *work, const int32_t *lwork, int32_t *info))      \
                  f(householder, orgqr,                                                                                \
                    (const int32_t *m, const int32_t *n, const int32_t *k, void *a, const int32_t *lda,                \
                     const void *tau, void *work, const int32_t *lwork, int32_t *info))                                \
                      f(reflect, ormqr,                                                                                \
                        (const char *side, const char *trans, const int32_t *m, const int32_t *n, const int32_t *k,    \
                         const void *a, const int32_t *lda, const void *tau, void *c, const int32_t *ldc, void *work,  \
                         const int32_t *lwork, int32_t *info, size_t, size_t))                                         \
                          f(eigen, syevd,                                                                              \
                            (const char *jobz, const char *uplo, const int32_t *n, void *a, const int32_t *lda,        \
                             void *values, void *work, const int32_t *lwork, int32_t *iwork, const int32_t *liwork,    \
                             int32_t *info, size_t, size_t))                                                           \
                              f(svd, gesdd,                                                                            \
                                (const char *jobz, const int32_t *m, const int32_t *n, void *a, const int32_t *lda,    \
                                 void *values, void *u, const int32_t *ldu, void *vt, const int32_t *ldvt, void *work, \
                                 const int32_t *lwork, int32_t *iwork, int32_t *info, size_t))                         \
                                  f(ldl, sytrf,                                                                        \
                                    (const char *uplo, const int32_t *n, void *a, const int32_t *lda, int32_t *pivots, \
                                     void *work, const int32_t *lwork, int32_t *info, size_t))                         \
                                      f(ldl_solve, sytrs,                                                              \
                                        (const char *uplo, const int32_t *n, const int32_t *columns, const void *a,    \
                                         const int32_t *lda, const int32_t *pivots, void *b, const int32_t *ldb,       \
                                         int32_t *info, size_t))

typedef struct laze_lapack {
#define LAZE_LAPACK_FIELD(name, symbol, parameters) void(*name) parameters;
  LAZE_LAPACK_FUNCTIONS(LAZE_LAPACK_FIELD)
#undef LAZE_LAPACK_FIELD
} laze_lapack;

/* The functions for f32, or for f64; valid for as long as the process lives. Opens a library the first time; where
 * there is none (LAZE_UNSUPPORTED), the next call looks again. Thread-safe. */
LAZE_MUST_USE laze_status laze_lapack_open(int is_double, const laze_lapack **out, laze_error *error);

#endif

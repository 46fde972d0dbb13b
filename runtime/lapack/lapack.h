/* LAPACK, opened when an operator of linear algebra first runs: nothing is linked with it or compiled against it.
 *
 * The routines have the plain Fortran interface with integers of 32 bits (LP64): everything is passed by address,
 * matrices lie by columns, and behind the arguments come the lengths of texts. Those of different kinds of elements
 * have a letter in front, s d c z, and differ in what they point to alone, so that one table serves all.
 *
 * The reference's routines end the process where an argument is wrong (XERBLA): whoever calls them has checked all.
 */
#ifndef LAZE_RUNTIME_LAPACK_LAPACK_H
#define LAZE_RUNTIME_LAPACK_LAPACK_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/* Names or paths of libraries, separated by colons, that are tried in this order instead of the usual ones. */
#define LAZE_LAPACK_VARIABLE "LAZE_LAPACK"

typedef const int32_t *laze_lapack_size;
typedef const char *laze_lapack_word;

/* What routines take. `work` and `rwork` are scratch of elements and of their parts. */
typedef void laze_lapack_potrf(laze_lapack_word uplo, laze_lapack_size n, void *a, laze_lapack_size lda, int32_t *info,
                               size_t);
typedef void laze_lapack_getrf(laze_lapack_size m, laze_lapack_size n, void *a, laze_lapack_size lda, int32_t *pivots,
                               int32_t *info);
typedef void laze_lapack_getrs(laze_lapack_word trans, laze_lapack_size n, laze_lapack_size columns, const void *a,
                               laze_lapack_size lda, const int32_t *pivots, void *b, laze_lapack_size ldb,
                               int32_t *info, size_t);
typedef void laze_lapack_trsm(laze_lapack_word side, laze_lapack_word uplo, laze_lapack_word trans,
                              laze_lapack_word diag, laze_lapack_size m, laze_lapack_size n, const void *alpha,
                              const void *a, laze_lapack_size lda, void *b, laze_lapack_size ldb, size_t, size_t,
                              size_t, size_t);
typedef void laze_lapack_gemm(laze_lapack_word trans, laze_lapack_word trans_b, laze_lapack_size m, laze_lapack_size n,
                              laze_lapack_size k, const void *alpha, const void *a, laze_lapack_size lda, const void *b,
                              laze_lapack_size ldb, const void *beta, void *c, laze_lapack_size ldc, size_t, size_t);
typedef void laze_lapack_geqrf(laze_lapack_size m, laze_lapack_size n, void *a, laze_lapack_size lda, void *tau,
                               void *work, laze_lapack_size lwork, int32_t *info);
typedef void laze_lapack_orgqr(laze_lapack_size m, laze_lapack_size n, laze_lapack_size k, void *a,
                               laze_lapack_size lda, const void *tau, void *work, laze_lapack_size lwork,
                               int32_t *info);
typedef void laze_lapack_ormqr(laze_lapack_word side, laze_lapack_word trans, laze_lapack_size m, laze_lapack_size n,
                               laze_lapack_size k, const void *a, laze_lapack_size lda, const void *tau, void *c,
                               laze_lapack_size ldc, void *work, laze_lapack_size lwork, int32_t *info, size_t, size_t);
typedef void laze_lapack_syevd(laze_lapack_word jobz, laze_lapack_word uplo, laze_lapack_size n, void *a,
                               laze_lapack_size lda, void *values, void *work, laze_lapack_size lwork, int32_t *iwork,
                               laze_lapack_size liwork, int32_t *info, size_t, size_t);
typedef void laze_lapack_heevd(laze_lapack_word jobz, laze_lapack_word uplo, laze_lapack_size n, void *a,
                               laze_lapack_size lda, void *values, void *work, laze_lapack_size lwork, void *rwork,
                               laze_lapack_size lrwork, int32_t *iwork, laze_lapack_size liwork, int32_t *info, size_t,
                               size_t);
typedef void laze_lapack_geev(laze_lapack_word jobvl, laze_lapack_word jobvr, laze_lapack_size n, void *a,
                              laze_lapack_size lda, void *real, void *imaginary, void *vl, laze_lapack_size ldvl,
                              void *vr, laze_lapack_size ldvr, void *work, laze_lapack_size lwork, int32_t *info,
                              size_t, size_t);
typedef void laze_lapack_geev_complex(laze_lapack_word jobvl, laze_lapack_word jobvr, laze_lapack_size n, void *a,
                                      laze_lapack_size lda, void *values, void *vl, laze_lapack_size ldvl, void *vr,
                                      laze_lapack_size ldvr, void *work, laze_lapack_size lwork, void *rwork,
                                      int32_t *info, size_t, size_t);
typedef void laze_lapack_gesdd(laze_lapack_word jobz, laze_lapack_size m, laze_lapack_size n, void *a,
                               laze_lapack_size lda, void *values, void *u, laze_lapack_size ldu, void *vt,
                               laze_lapack_size ldvt, void *work, laze_lapack_size lwork, int32_t *iwork, int32_t *info,
                               size_t);
typedef void laze_lapack_gesdd_complex(laze_lapack_word jobz, laze_lapack_size m, laze_lapack_size n, void *a,
                                       laze_lapack_size lda, void *values, void *u, laze_lapack_size ldu, void *vt,
                                       laze_lapack_size ldvt, void *work, laze_lapack_size lwork, void *rwork,
                                       int32_t *iwork, int32_t *info, size_t);
typedef void laze_lapack_sytrf(laze_lapack_word uplo, laze_lapack_size n, void *a, laze_lapack_size lda,
                               int32_t *pivots, void *work, laze_lapack_size lwork, int32_t *info, size_t);
typedef void laze_lapack_sytrs(laze_lapack_word uplo, laze_lapack_size n, laze_lapack_size columns, const void *a,
                               laze_lapack_size lda, const int32_t *pivots, void *b, laze_lapack_size ldb,
                               int32_t *info, size_t);
typedef void laze_lapack_gels(laze_lapack_word trans, laze_lapack_size m, laze_lapack_size n, laze_lapack_size columns,
                              void *a, laze_lapack_size lda, void *b, laze_lapack_size ldb, void *work,
                              laze_lapack_size lwork, int32_t *info, size_t);
/* gelsy, gelss and gelsd: what they find besides (pivots, or values), and one list of scratch more for complex numbers
 * or for gelsd, two for both. */
typedef void laze_lapack_gelss(laze_lapack_size m, laze_lapack_size n, laze_lapack_size columns, void *a,
                               laze_lapack_size lda, void *b, laze_lapack_size ldb, void *found, const void *rcond,
                               int32_t *rank, void *work, laze_lapack_size lwork, int32_t *info);
typedef void laze_lapack_gelss_complex(laze_lapack_size m, laze_lapack_size n, laze_lapack_size columns, void *a,
                                       laze_lapack_size lda, void *b, laze_lapack_size ldb, void *found,
                                       const void *rcond, int32_t *rank, void *work, laze_lapack_size lwork, void *more,
                                       int32_t *info);
typedef void laze_lapack_gelsd_complex(laze_lapack_size m, laze_lapack_size n, laze_lapack_size columns, void *a,
                                       laze_lapack_size lda, void *b, laze_lapack_size ldb, void *found,
                                       const void *rcond, int32_t *rank, void *work, laze_lapack_size lwork,
                                       void *rwork, int32_t *iwork, int32_t *info);

/* f(name in the table, what it takes, the routine behind s or d, behind c or z); "" where there is none, as one that
 * takes more for complex numbers has two names. Only subroutines: how functions return complex numbers differs between
 * compilers. */
/* clang-format off */
#define LAZE_LAPACK_FUNCTIONS(f)                                                                                       \
  f(cholesky, potrf, "potrf", "potrf")                                                                                 \
  f(lu, getrf, "getrf", "getrf")                                                                                       \
  f(lu_solve, getrs, "getrs", "getrs")                                                                                 \
  f(triangular, trsm, "trsm", "trsm")                                                                                  \
  f(multiply, gemm, "gemm", "gemm")                                                                                    \
  f(qr, geqrf, "geqrf", "geqrf")                                                                                       \
  f(householder, orgqr, "orgqr", "ungqr")                                                                              \
  f(reflect, ormqr, "ormqr", "unmqr")                                                                                  \
  f(eigen, syevd, "syevd", "")                                                                                         \
  f(eigen_complex, heevd, "", "heevd")                                                                                 \
  f(spectrum, geev, "geev", "")                                                                                        \
  f(spectrum_complex, geev_complex, "", "geev")                                                                        \
  f(svd, gesdd, "gesdd", "")                                                                                           \
  f(svd_complex, gesdd_complex, "", "gesdd")                                                                           \
  f(ldl, sytrf, "sytrf", "sytrf")                                                                                      \
  f(ldl_hermitian, sytrf, "sytrf", "hetrf")                                                                            \
  f(ldl_solve, sytrs, "sytrs", "sytrs")                                                                                \
  f(ldl_hermitian_solve, sytrs, "sytrs", "hetrs")                                                                      \
  f(least, gels, "gels", "gels")                                                                                       \
  f(least_y, gelss, "gelsy", "")                                                                                       \
  f(least_y_complex, gelss_complex, "", "gelsy")                                                                       \
  f(least_s, gelss, "gelss", "")                                                                                       \
  f(least_s_complex, gelss_complex, "", "gelss")                                                                       \
  f(least_d, gelss_complex, "gelsd", "")                                                                               \
  f(least_d_complex, gelsd_complex, "", "gelsd")
/* clang-format on */

typedef struct laze_lapack {
#define LAZE_LAPACK_FIELD(name, type, real, complex) laze_lapack_##type *name;
  LAZE_LAPACK_FUNCTIONS(LAZE_LAPACK_FIELD)
#undef LAZE_LAPACK_FIELD
} laze_lapack;

/* The routines for elements of a kind: s is f32, d f64, c c64, z c128. They are valid for as long as the process lives.
 * Opens a library the first time; where there is none (LAZE_UNSUPPORTED), the next call looks again. Thread-safe. */
LAZE_MUST_USE laze_status laze_lapack_open(char kind, const laze_lapack **out, laze_error *error);

#endif

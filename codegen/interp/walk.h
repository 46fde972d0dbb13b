/* A walk over several arrays of one shape, each with its own strides: the innermost axis as rows of as many elements as
 * all arrays allow in one stride, the others in row-major order. */
#ifndef LAZE_CODEGEN_INTERP_WALK_H
#define LAZE_CODEGEN_INTERP_WALK_H

#include "codegen/interp/unit.h"

#define WALK_MAX_ARRAYS (LAZE_EVAL_MAX_OPERANDS + 1)

typedef struct interp_walk {
  int rank, arrays;
  int64_t dims[LAZE_MAX_RANK];
  int64_t strides[WALK_MAX_ARRAYS][LAZE_MAX_RANK]; /* in bytes */
  int64_t index[LAZE_MAX_RANK];
  /* The row at hand. */
  char *data[WALK_MAX_ARRAYS];
  int64_t row;                    /* elements */
  int64_t steps[WALK_MAX_ARRAYS]; /* bytes between them */
} interp_walk;

void interp_walk_init(interp_walk *walk, int rank, const int64_t *dims);
/* Adds an array with one stride in bytes per axis. */
void interp_walk_add(interp_walk *walk, char *data, const int64_t *strides);
/* Adds a row-major tensor that is broadcast to the walk's shape. */
void interp_walk_add_broadcast(interp_walk *walk, const interp_tensor *tensor);
/* Sets the first row; false when there are no elements. */
bool interp_walk_begin(interp_walk *walk);
/* Moves to the next row; false after the last. */
bool interp_walk_next(interp_walk *walk);

/* Strides in bytes of row-major dims. */
void interp_row_major(const int64_t *dims, int rank, int64_t element_size, int64_t *strides);
/* Copies elements of array 0 to array 1 of a walk that was not begun. */
void interp_walk_copy(interp_walk *walk, laze_eval_function conversion);

#endif

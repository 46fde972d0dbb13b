/* Random calls of any operator: arguments that fit its schema, chosen by their kinds and names. */
#ifndef LAZE_TESTS_SUPPORT_RANDOM_CALL_H
#define LAZE_TESTS_SUPPORT_RANDOM_CALL_H

#include "ir/ir.h"
#include "tests/support/random.h"

enum { TEST_POOL = 256, TEST_CALL_OPERANDS = 16 /* of one call, all of which may be new inputs */ };

/* SMALL: a few elements. WIDE: often a last axis longer than vectors and blocks of reductions. LARGE: enough elements
 * for several threads. */
typedef enum { TEST_SHAPES_SMALL, TEST_SHAPES_WIDE, TEST_SHAPES_LARGE } test_shapes;

/* Builds a graph call by call. Operands are values of the pool, or new parameters where none fits. A parameter that is
 * to be an index of an axis of size n is named "i<k>_below<n>". */
typedef struct test_caller {
  laze_builder builder;
  laze_graph *graph;
  test_random *random;
  laze_value pool[TEST_POOL];
  int32_t count;         /* of the pool */
  test_shapes shapes;    /* of new parameters */
  bool used[TEST_POOL];  /* by a later call */
  int64_t most_elements; /* of any value */
  bool real;             /* complex values are no operands and not in the pool */
  bool fresh;            /* every operand is a parameter of its own */
  laze_dtype dtype;      /* fresh: of operands; LAZE_DTYPE_NONE: random ones */
  int32_t rank;          /* fresh: of the first operand */
  int64_t sizes[LAZE_MAX_RANK];
  bool broadcast; /* fresh: other operands may have size 1 or fewer dims where
                     the first has not */
  bool moved;     /* fresh: the first operand is a permuted, sliced view of its
                     parameter where it has dims */
} test_caller;

/* The graph is borrowed and gets nodes; nothing has to be released. */
void test_caller_init(test_caller *caller, laze_graph *graph, test_random *random);
/* A new parameter, also in the pool. LAZE_VALUE_NONE on failure. */
laze_value test_caller_parameter(test_caller *caller, laze_dtype dtype, int32_t rank, const int64_t *sizes,
                                 int64_t below);
laze_dtype test_random_dtype(test_random *random);
/* A small shape; sizes 0 and 1 are among them, and now and then one that crosses the blocks of reductions. */
int32_t test_random_shape(test_random *random, int64_t *sizes, int32_t most_rank, test_shapes shapes);

/* Records a call of `op` with random arguments and puts its results into the pool. The status is that of recording:
 * many combinations are refused, which is no failure of a test. LAZE_UNSUPPORTED: an operator these calls leave out. */
laze_status test_random_call(test_caller *caller, laze_op op, laze_error *error);
/* Whether test_random_call knows how to call it. */
bool test_is_callable(laze_op op);
/* Whether arguments drawn at random would seldom fit, so that only recorded calls test it (`recorded` in the tables).
 */
bool test_is_only_recorded(laze_op op);

#endif

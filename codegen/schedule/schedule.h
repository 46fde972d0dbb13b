/* The schedule: a graph cut into groups, each of which becomes one kernel.
 *
 * Input is a symbolised graph after all passes. Output is an ordered list of groups with their loop IR, the values they
 * read and write, and the size expressions for their run-time integers. Sizes are known only through facts
 * (shape_inference/size.h), so the same schedule serves every binding for which those facts hold.
 *
 * How a group comes about (cluster.c): nodes are visited from the last to the first, so that every user of a value has
 * been placed before the value itself. A value whose users are all in one group, and whose elements that group can name
 * by an *access map* (map.h), is computed inside it; otherwise it is stored and starts a group of its own. Since all
 * users of an inner value lie in its group, groups cannot depend on each other in a circle.
 */
#ifndef LAZE_CODEGEN_SCHEDULE_SCHEDULE_H
#define LAZE_CODEGEN_SCHEDULE_SCHEDULE_H

#include "base/text.h"
#include "ir/graph.h"
#include "runtime/program.h"

/* In the order in which they are asked for a value that is to be stored. */
typedef enum {
  LAZE_GROUP_COPY,     /* a concatenation of many pieces, by runtime/copy_kernel.h */
  LAZE_GROUP_MATRIX,   /* a matrix product, in loop IR */
  LAZE_GROUP_FOLD,     /* a reduction by a region over single elements, in loop IR */
  LAZE_GROUP_ROUTINE,  /* one node, by a kernel of the runtime: routine.h */
  LAZE_GROUP_LOOPS,    /* elementwise, movement and reductions, in loop IR */
  LAZE_GROUP_SIZE,     /* one node that defines a size, whose number the runtime reads */
  LAZE_GROUP_CONTROL,  /* one node with regions, which the runtime goes through; their groups follow it */
  LAZE_GROUP_FALLBACK, /* one node, run by the reference interpreter's kernel */
  LAZE_GROUP_KIND_COUNT,
} laze_group_kind;

/* Why a value is stored, and so a group ends there. */
typedef enum {
  LAZE_SPLIT_OUTPUT,    /* the graph returns it */
  LAZE_SPLIT_SHARED,    /* several groups use it */
  LAZE_SPLIT_OPERAND,   /* a matrix product, an operator with regions, the runtime or the interpreter reads it */
  LAZE_SPLIT_REDUCTION, /* a reduction that does not fit its user's loops */
  LAZE_SPLIT_REPEATED,  /* it would be computed again for each element of an outer axis */
  LAZE_SPLIT_DEAR,      /* computing it at each of its uses' maps costs more than storing and loading it */
  LAZE_SPLIT_VIEW,      /* its elements in the user's order need a division */
  LAZE_SPLIT_FACTOR,    /* as a matrix product would read it, it has too many strides, or columns that lie far apart */
  LAZE_SPLIT_SIZE,      /* the group is large enough */
  LAZE_SPLIT_PRODUCT,   /* a matrix product, the runtime or the interpreter makes it */
  LAZE_SPLIT_CHECK,     /* its user needs some elements only, and every index is checked */
  LAZE_SPLIT_OFF,       /* fusion is switched off */
} laze_split;

/* A node that a group computes. */
typedef struct laze_group_node {
  int32_t node;
  int32_t times; /* at how many access maps */
} laze_group_node;

typedef struct laze_group {
  laze_group_kind kind;
  laze_split split;
  laze_value root;         /* SIZE, CONTROL, FALLBACK: any result of the node */
  const laze_value *reads; /* distinct, in the kernel's buffer order */
  int32_t read_count;
  const laze_value *writes; /* LOOPS, MATRIX, ROUTINE: in the kernel's buffer order */
  int32_t write_count;
  bool updates;                    /* LOOPS: it writes a part of `root`, which is `updated` until then */
  laze_value updated;              /* with `updates` */
  struct laze_loop_kernel *kernel; /* LOOPS, MATRIX; codegen/loop/loop.h */
  const laze_size *sizes;          /* of the kernel's run-time integers */
  int32_t size_count;
  laze_size domain;            /* iterations of the outermost loop */
  laze_size bytes, operations; /* moved, computed */
  const char *label;           /* their operators: "mul+add+sum.dim_IntList" */
  const char *interpreted;     /* FALLBACK: why no native code computes it; NULL otherwise */
  const laze_group_node *nodes;
  int32_t node_count;
  const int32_t *checked; /* of each of the kernel's checks: the node whose index it checks */
  int32_t check_count;
  const struct laze_routine *routine;      /* ROUTINE; codegen/schedule/routine.h */
  laze_size scratch;                       /* bytes that a call takes beside its operands and results */
  bool defines_size;                       /* SIZE */
  const struct laze_step_control *control; /* CONTROL; runtime/program.h */
  int32_t *region_ends; /* CONTROL: of each region, the group of the schedule behind its last; the first region's are
                           behind this one */
  const laze_step_rows *rows; /* what iterations go through; NULL: not rows, or none that a neighbour could share */
  bool beside;          /* it has the code of the group before it, and both can run at once */
} laze_group;

typedef struct laze_schedule {
  laze_group **groups; /* of the body, in an order in which reads come after writes; so inside each region */
  int32_t group_count;
} laze_schedule;

typedef struct laze_schedule_options {
  bool no_fusion;                   /* one kernel for each node */
  struct laze_fallbacks *fallbacks; /* which operators are left to the interpreter (base/fallback.h); NULL: none */
  bool kernels_only;                /* concatenations are kernels, and no copy steps: for objects that stand alone */
} laze_schedule_options;

/* Builds the schedule in `arena`, which outlives it together with the graph. Asks facts of graph->sizes. */
LAZE_MUST_USE laze_status laze_schedule_build(laze_graph *graph, laze_arena *arena,
                                              const laze_schedule_options *options, laze_schedule *out,
                                              laze_error *error);
/* Kernels with domain, bytes, operations, scratch, operands, why they end where they do, the calls they come from, and
 * what they compute again; `with_loops` adds the loop IR. */
void laze_schedule_print(laze_text *text, const laze_graph *graph, const laze_schedule *schedule, bool with_loops);

/* Constants of at most one element are part of the kernel; others are values of the program. */
bool laze_schedule_is_inline_constant(const laze_graph *graph, laze_value value);

#endif

/* What makes a program for the runtime from a graph: its values, and steps from groups of the schedule or from nodes,
 * which the interpreter runs. Every backend uses it. */
#ifndef LAZE_CODEGEN_PROGRAM_BUILDER_H
#define LAZE_CODEGEN_PROGRAM_BUILDER_H

#include "ir/graph.h"
#include "runtime/program.h"

struct laze_group;

typedef struct laze_program_builder {
  const laze_graph *graph;
  laze_program *program; /* owned until laze_program_builder_end */
  laze_arena arena;      /* scratch until then */
  int64_t *first;        /* by node: where its results begin in `values` */
  int32_t *values;       /* numbers in the program; -1: not yet added */
  int32_t *definers;     /* by size symbol: the node that defines it, -1: none */
  int32_t group_count;   /* added so far */
  struct {
    int32_t node, region;
    const int32_t *ends;    /* by region: the number of groups before its end; NULL: whoever adds it says so */
  } open[LAZE_MAX_NESTING]; /* nodes whose regions are being added, and which of them */
  int32_t open_count;
} laze_program_builder;

/* Creates the program, with a copy of the graph's size table, and adds the graph's inputs and, in the order of its
 * `return`, its outputs. laze_program_builder_end must follow, also after a failure. */
LAZE_MUST_USE laze_status laze_program_builder_begin(laze_program_builder *builder, const laze_graph *graph,
                                                     laze_error *error);
/* The number of a value in the program; one not yet seen becomes a constant or a temporary. */
LAZE_MUST_USE laze_status laze_program_builder_value(laze_program_builder *builder, laze_value value, int32_t *out,
                                                     laze_error *error);
/* Adds the step of the next group of the schedule: a call of `kernel` (borrowed; the program retains it), or, where the
 * group has no loop IR and `kernel` is NULL, a walk through its regions, whose groups follow, a call of the runtime's
 * kernel for routines and copies, or the interpreter's step for its node, counted as a fallback. */
LAZE_MUST_USE laze_status laze_program_builder_add_group(laze_program_builder *builder, const struct laze_group *group,
                                                         laze_kernel *kernel, laze_error *error);
/* Adds the interpreter's step for node `number`. `why` says, in a native program, why it runs there, which is counted
 * (static storage; NULL otherwise). One that defines a size becomes the runtime's step for that. */
LAZE_MUST_USE laze_status laze_program_builder_add_node(laze_program_builder *builder, int32_t number, const char *why,
                                                        laze_error *error);
/* Adds the step of node `number`, which defines a size. */
LAZE_MUST_USE laze_status laze_program_builder_add_definer(laze_program_builder *builder, int32_t number,
                                                           laze_error *error);
/* Adds the step of node `number`, which the runtime goes through; what is added from here on stands in its first
 * region. The end of each has to be said, and begins the next one. */
LAZE_MUST_USE laze_status laze_program_builder_begin_control(laze_program_builder *builder, int32_t number,
                                                             laze_error *error);
LAZE_MUST_USE laze_status laze_program_builder_end_region(laze_program_builder *builder, laze_error *error);
/* Hands out the program where `status` is LAZE_OK, or releases it; frees the scratch. Returns `status`. */
laze_status laze_program_builder_end(laze_program_builder *builder, laze_status status, laze_program **out,
                                     laze_error *error);

#endif

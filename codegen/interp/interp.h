/* The reference interpreter: a backend of plain loops, one primitive at a time, written to be read. It defines what
 * every operator means to the bit; the native backend is tested against it and runs on it what it cannot lower.
 *
 *   graph ── one unit (unit.h) a node ──> program whose steps call laze_interp kernels
 */
#ifndef LAZE_CODEGEN_INTERP_INTERP_H
#define LAZE_CODEGEN_INTERP_INTERP_H

#include "ir/graph.h"
#include "ir/pass.h"
#include "runtime/backend.h"
#include "runtime/program.h"

extern const laze_backend laze_backend_interp;

/* Adds a step that runs one node (with its regions) of `graph` to a program. `operand_values` and `result_values` are
 * values of the program; `why` says, in a native program, why it runs the node here, which is counted (static storage;
 * NULL otherwise). Sizes are imported into the program's table, symbols matched by name. LAZE_UNSUPPORTED names an
 * operator that the interpreter does not have. */
LAZE_MUST_USE laze_status laze_interp_add_step(laze_program *program, const laze_graph *graph, const laze_node *node,
                                               const int32_t *operand_values, const int32_t *result_values,
                                               const char *why, laze_error *error);

/* A laze_fold_function (`self` is not used): for nodes without regions or effects whose sizes are constants.
 * Thread-safe. */
LAZE_MUST_USE laze_status laze_interp_fold(void *self, const laze_graph *graph, const laze_node *node,
                                           const void *const *operands, void *const *results, laze_error *error);

#endif

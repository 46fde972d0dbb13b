/* What operators with regions demand of them, and what types they give. Regions see only their own parameters:
 *
 *   if     condition: bool[], inputs   two regions; each takes the inputs; both return the results' types, but for
 * sizes that the node defines: whichever region ran says what these are while  inputs                      region 0
 * takes the inputs and returns bool[]; region 1 takes and returns them scan   initial, inputs             one region,
 * run for each index of the inputs' first axis, which all share: takes a state for each `initial` and a slice, without
 * that axis, of each input (one at least); returns the next states, then any values. Results: the last states, and
 *                                      those values stacked along a first axis.
 *   reduce self, initial, dim          one region: takes a state for each 0-d `initial` and one element of `self`, all
 *                                      0-d, and returns the next states. Elements come in ascending row-major order of
 *                                      the reduced axes. Results drop those axes.
 */
#ifndef LAZE_IR_CONTROL_H
#define LAZE_IR_CONTROL_H

#include "ir/graph.h"

/* What one operator demands: entries name these (`infer: while` is laze_control_rule_while). */
typedef struct laze_control_rule laze_control_rule;
extern const laze_control_rule laze_control_rule_if, laze_control_rule_while, laze_control_rule_scan,
    laze_control_rule_reduce;
/* Of an operator; NULL for operators of other classes. Generated. */
const laze_control_rule *laze_control_rule_find(laze_op op);

/* Checks the regions of a call against its operands, and gives one type per result, in `arena`. Sizes that are
 * different expressions are compared as facts. */
LAZE_MUST_USE laze_status laze_control_infer(const laze_graph *graph, laze_arena *arena, const laze_call *call,
                                             laze_block *const *regions, const laze_type *const **types, int32_t *count,
                                             laze_error *error);
/* Has an operator's call define the sizes in which its regions differ: `attributes` are those of the call, with room in
 * `arena` for what is added. Asks about sizes that have hints, and takes others to differ where their expressions do.
 */
LAZE_MUST_USE laze_status laze_control_define_sizes(const laze_graph *graph, laze_arena *arena, laze_op op,
                                                    laze_block *const *regions, laze_attribute *attributes,
                                                    laze_error *error);
/* Where the `index`-th size that a node defines stands: in which result, and at which axis. */
void laze_control_defined_place(const laze_node *node, int32_t index, int32_t *result, int *axis);
/* The index of the operand that gives a region's parameter `index` its value and type, or -1 where its type has no
 * sizes to take over. *sliced: it gives a slice, and the operand's first axis is not the parameter's. */
int32_t laze_control_parameter_operand(const laze_node *node, int32_t index, bool *sliced);
/* The list of operands that values join which regions use of the block around them, and the region that returns these
 * again, as many places behind the first as the list has others; -1: none does (ir/capture.h). */
void laze_control_capturing(laze_op op, int32_t *segment, int32_t *returning);
/* Whether two types are equal, sizes compared as facts. */
LAZE_MUST_USE laze_status laze_graph_same_type(const laze_graph *graph, const laze_type *a, const laze_type *b,
                                               bool *same, laze_error *error);

#endif

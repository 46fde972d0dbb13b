/* The text form of graphs (docs/ir.md): prints and parses back to an equal graph, constants bit-exactly. */
#ifndef LAZE_IR_TEXT_H
#define LAZE_IR_TEXT_H

#include "ir/graph.h"

/* Appends the graph in text form, with the `laze 1` line where `with_version`. Iterative over nested regions. */
void laze_graph_print(laze_text *text, const laze_graph *graph, bool with_version);
/* Appends an attribute's value as a call is given it; what it says of sizes in the table's names (NULL: constants
 * only). Nothing for the elements of a constant, which stand in a place of their own. */
void laze_attribute_print(laze_text *text, const laze_size_table *sizes, const laze_attribute *attribute);
/* Parses one graph. `file` names the source in messages ("file:line:column: ..."). Early composites are expanded.
 * Input is data from a stranger: sizes, nesting and numbers are bounded and checked. */
LAZE_MUST_USE laze_status laze_graph_parse(laze_context *context, const char *text, int64_t size, const char *file,
                                           laze_graph **out, laze_error *error);

#endif

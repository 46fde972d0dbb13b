/* Modules: graphs, and functions that they call by name.
 *
 *   function @block(%x: f32[n], %w: f32[n]) -> f32[n]        n is whatever a call passes
 *   graph @main(%a: f32[784], ...)
 *     %0 = call @block %a, %b                                a node, until laze_module_inline
 *
 * A function is a graph that is only called. It comes before those that call it, so that none calls itself, not by way
 * of others either. A module owns its graphs. Not thread-safe while being built.
 */
#ifndef LAZE_IR_MODULE_H
#define LAZE_IR_MODULE_H

#include "ir/graph.h"

/* Calls make at most this many nodes of one graph, themselves included: ten functions that each call the one before
 * ten times would make 10^10. */
#define LAZE_MAX_INLINED ((int64_t)1 << 20)

typedef struct laze_module {
  laze_context *context; /* retained */
  laze_graph **graphs;   /* functions too, in order */
  int64_t count, capacity;
  int32_t *slots; /* by the hash of the name, indices of graphs, -1 free; at most half full */
  int64_t slot_count;
} laze_module;

LAZE_MUST_USE laze_status laze_module_create(laze_context *context, laze_module **out, laze_error *error);
void laze_module_destroy(laze_module *module);
/* Adds a graph, whose name must be a word of the text form and new; the module owns it from then on, but not after a
 * failure. Its body may be filled before or after, and calls what was added before it. */
LAZE_MUST_USE laze_status laze_module_add(laze_module *module, laze_graph *graph, bool is_function, laze_error *error);
/* Destroys the module but for one graph without calls, which is the caller's then. */
laze_graph *laze_module_into_graph(laze_module *module, laze_graph *graph);
/* The graph or function of that name among the first `count`, or NULL. */
laze_graph *laze_module_find(const laze_module *module, int64_t count, const char *name, int64_t length);
/* The graph to run: the one of that name, or, where `name` is NULL, @main or the only one. The message lists what there
 * is. */
LAZE_MUST_USE laze_status laze_module_choose(const laze_module *module, const char *name, laze_graph **out,
                                             laze_error *error);

/* Appends a call of a function to a block of a graph of the module. The function's sizes are those that the operands
 * have there; what was asked about them when the function was made is asked again, and must be answered alike.
 * *first_result is result 0; there are as many as the function has. */
LAZE_MUST_USE laze_status laze_module_append_call(laze_graph *graph, laze_block *block, const laze_graph *function,
                                                  const laze_call *call, laze_value *first_result, laze_error *error);
/* A graph of its own in which the nodes of functions stand for their calls. What a front end called a call comes before
 * the names of its nodes: "layer1/attention". Neither nesting of calls nor of regions needs a stack. */
LAZE_MUST_USE laze_status laze_module_inline(const laze_graph *graph, laze_graph **out, laze_error *error);
bool laze_graph_has_calls(const laze_graph *graph);

/* laze_graph_verify of all, and the order of calls. */
LAZE_MUST_USE laze_status laze_module_verify(const laze_module *module, laze_error *error);
/* Equal graphs and functions of equal names in the same order. */
bool laze_module_equal(const laze_module *a, const laze_module *b, laze_text *difference);

#endif

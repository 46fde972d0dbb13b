/* Graphs: programs over tensors as data, to be built, read, printed, looked at, and compiled (laze/compile.h).
 *
 *   laze_graph *graph;
 *   laze_value x, w, y;
 *   int64_t n;
 *   laze_graph_create(NULL, "dense", &graph, &error);
 *   laze_graph_size(graph, "n", &n, &error);
 *   laze_graph_add_input(graph, "x", LAZE_F32, LAZE_SHAPE(n, 784), &x, &error);
 *   laze_graph_add_input(graph, "w", LAZE_F32, LAZE_SHAPE(784, 10), &w, &error);
 *   laze_graph_record(graph, "mm", LAZE_VALUES(x, w), &y, &error);
 *   laze_graph_set_results(graph, LAZE_VALUES(y), &error);
 *
 * A graph has inputs, nodes in an order in which operands come before users, and results; docs/ir.md says what they
 * may be, and specifies the text form. A node is one call of an operator (laze/schema.h); a value is one result of a
 * node, or an input, which is a node without operator. Types are inferred as nodes are recorded, without data.
 *
 * A *size* is an int64_t: a number, or what laze_graph_size() gives for an expression over names, such as "n" or
 * "2*n+1", which is good in that graph alone. Both may stand wherever a type or an argument has sizes. What it means
 * for a graph that a name has another number each time is in docs/ir.md.
 *
 * Graphs are counted. One that is being built is used by one thread at a time; one that is finished may be read by many
 * and must not be changed while another thread reads it. Functions that fail leave the graph as it was, but for nodes
 * that nothing uses. Everything passed is borrowed for the call and copied, where nothing else is said; a NULL that is
 * not allowed is LAZE_INVALID_ARGUMENT; to functions without a status it is a graph with no name and nothing in it.
 */
#ifndef LAZE_GRAPH_H
#define LAZE_GRAPH_H

#include "laze/argument.h"
#include "laze/context.h"
#include "laze/schema.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct laze_graph laze_graph;

/* --- Life --- */

/* An empty graph of a context (NULL: the default), whose name is a word of the text form (NULL: "graph"). *out is the
 * caller's, who gives it back with laze_graph_release(); it keeps the context. */
LAZE_API LAZE_MUST_USE laze_status laze_graph_create(laze_context *context, const char *name, laze_graph **out,
                                                     laze_error *error);
/* NULL is ignored. Both from any thread. */
LAZE_API void laze_graph_retain(laze_graph *graph);
/* NULL is ignored. */
LAZE_API void laze_graph_release(laze_graph *graph);

/* --- Building --- */

/* The size that an expression stands for; names are made as they appear. LAZE_INVALID_ARGUMENT: it is none. */
LAZE_API LAZE_MUST_USE laze_status laze_graph_size(laze_graph *graph, const char *expression, int64_t *out,
                                                   laze_error *error);
/* What the size of a name is in the program at hand. Once every name has such a number, what is asked of sizes while
 * the graph is built (whether one is 1, say, or two are the same) is answered by these, and kept as a fact: a run with
 * other numbers is as good where all facts hold of them, and LAZE_INVALID_ARGUMENT otherwise. Without, sizes are taken
 * to be larger than 1 and to differ from each other. The text form keeps it. A name is made where there is none of it
 * yet. LAZE_INVALID_ARGUMENT, and nothing is made: it cannot name a size, or the number is negative. */
LAZE_API LAZE_MUST_USE laze_status laze_graph_hint_size(laze_graph *graph, const char *name, int64_t number,
                                                        laze_error *error);
/* One input more, behind those that there are. `name` NULL: "arg<i>". */
LAZE_API LAZE_MUST_USE laze_status laze_graph_add_input(laze_graph *graph, const char *name, laze_dtype dtype,
                                                        laze_ints sizes, laze_value *out, laze_error *error);
/* A constant of a copy of `data`: row-major, `size` bytes, which must be what the type takes; its sizes are numbers. */
LAZE_API LAZE_MUST_USE laze_status laze_graph_add_constant(laze_graph *graph, laze_dtype dtype, laze_ints sizes,
                                                           const void *data, size_t size, laze_value *out,
                                                           laze_error *error);
/* The same without a copy: `data`, aligned to the dtype's size, must stay unchanged until `release` (may be NULL) is
 * called, once, on any thread: with the last graph or program that has the constant, or, where the call fails, before
 * it returns. So weights are in memory once, however many graphs refer to them. */
LAZE_API LAZE_MUST_USE laze_status laze_graph_borrow_constant(laze_graph *graph, laze_dtype dtype, laze_ints sizes,
                                                              const void *data, size_t size,
                                                              void (*release)(void *self), void *self, laze_value *out,
                                                              laze_error *error);

/* A call of an operator by name ("add.Tensor", or "add", which stands for the overload that takes what is passed) with
 * arguments as laze/argument.h has them; LAZE_PASS_VALUE and LAZE_PASS_VALUES pass values. A number where a value is
 * wanted becomes a constant. Sizes in lists may be such of the graph. */
typedef struct laze_graph_call {
  size_t struct_size; /* sizeof(laze_graph_call) */
  const char *name;
  const laze_argument *arguments;
  int32_t argument_count;
  int32_t line;
  const char *label; /* what a front end calls it, in messages and profiles; NULL: nothing */
  const char *file;  /* where it stands, with `line`; NULL: unknown. Any text ("model.onnx:12") where `line` is 0 */
  const laze_operator *op; /* the operator, where it is known: it is not looked for, and `name` not looked at */
} laze_graph_call;
/* Records it: an operator that consists of others is recorded as these, unless the text form keeps it whole. Writes
 * how many results it has to *count, and them to `results`; LAZE_INVALID_ARGUMENT, where they are more than `capacity`.
 * An unknown name (LAZE_NOT_FOUND), wrong arguments and types that do not fit say what the operator takes. */
LAZE_API LAZE_MUST_USE laze_status laze_graph_record_call(laze_graph *graph, const laze_graph_call *call,
                                                          laze_value *results, int32_t capacity, int32_t *count,
                                                          laze_error *error);
/* The same for an operator with one result of which only values are passed, by position. */
LAZE_API LAZE_MUST_USE laze_status laze_graph_record(laze_graph *graph, const char *name, laze_values operands,
                                                     laze_value *result, laze_error *error);
/* What the graph returns, in the place of what it returned; inputs and repeated values are allowed. */
LAZE_API LAZE_MUST_USE laze_status laze_graph_set_results(laze_graph *graph, laze_values values, laze_error *error);

/* --- Text and files --- */

/* Reads the text form, `size` bytes, with one graph, or one called main, in which calls of functions are replaced by
 * what they do. `file` names the text in messages (NULL: "<text>"). Files that constants refer to are refused. What is
 * wrong is said with line and column. */
LAZE_API LAZE_MUST_USE laze_status laze_graph_parse(laze_context *context, const char *text, int64_t size,
                                                    const char *file, laze_graph **out, laze_error *error);
/* Writes the text form into `text` of `size` bytes, NUL-terminated and cut where it does not fit; *needed (may be NULL)
 * gets the bytes of the whole text without NUL: with size 0, text may be NULL. Parsed, it is an equal graph. */
LAZE_API LAZE_MUST_USE laze_status laze_graph_format(const laze_graph *graph, char *text, size_t size, size_t *needed,
                                                     laze_error *error);
/* Reads a file in text form, and its graph of that name (NULL: the only one, or main); constants come from the files
 * beside it that it names, and none elsewhere. */
LAZE_API LAZE_MUST_USE laze_status laze_graph_load(laze_context *context, const char *path, const char *name,
                                                   laze_graph **out, laze_error *error);
/* Writes the graph to a file in text form, and constants of more than 16 elements to one beside it, of the same name
 * with ".weights" at the end. Both appear whole or not at all, the text last. */
LAZE_API LAZE_MUST_USE laze_status laze_graph_save(const laze_graph *graph, const char *path, laze_error *error);

/* Whether it keeps the rules of docs/ir.md, which every graph does that these functions made: LAZE_INTERNAL with the
 * first fault. */
LAZE_API LAZE_MUST_USE laze_status laze_graph_verify(const laze_graph *graph, laze_error *error);
/* LAZE_OK where both do the same: operators, arguments, wiring, types and constants, names and places aside;
 * LAZE_FAILED_PRECONDITION with the first difference otherwise. */
LAZE_API LAZE_MUST_USE laze_status laze_graph_compare(const laze_graph *a, const laze_graph *b, laze_error *error);

/* --- Signatures --- */

/* What an input or a result is for. */
#define LAZE_SIGNATURE_INPUT 0
#define LAZE_SIGNATURE_PARAMETER 1 /* is trained */
#define LAZE_SIGNATURE_BUFFER 2    /* belongs to the model, as a parameter does, and is not trained */
#define LAZE_SIGNATURE_RANDOM 3    /* seed or offset of random numbers */
#define LAZE_SIGNATURE_TANGENT 4   /* how an output counts */
#define LAZE_SIGNATURE_MUTATION 5  /* results from here on: what the input `of` is to be from now on */
#define LAZE_SIGNATURE_OUTPUT 6
#define LAZE_SIGNATURE_LOSS 7
#define LAZE_SIGNATURE_GRADIENT 8 /* by the input `of` */
#define LAZE_SIGNATURE_BASE 9     /* an intermediate that outputs are views of */
#define LAZE_SIGNATURE_SAVED 10   /* between forward and backward graph: results of the one, inputs of the other */
#define LAZE_SIGNATURE_SIZE 11    /* the same for sizes */

typedef struct laze_role {
  int32_t kind; /* LAZE_SIGNATURE_... */
  int32_t reserved;
  const char *of; /* an input's name: of a mutation or gradient, else NULL */
} laze_role;
/* Says what inputs and results are for: one role each, copied. Results stand in the order mutations, outputs (losses
 * among them), bases, gradients, saved tensors, saved sizes, and an input has one mutation at most, of its type
 * (LAZE_INVALID_ARGUMENT otherwise). The text form keeps it. An input that is added, and another number of results,
 * take it away. */
LAZE_API LAZE_MUST_USE laze_status laze_graph_set_signature(laze_graph *graph, const laze_role *inputs,
                                                            int32_t input_count, const laze_role *results,
                                                            int32_t result_count, laze_error *error);
/* Borrowed as long as the graph is not changed; INPUT and OUTPUT where nothing was said, or there is no graph. */
LAZE_API laze_role laze_graph_input_role(const laze_graph *graph, int32_t index);
LAZE_API laze_role laze_graph_result_role(const laze_graph *graph, int32_t index);

/* --- Forward and backward --- */

/* What the backward graph is given of the forward one. DEFAULT: the values of the forward pass that it uses. MIN_CUT:
 * as few bytes as can be, where elementwise operators and such as move elements may be computed again. */
#define LAZE_PARTITION_DEFAULT 0
#define LAZE_PARTITION_MIN_CUT 1

/* Zero-initialise and set struct_size; the graphs are the caller's. */
typedef struct laze_partition {
  size_t struct_size;            /* sizeof(laze_partition) */
  laze_graph *forward;           /* inputs that are no tangents -> outputs, then what is saved */
  laze_graph *backward;          /* what is saved, in that order, then tangents -> gradients */
  int32_t saved_count, reserved; /* saved values, inputs among them */
  int64_t saved_bytes;           /* of those that are no inputs */
} laze_partition;
/* Cuts a joint graph (laze_trace_joint()) in two. Its last `tangent_count` inputs are tangents, which say how each
 * output counts; its first `output_count` results are the function's, and the others gradients. A saved input keeps its
 * name. Together both compute what the joint graph does, to the bit. Its sizes are numbers (LAZE_UNSUPPORTED). On
 * failure there are no graphs. */
LAZE_API LAZE_MUST_USE laze_status laze_graph_partition(const laze_graph *joint, int32_t output_count,
                                                        int32_t tangent_count, int32_t mode, laze_partition *out,
                                                        laze_error *error);

/* --- Looking --- What is borrowed lives as long as the graph is not changed. */

/* A value's type. */
typedef struct laze_value_type {
  laze_dtype dtype; /* LAZE_DTYPE_NONE: no tensor: a token, or a result that is absent */
  int32_t rank;
  const int64_t *sizes; /* `rank`: numbers, or sizes of the graph */
} laze_value_type;

/* A node, by its number (laze_value.node). Zero-initialise and set struct_size. */
typedef struct laze_node_info {
  size_t struct_size;        /* sizeof(laze_node_info) */
  const char *operator_name; /* "add.Tensor"; NULL: an input, or a parameter of a region */
  const char *name;          /* of an input; of another node its label, or NULL */
  const char *file;          /* where it was recorded, with `line`; NULL: unknown */
  const char *origin;        /* the operator that was recorded as this one among others; NULL: none */
  int32_t line;
  int32_t operand_count; /* values it uses */
  int32_t result_count;
  int32_t argument_count; /* of the operator's schema */
  int32_t region_count;   /* blocks inside of it, which only the text form shows */
} laze_node_info;

LAZE_API const char *laze_graph_name(const laze_graph *graph);
LAZE_API int32_t laze_graph_input_count(const laze_graph *graph);
LAZE_API int32_t laze_graph_result_count(const laze_graph *graph);
/* LAZE_VALUE_NONE where there is none of that index. */
LAZE_API laze_value laze_graph_input(const laze_graph *graph, int32_t index);
LAZE_API laze_value laze_graph_result(const laze_graph *graph, int32_t index);
/* The nodes in their order, without inputs: how many, and the number of the index-th; -1 where there is none. */
LAZE_API int32_t laze_graph_node_count(const laze_graph *graph);
LAZE_API int32_t laze_graph_node_at(const laze_graph *graph, int32_t index);
/* LAZE_OUT_OF_RANGE: no node has that number. */
LAZE_API LAZE_MUST_USE laze_status laze_graph_get_node(const laze_graph *graph, int32_t node, laze_node_info *out,
                                                       laze_error *error);
/* The index-th value that a node uses; LAZE_VALUE_NONE where there is none. */
LAZE_API laze_value laze_graph_operand(const laze_graph *graph, int32_t node, int32_t index);
/* The argument `index` of the schema, as laze_graph_record_call() takes it, with its name: so a node can be recorded
 * again. Elements of a constant are none (LAZE_PASS_DEFAULT): laze_graph_constant() has them. LAZE_UNSUPPORTED: a list
 * of strings, which only the text form shows. */
LAZE_API LAZE_MUST_USE laze_status laze_graph_get_argument(const laze_graph *graph, int32_t node, int32_t index,
                                                           laze_argument *out, laze_error *error);
/* LAZE_OUT_OF_RANGE: no value of the graph. */
LAZE_API LAZE_MUST_USE laze_status laze_graph_get_type(const laze_graph *graph, laze_value value, laze_value_type *out,
                                                       laze_error *error);
/* The elements of a constant, and their bytes in *size; NULL where the value is none. */
LAZE_API const void *laze_graph_constant(const laze_graph *graph, laze_value value, int64_t *size);
/* The names of sizes, in the order in which they came up; NULL where there is none of that index. */
LAZE_API int32_t laze_graph_symbol_count(const laze_graph *graph);
LAZE_API const char *laze_graph_symbol(const laze_graph *graph, int32_t index);
/* A size as text, as laze_graph_format() writes: "784", "2*n". */
LAZE_API LAZE_MUST_USE laze_status laze_graph_format_size(const laze_graph *graph, int64_t size, char *text,
                                                          size_t text_size, size_t *needed, laze_error *error);

#ifdef __cplusplus
}
#endif
#endif

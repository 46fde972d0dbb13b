/* The text form of graphs (docs/ir.md): prints and parses back to an equal graph, constants bit-exactly. */
#ifndef LAZE_IR_TEXT_H
#define LAZE_IR_TEXT_H

#include "ir/module.h"

#include <stdio.h>

/* Appends the graph in text form, with the `laze 1` line where `with_version`. Iterative over nested regions. */
void laze_graph_print(laze_text *text, const laze_graph *graph, bool with_version);
/* Elements of constants that stand in a file beside the text, in the order in which they are to be written. The gaps
 * between them are zeros. */
typedef struct laze_weight {
  const void *bytes; /* the graph's */
  int64_t offset, size;
} laze_weight;
typedef struct laze_weights {
  laze_context *context;
  laze_weight *items;
  int64_t count, capacity;
  int64_t size; /* of the file */
} laze_weights;
void laze_weights_deinit(laze_weights *weights);
/* Writes the file of that path, whole or not at all. */
LAZE_MUST_USE laze_status laze_weights_write(const laze_weights *weights, const char *path, laze_error *error);

/* How a graph is printed; all zero: as laze_graph_print with its version. */
typedef struct laze_print_options {
  bool without_version;
  /* Constants of more than `large` elements: in hexadecimal, or, with `file`, by reference to the file of that name
   * beside the text, to which the caller writes the `weights`. */
  bool hexadecimal;
  int64_t large;
  const char *file;
  laze_weights *weights;
} laze_print_options;
void laze_graph_print_with(laze_text *text, const laze_graph *graph, const laze_print_options *options);
void laze_module_print(laze_text *text, const laze_module *module, const laze_print_options *options);
/* Appends what a graph or function is called with and returns: "graph @main(%x: f32[n]) -> f32[n]". */
void laze_graph_print_signature(laze_text *text, const laze_graph *graph);

/* Appends the graph in the language of Graphviz (dot), below a title (NULL: its name). Iterative. */
void laze_graph_print_dot(laze_text *text, const laze_graph *graph, const char *title);

/* Appends an attribute's value as a call is given it; what it says of sizes in the table's names (NULL: constants
 * only). Nothing for the elements of a constant, which stand in a place of their own. */
void laze_attribute_print(laze_text *text, const laze_size_table *sizes, const laze_attribute *attribute);
/* Text to be read. */
typedef struct laze_text_source {
  const char *text;
  int64_t size;
  const char *file;      /* names the source in messages ("file:line:column: ..."); NULL: "<text>" */
  const char *directory; /* in and below which files are that constants refer to ("": the working directory); NULL: such
                            constants are refused, unless `weights` are there */
  const void *weights;   /* not NULL: what every such file is */
  int64_t weights_size;
} laze_text_source;
/* Parses a module. Early composites are expanded; calls of functions stay. Input is data from a stranger: sizes,
 * nesting and numbers are bounded and checked, and files are opened as base/external.h says. */
LAZE_MUST_USE laze_status laze_module_parse(laze_context *context, const laze_text_source *source, laze_module **out,
                                            laze_error *error);
/* Parses a module and gives its graph of that name (NULL: as laze_module_choose says), with calls inlined. */
LAZE_MUST_USE laze_status laze_graph_read(laze_context *context, const laze_text_source *source, const char *name,
                                          laze_graph **out, laze_error *error);
/* Reads and verifies a module from a stream, which `name` names in messages; files that constants refer to are in
 * `directory` ("": the working directory). */
LAZE_MUST_USE laze_status laze_module_read(laze_context *context, FILE *file, const char *name, const char *directory,
                                           laze_module **out, laze_error *error);
/* The same from a file, with what it refers to beside it. LAZE_NOT_FOUND, LAZE_IO_ERROR: it cannot be read. */
LAZE_MUST_USE laze_status laze_module_load(laze_context *context, const char *path, laze_module **out,
                                           laze_error *error);
/* A graph of the module (NULL: as laze_module_choose says), verified, with calls inlined; `file` names the module in
 * messages. Owned by the caller. */
LAZE_MUST_USE laze_status laze_module_take(const laze_module *module, const char *file, const char *name,
                                           laze_graph **out, laze_error *error);

#endif

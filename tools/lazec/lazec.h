/* lazec, the standalone graph compiler: what its parts share.
 *
 *   main.c      picks the command
 *   run.c       lazec run: inputs, compilation, execution, outputs
 *   print.c     lazec print, lazec check
 *   compile.c   lazec compile
 *   source.c    graph files, and the sizes that --dim gives
 *   input.c     --input: files and what stands on the command line (values.c)
 *   output.c    files and standard output
 *
 * Graphs are compiled and run by the installed headers, as a program does it. What else is included is promised to no
 * program: modules of several graphs and functions, types and arrays as text, sizes that are bound before anything is
 * compiled so that messages name an option, text in other forms (hexadecimal, weights beside it, Graphviz), and what a
 * compilation goes through.
 */
#ifndef LAZEC_LAZEC_H
#define LAZEC_LAZEC_H

#include "base/text.h"
#include "ir/module.h"
#include "laze/compile.h"
#include "laze/npy.h"
#include "runtime/backend.h"

#include <argp.h>

/* Exit codes. */
enum { LAZEC_DONE = 0, LAZEC_FAILED = 1, LAZEC_WRONG_USAGE = 2 };

/* Commands: take their own command line, with `argv[0]` as "lazec run"; return an exit code. */
int lazec_run(int argc, char **argv);
int lazec_print(int argc, char **argv);
int lazec_check(int argc, char **argv);
int lazec_compile(int argc, char **argv);

/* Says "lazec: <message>" on standard error; returns LAZEC_FAILED. */
int lazec_report(const laze_error *error);

/* Options that may be given several times, in order. Borrowed strings. */
typedef struct lazec_list {
  const char **items;
  int count;
} lazec_list;
/* Exits when memory is out: only while the command line is read. */
void lazec_list_add(lazec_list *list, const char *item);
void lazec_list_free(lazec_list *list);

/* Command lines, with argp: keys of long options without a letter, a check that ends with argp_error. */
enum { LAZEC_KEY_BACKEND = 256, LAZEC_KEY_DIM, LAZEC_KEY_EMIT, LAZEC_KEY_GRAPH, LAZEC_KEY_METRICS, LAZEC_KEY_JSON };
#define LAZEC_OPTION_GRAPH                                                                                             \
  { "graph", LAZEC_KEY_GRAPH, "NAME", 0, "Which graph of the file; otherwise main, or the only one", 0 }
void lazec_check_backend(struct argp_state *state, const char *name);
void lazec_check_dim(struct argp_state *state, const char *text);
/* Takes the one argument, a graph file; a second is a mistake. */
void lazec_take_file(struct argp_state *state, const char *argument, const char **file);

/* A context whose warnings go to standard error. */
LAZE_MUST_USE laze_status lazec_context_create(laze_context **out, laze_error *error);

/* Reads and verifies a file of graphs; `path` "-" is standard input. Owned by the caller. */
LAZE_MUST_USE laze_status lazec_module_read(laze_context *context, const char *path, laze_module **out,
                                            laze_error *error);
/* Its graph of that name (NULL: main, or the only one) without calls. Owned by the caller. */
LAZE_MUST_USE laze_status lazec_graph_take(const laze_module *module, const char *path, const char *name,
                                           laze_graph **out, laze_error *error);
/* Both. */
LAZE_MUST_USE laze_status lazec_graph_read(laze_context *context, const char *path, const char *name, laze_graph **out,
                                           laze_error *error);
/* One value per symbol of the graph, from "n=8" texts; -1 for the others. Free with laze_free(). */
LAZE_MUST_USE laze_status lazec_dims_create(const laze_graph *graph, const lazec_list *dims, int64_t **out,
                                            laze_error *error);

/* What an input of the graph is given. */
typedef struct lazec_input {
  laze_array *array;
  laze_npy file; /* what the array borrows, when it came from one */
} lazec_input;
/* Reads "@FILE" or "DTYPE[SIZES]:VALUES". `name` is for messages. */
LAZE_MUST_USE laze_status lazec_input_read(laze_context *context, const char *name, const char *text, lazec_input *out,
                                           laze_error *error);
void lazec_input_deinit(lazec_input *input);
/* Writes the elements that `text` describes ("1,2,3", "0", "arange", "random:7") into `data`. */
LAZE_MUST_USE laze_status lazec_values_parse(const char *text, laze_dtype dtype, int64_t count, void *data,
                                             laze_error *error);

/* Writes to a file, which appears whole or not at all; what is no regular file is written in place. NULL or "-":
 * standard output. LAZE_IO_ERROR. */
LAZE_MUST_USE laze_status lazec_output_write(const char *path, const char *data, int64_t size, laze_error *error);
/* At exit: what could not be written to standard output makes the program fail. */
void lazec_output_close(void);

#endif

/* Where the parts of a run come from: what messages, logs and profiles say about them.
 *
 *   graph given to laze_compile       program, shared by graphs of equal structure
 *     node 4: index_select      ──>     step "index_select+exp", origin {4, "embedding"}
 *       called as embedding, model.c:31
 *
 * Another graph that the same program serves may call other operators at other lines, so a program knows its nodes by
 * number, and whoever runs it says which calls they stand for in this run.
 *
 * All of it is passed by value; names and files are borrowed, from the operator table and from whoever recorded the
 * call, for as long as the run. Nothing allocates but a text that is appended to.
 */
#ifndef LAZE_RUNTIME_SITE_H
#define LAZE_RUNTIME_SITE_H

#include "base/text.h"

#include <stdint.h>

/* A node of the graph that was compiled, as a program knows it. */
typedef struct laze_origin {
  int32_t node;       /* its number from 1; 0: unknown */
  const char *called; /* "embedding": the operator of the first call that was compiled to this; static */
} laze_origin;

/* The call that a node stands for in one run. */
typedef struct laze_site {
  const char *called; /* NULL: unknown */
  const char *file;   /* NULL: unknown */
  int32_t line;       /* 0: `file` is a place in words */
  const char *name;   /* what a front end calls the node ("dense/MatMul"); NULL: nothing */
} laze_site;

/* Who called what: asked only for messages and logs, on the thread that runs. */
typedef struct laze_sites {
  const void *self;
  laze_site (*find)(const void *self, int32_t node);
} laze_sites;

/* The call behind `origin`; without `sites` (NULL), or where the node is unknown, what the program knows. */
laze_site laze_site_find(const laze_sites *sites, const laze_origin *origin);
/* Puts "file:line: "name": " before a message, as much of it as is known, and returns the error's code. */
laze_status laze_site_locate(laze_error *error, const laze_site *site);
/* Puts "file:line: "name": called: " before a message and returns the error's code, LAZE_INTERNAL where `error` is
 * NULL. */
laze_status laze_site_name(laze_error *error, const laze_site *site);

/* Appends calls to a text, each once and a few at most: "softmax (model.c:3), mm \"dense/MatMul\" (model.onnx), ...".
 */
enum { LAZE_SITES_LISTED = 8 };
typedef struct laze_site_list {
  laze_text *text;
  laze_site sites[LAZE_SITES_LISTED];
  int32_t count;
  bool cut;
} laze_site_list;
void laze_site_list_add(laze_site_list *list, const laze_site *site);

/* An index that was out of range: the lowest position of those that one node read. (What else a kernel refuses has a
 * negative position and the rest for the runtime.) */
typedef struct laze_check_failure {
  int32_t node;             /* as in laze_origin */
  int64_t position;         /* in the tensor of indices that the operator got, row-major */
  int64_t index;            /* the value there */
  int64_t size;             /* of the axis it indexes */
  int64_t length;           /* of what begins there and must lie in the axis */
  const laze_error *reason; /* what failed instead, where that is no index; NULL: an index */
} laze_check_failure;

/* The one place that makes the error for an index out of range. Always LAZE_OUT_OF_RANGE; `error` may be NULL. */
laze_status laze_fail_index(laze_error *error, const laze_site *site, const laze_check_failure *failure);

#endif

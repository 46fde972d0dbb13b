/* A YAML file as a tree that knows its lines. */
#ifndef OPGEN_TREE_H
#define OPGEN_TREE_H

#include "ops/opgen/report.h"

#include <stdbool.h>

typedef enum { TREE_SCALAR, TREE_LIST, TREE_MAP } gen_tree_form;

typedef struct gen_tree gen_tree;
struct gen_tree {
  gen_tree_form form;
  int line;         /* from 1 */
  int text_line;    /* SCALAR: the line of its first character of text, below the "|" of a block */
  const char *text; /* SCALAR */
  int count;
  gen_tree **keys;  /* MAP: scalars */
  gen_tree **items; /* MAP, LIST */
};

/* Reads a file of one document. NULL, with an error reported, when it cannot be read or is no YAML; an empty document
 * is an empty list. Keys that appear twice in a map are reported. */
gen_tree *tree_read(const char *path, gen_report *report);
/* The value of `key` in a map, or NULL. */
const gen_tree *tree_get(const gen_tree *map, const char *key);

#endif

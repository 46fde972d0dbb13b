/* What hand-written headers declare and entries name: read from the headers themselves, so that a misspelt name is a
 * fault of the table's line and not of generated code, whichever parts of the library are built. */
#ifndef OPGEN_KNOWN_H
#define OPGEN_KNOWN_H

#include "ops/opgen/report.h"

#include <stdbool.h>

typedef enum {
  KNOWN_API,      /* the hand-written interface: "laze_tensor_read" */
  KNOWN_LOWERING, /* LAZE_LOWERING(add): "add" */
  KNOWN_JOIN,     /* laze_join_slice: "slice" */
  KNOWN_ELEMENT,  /* what `eval` may call: "wrapping_add" */
  KNOWN_EXECUTE,  /* interp_execute_slice: "slice" */
  KNOWN_CONTROL,  /* interp_control_while: "while" */
  KNOWN_REGIONS,  /* laze_control_rule_while: "while" */
  KNOWN_SHAPE,    /* laze_shape_reduce: "reduce" */
  KNOWN_DTYPE,    /* laze_dtype_same: "same" */
  KNOWN_BY_HAND,  /* laze_composite_matmul: "matmul" */
  KNOWN_COUNT,
} gen_known_kind;

typedef struct gen_known {
  bool was_read[KNOWN_COUNT]; /* without a header nothing is checked */
  int counts[KNOWN_COUNT];
  const char **names[KNOWN_COUNT];
} gen_known;

/* Adds the names of one kind that a header declares. */
void known_read(gen_known *known, gen_known_kind kind, const char *path, gen_report *report);
bool known_has(const gen_known *known, gen_known_kind kind, const char *name);
/* The name closest in spelling, or NULL when none is near. */
const char *known_suggest(const gen_known *known, gen_known_kind kind, const char *name);

/* In how many letters two words differ, 99 for long ones; and how many may differ for one to be meant. */
int word_distance(const char *a, const char *b);
enum { NEAR_WORDS = 2 };

#endif

/* The ways to join two elements by the names that graphs have for them: what runs a graph goes by one list. */
#include "codegen/combine.h"

#include "ir/op.gen.h"

#include <string.h>

laze_op laze_combine_operator(const char *reduce) {
  static const struct {
    const char *name;
    laze_op op;
  } ways[] = {{"sum", LAZE_OP_ADD}, {"prod", LAZE_OP_MUL}, {"amax", LAZE_OP_MAXIMUM}, {"amin", LAZE_OP_MINIMUM}};
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
    if (strcmp(ways[i].name, reduce) == 0) return ways[i].op;
  return LAZE_OP_NONE;
}

/* The C functions of an operator, as both their header and their definitions see them. */
#ifndef OPGEN_FUNCTION_H
#define OPGEN_FUNCTION_H

#include "ops/opgen/operator.h"

/* Arguments with a default are fields of the options; the others are parameters. */
static inline bool argument_is_option(const gen_argument *argument) {
  return argument->has_default;
}
bool function_has_options(const gen_operator *op);
/* Whether the first parameter is a context: no argument is a tensor that would tell it. */
bool function_takes_context(const gen_operator *op);
/* Whether a field has a has_<name> beside it: its default is not what zero stands for. */
bool function_has_flag(const gen_argument *argument);
/* "laze_tensor *" for one result, "void " otherwise. */
const char *function_result(const gen_operator *op);
/* Parameters without options and location: "laze_tensor *self, laze_tensor *other", never empty. */
const char *function_parameters(const gen_operator *op);
/* The same as arguments of a call: "self, other". */
const char *function_arguments(const gen_operator *op);
/* A field or parameter: "laze_scalar alpha". */
const char *function_declaration(const gen_argument *argument);

#endif

/* C functions of operators. Overloads that differ in Tensor and Scalar alone share one:
 *
 *   mul.Tensor(Tensor self, Tensor other)   laze_mul(self, other)   exported as laze_mul_at         the lead
 *   mul.Scalar(Tensor self, Scalar other)        "                  exported as laze_mul_number_at
 *
 * and what is written for `other` decides. */
#ifndef OPGEN_FUNCTION_H
#define OPGEN_FUNCTION_H

#include "ops/opgen/table.h"

/* Finds who shares a function, names what is exported, and reports names that are taken. */
void table_name_functions(gen_table *table);

/* The next operator of a lead's function from *index on, the lead first; NULL: no more. */
const gen_operator *function_next(const gen_table *table, const gen_operator *lead, int *index);
/* Whether the argument is a tensor or a number: the operators of the function differ there. */
bool function_is_mixed(const gen_table *table, const gen_operator *op, int argument);
/* Whether there is a longer form, laze_<name>_with(), which takes further arguments behind those of the short one. */
bool function_has_more(const gen_operator *op);
/* Whether the first parameter is a context: no argument is a tensor that would tell it. */
bool function_takes_context(const gen_operator *op);
/* Whether a number is passed as a laze_scalar, so that it can be absent. */
bool function_passes_scalar(const gen_argument *argument);

/* C text: "laze_tensor *laze_mul(laze_tensor *self, laze_tensor *other)"; what the library exports with all arguments
 * and the place of the call; the arguments of a call, "self, other", without and with the further ones; what the short
 * form passes for those, "LAZE_NONE"; one parameter. */
const char *function_declaration(const gen_operator *op);
const char *function_declaration_at(const gen_operator *op);
const char *function_arguments(const gen_operator *op, bool further);
const char *function_defaults(const gen_operator *op);
const char *function_parameter(const gen_argument *argument);
/* "laze_tensor *" for one result, "void " otherwise. */
const char *function_result(const gen_operator *op);
/* Appends an item to a list with commas. */
const char *function_join(const char *list, const char *item);

#endif

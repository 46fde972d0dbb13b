/* Rule calls of entries: "reduce(self, dim, keepdim)". */
#ifndef OPGEN_RULES_H
#define OPGEN_RULES_H

#include "ops/opgen/table.h"

/* Looks up the shape and dtype rules that an entry names and matches their parameters. */
void rules_check(gen_table *table, gen_operator *op);

#endif

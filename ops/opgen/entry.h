/* Reading one entry of a table. */
#ifndef OPGEN_ENTRY_H
#define OPGEN_ENTRY_H

#include "ops/opgen/table.h"

/* Reads the keys of `op->entry` into `op`, whose schema was read. */
void entry_read(gen_table *table, gen_operator *op);
/* Whether a class allows the key, for messages that say what is missing. */
bool entry_has(const gen_operator *op, const char *key);

#endif

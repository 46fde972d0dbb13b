/* Reading one entry of a table. */
#ifndef OPGEN_ENTRY_H
#define OPGEN_ENTRY_H

#include "ops/opgen/table.h"

/* Reads the keys of `op->entry` into `op`, whose schema was read. */
void entry_read(gen_table *table, gen_operator *op);
/* Whether a class allows the key, for messages that say what is missing. */
bool entry_has(const gen_operator *op, const char *key);
/* Reports names in an element's C text that neither the operator nor a header has. */
void entry_check_element(gen_table *table, const gen_operator *op, gen_place at, const char *text);
/* Reports a key whose value `name` (NULL: none) is no function of that kind. */
void entry_check_function(gen_table *table, const gen_operator *op, const char *key, const char *name,
                          gen_known_kind kind);

#endif

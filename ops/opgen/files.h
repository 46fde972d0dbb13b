/* The files that are generated. */
#ifndef OPGEN_FILES_H
#define OPGEN_FILES_H

#include "ops/opgen/output.h"

/* Writes every file below `directory`, or, where `only` names a folder ("ir"), that folder's files into `directory`
 * itself. False when no file is in a folder of that name. */
bool files_write(gen_table *table, const char *directory, const char *only);
/* Prints the names of the folder's files (NULL: of all, with their folders), one a line. */
bool files_list(const char *only);

#endif

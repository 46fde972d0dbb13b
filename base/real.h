/* Reals in text, always with a decimal point: unlike those of printf and strtod they do not depend on the program's
 * locale. Thread-safe; nothing is allocated. */
#ifndef LAZE_BASE_REAL_H
#define LAZE_BASE_REAL_H

#include "laze/dtype.h"

#include <stddef.h>

/* Writes a finite value as printf does, with the conversion 'e', 'f' or 'g' and that precision: decimals, or for 'g'
 * significant digits. */
void laze_real_format(char *buffer, size_t size, char conversion, int precision, double value);
/* Reads a number as strtod does, *end (NULL: not asked for) behind what was read, and rounds it once, to `dtype`: the
 * double that is returned has it exactly. Nothing is read for what is no float. */
double laze_real_parse(laze_dtype dtype, const char *text, char **end);

#endif

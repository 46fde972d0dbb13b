/* Reals in text, always with a decimal point: unlike those of printf and strtod they do not depend on the program's
 * locale. Thread-safe; nothing is allocated. */
#ifndef LAZE_BASE_REAL_H
#define LAZE_BASE_REAL_H

#include <stddef.h>

/* Writes a finite value with `precision` significant digits, as "%.*g" does. */
void laze_real_format(char *buffer, size_t size, int precision, double value);
/* strtof and strtod: *end is behind what was read. */
float laze_real_parse_f32(const char *text, char **end);
double laze_real_parse_f64(const char *text, char **end);

#endif

/* Arrays for people. */
#ifndef LAZE_RUNTIME_ARRAY_TEXT_H
#define LAZE_RUNTIME_ARRAY_TEXT_H

#include "base/text.h"
#include "shape_inference/type.h"

/* Appends an array in readable form, as NumPy lays it out: every digit that matters, the middle left out of more than
 * 1000 elements. Only elements that are shown are read. Thread-safe for different texts. */
void laze_array_print(laze_text *text, const laze_type *type, const void *data);

#endif

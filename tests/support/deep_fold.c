#include "tests/support/deep_fold.h"

#include <stdio.h>
#include <stdlib.h>

char *test_deep_fold(int depth) {
  enum { ROOM = 32 * 1024 };
  char *text = malloc(ROOM);
  int length = snprintf(text, ROOM, "graph @g(%%c: bool[], %%x: f32[3], %%i: f32[]) -> f32[] {\n");
  for (int i = 0; i < depth; i++)
    length += snprintf(text + length, (size_t)(ROOM - length),
                       "  %%r%d = if %%c, [%%c, %%x, %%i] (%%c: bool[], %%x: f32[3], %%i: f32[]) {\n", i);
  length += snprintf(text + length, (size_t)(ROOM - length),
                     "  %%f = reduce %%x, [%%i], dim=[0] (%%a: f32[], %%b: f32[]) {\n"
                     "    %%s = sum %%a\n    %%t = add %%s, %%b\n    return %%t\n  }\n  return %%f\n");
  for (int i = depth; i-- > 0;)
    length += snprintf(text + length, (size_t)(ROOM - length),
                       "  } (%%c: bool[], %%x: f32[3], %%i: f32[]) {\n    return %%i\n  }\n  return %%r%d\n", i);
  snprintf(text + length, (size_t)(ROOM - length), "}\n");
  return text;
}

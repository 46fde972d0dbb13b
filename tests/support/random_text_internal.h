/* Shared by the files that write random modules; not for others. */
#ifndef LAZE_TESTS_SUPPORT_RANDOM_TEXT_INTERNAL_H
#define LAZE_TESTS_SUPPORT_RANDOM_TEXT_INTERNAL_H

#include "base/text.h"
#include "tests/support/random_text.h"

enum { MOST_VALUES = 40, MOST_RAGGED = 4, MOST_FUNCTIONS = 3, NAME = 16, DEPTH = 3 };

/* The values of a block that statements may use. */
typedef struct test_text_scope {
  char names[MOST_VALUES][NAME];
  int count;
  char counter[NAME]; /* an i64[] that changes; "" in the body of the graph and in branches */
  char ragged[MOST_RAGGED][NAME];
  int ragged_count; /* f32[u], each of a size that values give */
} scope;

typedef struct test_text_writer {
  laze_text text;
  test_random *random;
  const test_text_options *options;
  int next; /* number of the next name */
  int size;
  int functions; /* @f0 to @f<functions - 1>, each of two f32[n] */
} writer;

static inline int below(writer *w, int bound) {
  return (int)test_random_below(w->random, bound);
}

static inline const char *any(writer *w, const scope *s) {
  return s->names[below(w, s->count)];
}

static inline void indent(writer *w, int depth) {
  laze_text_format(&w->text, "%*s", 2 + 2 * depth, "");
}

void test_text_define(scope *s, const char *name);
/* A statement whose result is an f32[n] again, by way of sizes that values give, of lists of indices, of a histogram,
 * of a kernel of the program, or of a function. */
void test_text_write_value(writer *w, scope *s, int depth);

#endif

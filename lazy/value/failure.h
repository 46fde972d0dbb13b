/* Errors that values, handles and scopes share. All functions are called with the context's lock held. */
#ifndef LAZE_LAZY_VALUE_FAILURE_H
#define LAZE_LAZY_VALUE_FAILURE_H

#include "base/status.h"

#include <stdbool.h>

typedef struct laze_lazy laze_lazy;

/* Counted by references: of cells, scopes and quotes. */
typedef struct laze_failure {
  int32_t references;
  bool reported; /* a read has returned it */
  laze_status code;
  char message[];
} laze_failure;

/* An error of a tensor. Once its text was given out, it stays for as long as the tensor lives. */
typedef struct laze_quote {
  struct laze_quote *next;
  laze_failure *failure; /* referenced */
  bool given_out;
} laze_quote;

/* A copy of the error with one reference, the caller's; NULL when memory is out. */
laze_failure *laze_failure_create(laze_lazy *lazy, const laze_error *error);
void laze_failure_release(laze_lazy *lazy, laze_failure *failure); /* NULL is ignored */

/* Puts a failure (borrowed) in front of a list, in which equal messages stand once, and in the place of one whose text
 * was not given out; returns the message as the list keeps it. Without memory it is not kept. */
const char *laze_quotes_put(laze_lazy *lazy, laze_quote **quotes, laze_failure *failure);
void laze_quotes_clear(laze_lazy *lazy, laze_quote **quotes);

#endif

/* Errors as values: counted by references, because a failed call's handle, what is recorded from it, and the scope all
 * have the same one; and the lists of those that a handle has given out as text. */
#include "lazy/value/failure.h"

#include "lazy/lazy.h"

#include <string.h>

laze_failure *laze_failure_create(laze_lazy *lazy, const laze_error *error) {
  size_t length = strlen(error->message);
  laze_failure *failure = laze_alloc(lazy->context, (int64_t)(sizeof *failure + length + 1));
  if (!failure) return NULL;
  *failure = (laze_failure){.references = 1, .code = error->code};
  memcpy(failure->message, error->message, length + 1);
  return failure;
}

void laze_failure_release(laze_lazy *lazy, laze_failure *failure) {
  if (failure && --failure->references == 0) laze_free(lazy->context, failure);
}

/* Takes the quote of an equal message, or one that nobody has seen, out of the list; NULL: there is neither. */
static laze_quote *take_out(laze_quote **quotes, const laze_failure *failure) {
  for (laze_quote **place = quotes; *place; place = &(*place)->next) {
    laze_quote *quote = *place;
    if (quote->given_out && strcmp(quote->failure->message, failure->message) != 0) continue;
    *place = quote->next;
    return quote;
  }
  return NULL;
}

const char *laze_quotes_put(laze_lazy *lazy, laze_quote **quotes, laze_failure *failure) {
  laze_quote *quote = take_out(quotes, failure);
  if (!quote) {
    quote = laze_pool_take(&lazy->pool, sizeof *quote);
    if (!quote) return failure->message;
    *quote = (laze_quote){0};
  }
  if (!quote->given_out) {
    failure->references++;
    laze_failure_release(lazy, quote->failure);
    quote->failure = failure;
  }
  quote->next = *quotes;
  *quotes = quote;
  return quote->failure->message;
}

void laze_quotes_clear(laze_lazy *lazy, laze_quote **quotes) {
  while (*quotes) {
    laze_quote *quote = *quotes;
    *quotes = quote->next;
    laze_failure_release(lazy, quote->failure);
    laze_pool_give(&lazy->pool, quote, sizeof *quote);
  }
}

/* Renewing the table of unknown sizes, so that it does not grow for ever. */
#ifndef LAZE_LAZY_RECORD_RENEW_H
#define LAZE_LAZY_RECORD_RENEW_H

typedef struct laze_lazy laze_lazy;

/* Makes a table of what is still pending, in the place of one in which most symbols are of definers that are gone;
 * leaves everything as it is where there is no memory for that. No frame is being recorded. Called with the context's
 * lock held. */
void laze_renew_unknowns(laze_lazy *lazy);

#endif

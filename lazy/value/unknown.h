/* Sizes that are not known yet: symbols that values define (size_from), and expressions over them.
 *
 *   %0 = size_from n       u0                 the definer of u0, a pending node
 *   %1 = slice x, end=u0   f32[min(u0,8)]     its cell is UNKNOWN, and it references the cell of %0 as one operand more
 *
 * A context has one table for all of them. A symbol stands for something as long as its definer is pending: whatever
 * uses it depends on the definer. Once that has its value, types and attributes of all pending nodes learn the number,
 * and the symbol is in none of them. A definer that is recorded once more (lazy/record/reuse.h) brings its symbol
 * along, so that what was recorded behind it last time is predicted again. Symbols of definers that are gone stay in
 * the table until it is renewed (lazy/record/renew.h). All functions are called with the context's lock held.
 */
#ifndef LAZE_LAZY_VALUE_UNKNOWN_H
#define LAZE_LAZY_VALUE_UNKNOWN_H

#include "shape_inference/type.h"

typedef struct laze_attribute laze_attribute;
typedef struct laze_call laze_call;
typedef struct laze_cell laze_cell;
typedef struct laze_lazy laze_lazy;
typedef struct laze_pending laze_pending;
typedef struct laze_thread_state laze_thread_state;

typedef struct laze_unknowns {
  laze_size_table *table;  /* NULL before the first */
  laze_pending **definers; /* by symbol, kept by it, pending or not; NULL: it is gone */
  laze_size *numbers;      /* by symbol: the number that it was last, or the symbol while its definer is pending */
  int64_t definer_capacity, number_capacity;
  int64_t kept; /* symbols that the table had when it was new */
} laze_unknowns;

/* Makes the table if there is none, and room for all its symbols and one more. */
LAZE_MUST_USE laze_status laze_unknowns_reserve(laze_lazy *lazy, laze_error *error);
void laze_unknowns_deinit(laze_unknowns *unknowns, laze_context *context);
/* Whether most of the table may be symbols of definers that are gone. */
static inline bool laze_unknowns_is_worn(const laze_unknowns *unknowns) {
  enum { FEWEST = 256 };
  return unknowns->table && laze_size_symbol_count(unknowns->table) > 2 * unknowns->kept + FEWEST;
}

/* Whether a type has a size that is not known. */
bool laze_type_is_unknown(const laze_type *type);
/* Calls `visit` with each definer of the sizes; one may come several times. */
LAZE_MUST_USE laze_status laze_unknowns_each_definer(laze_lazy *lazy, const laze_size *sizes, int32_t count,
                                                     void (*visit)(void *self, laze_pending *definer), void *self,
                                                     laze_error *error);
/* The definer of the number of a cell's element, with such bounds; NULL: there is none. */
laze_pending *laze_unknowns_definer_of(const laze_lazy *lazy, const laze_cell *cell, int64_t index, int64_t low,
                                       int64_t high);

/* The same, or the definer of a value that is computed in the same way from the same values: of the sum of a mask that
 * was summed before. Looks at the latest ones only. */
laze_pending *laze_unknowns_same_definer(const laze_lazy *lazy, const laze_cell *cell, int64_t index, int64_t low,
                                         int64_t high);

/* The symbol that a node defines; 0: none. */
laze_size laze_pending_defines(const laze_pending *node);
/* The recorded type of a result, whatever was learned since. */
void laze_pending_recorded_type(const laze_pending *node, int32_t result, laze_type *out);
/* Makes what is unknown in a node that becomes pending so, again if need be; a definer's symbol stands for its value
 * from now on. There is room for it. */
void laze_unknowns_begin(laze_lazy *lazy, laze_pending *node);
/* A pending definer's symbol stands for its value from now on; nothing where the node defines none. */
void laze_unknowns_take_up(laze_lazy *lazy, laze_pending *node);
/* Lets go of all definers. */
void laze_unknowns_drop_definers(laze_lazy *lazy);

/* The definer's number was found. */
void laze_unknowns_note(laze_unknowns *unknowns, const laze_pending *definer, int64_t number);
/* Gives an unknown cell the numbers that were found; it is unknown no longer if that is all of them. Fails where size
 * arithmetic does. */
LAZE_MUST_USE laze_status laze_unknowns_learn(laze_lazy *lazy, laze_cell *cell, laze_error *error);
/* Has all pending nodes, and nodes of backward graphs, learn the numbers that were found. Cells whose sizes cannot be
 * computed become errors, which the thread's scope notes. */
void laze_unknowns_spread(laze_thread_state *thread);
/* Writes -1 for sizes of a cell that nobody will know. */
void laze_unknowns_give_up(laze_cell *cell);

#endif

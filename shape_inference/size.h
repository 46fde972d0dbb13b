/* Sizes of tensors: constants, symbols and expressions over them.
 *
 * A `laze_size` is one 64-bit word. From -2^62 up it is that constant; below it names an entry of a
 * `laze_size_table`, where expressions are hash-consed: within one table equal expressions are the same word, so
 * comparing words compares expressions (after the simplifications that building one applies).
 *
 * A symbol has a name, a range, and optionally a *hint*: the value it has in the program at hand. Code that must know
 * something about a size asks for it as a fact (below); it never looks at a hint itself. A symbol may be *defined*: a
 * node of the graph finds its number while the graph runs (`size_from`), so that it never has a hint, and every
 * expression with it is defined as well.
 */
#ifndef LAZE_SHAPE_INFERENCE_SIZE_H
#define LAZE_SHAPE_INFERENCE_SIZE_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/text.h"

typedef int64_t laze_size;

#define LAZE_SIZE_CONSTANT_MIN (-((int64_t)1 << 62))
#define LAZE_SIZE_CONSTANT_MAX ((int64_t)1 << 62)

static inline bool laze_size_is_constant(laze_size size) {
  return size >= LAZE_SIZE_CONSTANT_MIN;
}

/* The word for a number that a caller gives, which may be no size: rules refuse it by its own name, or clamp it ("to
 * the end" is often written as INT64_MAX). Only what is below -2^62, where words name expressions, becomes that bound.
 */
static inline laze_size laze_size_from_number(int64_t number) {
  return number < LAZE_SIZE_CONSTANT_MIN ? LAZE_SIZE_CONSTANT_MIN : number;
}

/* A number that means the same beyond 2^62 in either direction (a step, a bound that is clamped), so that it can be
 * computed with. */
static inline laze_size laze_size_saturate(int64_t number) {
  if (number < LAZE_SIZE_CONSTANT_MIN) return LAZE_SIZE_CONSTANT_MIN;
  return number > LAZE_SIZE_CONSTANT_MAX ? LAZE_SIZE_CONSTANT_MAX : number;
}

typedef enum {
  LAZE_SIZE_SYMBOL,
  LAZE_SIZE_ADD,
  LAZE_SIZE_MUL,
  LAZE_SIZE_FLOOR_DIV,
  LAZE_SIZE_CEIL_DIV,
  LAZE_SIZE_MOD,
  LAZE_SIZE_MIN,
  LAZE_SIZE_MAX,
} laze_size_kind;

typedef struct laze_size_node {
  laze_size_kind kind;
  laze_size left, right; /* operands of a binary kind */
  int64_t symbol;        /* SYMBOL: its number (0, 1, ... in order of creation) */
  int64_t low, high;     /* bounds of the value, inclusive */
  bool defined;          /* it has a symbol that a node defines */
  const char *name;      /* SYMBOL */
  /* What the order of terms and factors goes by: the same in every table whose symbols have the same numbers. */
  int64_t first, last; /* the lowest and highest number of its symbols */
  int64_t degree;      /* factors of a product, coefficient aside; 1 otherwise */
  uint64_t shape;      /* hash of the expression, with symbols by their numbers */
} laze_size_node;

typedef struct laze_size_table laze_size_table;

/* The table is single-owner (a graph owns one); it is freed with laze_size_table_destroy(). */
LAZE_MUST_USE laze_status laze_size_table_create(laze_context *context, laze_size_table **out, laze_error *error);
void laze_size_table_destroy(laze_size_table *table);
/* A copy, with hints and facts, in which every size word means what it means in `table`. Owned by the caller. */
/* Leaves out every expression of a table that neither a fact nor anybody else needs: begin, name what is needed,
 * finish, and map each word that was named to the word that stands for it from then on; in any case deinit. */
typedef struct laze_size_compaction {
  laze_size_table *table;
  int32_t *numbers; /* by expression */
} laze_size_compaction;
LAZE_MUST_USE laze_status laze_size_compaction_begin(laze_size_compaction *compaction, laze_size_table *table,
                                                     laze_error *error);
void laze_size_compaction_need(laze_size_compaction *compaction, laze_size size);
void laze_size_compaction_finish(laze_size_compaction *compaction);
laze_size laze_size_compaction_map(const laze_size_compaction *compaction, laze_size size);
void laze_size_compaction_deinit(laze_size_compaction *compaction);
/* Bytes it takes. */
int64_t laze_size_table_bytes(const laze_size_table *table);
/* The expressions of a table, in the order of their words, as words: equal ones mean that equal words of the two tables
 * are equal expressions over symbols of the same numbers. Returns how many there are; NULL: writes none. */
int64_t laze_size_table_words(const laze_size_table *table, uint64_t *words);
LAZE_MUST_USE laze_status laze_size_table_copy(const laze_size_table *table, laze_size_table **out, laze_error *error);

/* The symbol of that name, made if new with range [0, 2^62]. `name` is copied. */
LAZE_MUST_USE laze_status laze_size_symbol(laze_size_table *table, const char *name, laze_size *out, laze_error *error);
int64_t laze_size_symbol_count(const laze_size_table *table);
/* The symbol numbered `index`; borrowed name. */
laze_size laze_size_symbol_at(const laze_size_table *table, int64_t index);
const char *laze_size_symbol_name(const laze_size_table *table, int64_t index);
/* The symbol of that name, 0 where there is none. */
laze_size laze_size_find_symbol(const laze_size_table *table, const char *name);
/* Whether a name is a word that means something else where a size may stand in the text form. */
bool laze_size_name_is_reserved(const char *name);
/* A new symbol, called `prefix` and the lowest number from its own on that is free ("u0"). */
LAZE_MUST_USE laze_status laze_size_fresh_symbol(laze_size_table *table, const char *prefix, laze_size *out,
                                                 laze_error *error);
/* Whether a word is a number or one that this table has given out. */
bool laze_size_is_valid(const laze_size_table *table, laze_size size);
/* The entry of a size that is not a constant; borrowed, valid until the table grows. */
const laze_size_node *laze_size_get(const laze_size_table *table, laze_size size);

/* Makes a symbol one that a node defines, with a value from `low` to `high`; expressions that have it already get the
 * bounds that follow. Once more with the same bounds changes nothing. LAZE_INVALID_ARGUMENT for what is no symbol, has
 * a hint or other bounds, and for bounds in the wrong order. */
LAZE_MUST_USE laze_status laze_size_define(laze_size_table *table, laze_size symbol, int64_t low, int64_t high,
                                           laze_error *error);
/* Whether a size is known only while the graph runs. */
static inline bool laze_size_is_defined(const laze_size_table *table, laze_size size) {
  return table && !laze_size_is_constant(size) && laze_size_get(table, size)->defined;
}
/* How many symbols nodes define. */
int64_t laze_size_defined_count(const laze_size_table *table);
/* Calls `visit` with the number of each defined symbol of an expression, once each. */
LAZE_MUST_USE laze_status laze_size_each_defined(const laze_size_table *table, laze_size size,
                                                 void (*visit)(void *self, int64_t symbol), void *self,
                                                 laze_error *error);

/* Builds an expression, simplified: constants fold, a + b and a * b are ordered and flattened into a sum of products
 * with constant coefficients so that n*2+n and 3*n are one word, (n*c)/c is n, x mod 1 is 0. Constant overflow is
 * LAZE_OUT_OF_RANGE. `kind` is a binary kind. */
LAZE_MUST_USE laze_status laze_size_binary(laze_size_table *table, laze_size_kind kind, laze_size a, laze_size b,
                                           laze_size *out, laze_error *error);
/* The same for estimates, which do not fail for being large: what overflows is LAZE_SIZE_CONSTANT_MAX. */
LAZE_MUST_USE laze_status laze_size_estimate(laze_size_table *table, laze_size_kind kind, laze_size a, laze_size b,
                                             laze_size *out, laze_error *error);
/* The product of `count` sizes (1 for none). `table` may be NULL when all are constants. */
LAZE_MUST_USE laze_status laze_size_product(laze_size_table *table, const laze_size *sizes, int count, laze_size *out,
                                            laze_error *error);
/* The value of `size` where symbol i has the value `bindings[i]`. Overflow is LAZE_OUT_OF_RANGE. Iterative. */
LAZE_MUST_USE laze_status laze_size_evaluate(const laze_size_table *table, laze_size size, const int64_t *bindings,
                                             int64_t *out, laze_error *error);
/* Copies an expression from one table into another, symbols matched by name, or replaced by `map[symbol number]` where
 * `map` is not NULL. */
LAZE_MUST_USE laze_status laze_size_import(laze_size_table *to, const laze_size_table *from, laze_size size,
                                           const laze_size *map, laze_size *out, laze_error *error);

/* The text form: "784", "n", "n*2+1", "floordiv(n, 2)", "ceildiv(n, 2)", "mod(n, 2)", "min(n, 4)", "max(n, 4)". */
void laze_size_print(laze_text *text, const laze_size_table *table, laze_size size);
/* The same for messages, where a long expression over defined symbols is "?(u0)", naming what it follows from. */
void laze_size_show(laze_text *text, const laze_size_table *table, laze_size size);
/* Parses that form from *cursor, creating symbols as they appear; leaves *cursor after it. `table` may be NULL, which
 * allows constants only. */
LAZE_MUST_USE laze_status laze_size_parse(laze_size_table *table, const char **cursor, laze_size *out,
                                          laze_error *error);

/* Facts: the one way in which inference, passes and the scheduler learn about sizes.
 *
 * A question is answered from the expressions alone where they decide it. Otherwise, in a table with hints, it is
 * answered from the hints and *recorded*: the result of the work is right for every binding that gives the same answers
 * (laze_facts_hold). Without hints it is answered as if every symbol were larger than 1 and differed from every other
 * expression, and recorded as well, to be checked when the graph is bound to sizes.
 *
 * About defined sizes nothing is known but their bounds. Who needs no more than a safe answer gets "no", and nothing is
 * recorded (laze_size_ask_equal, laze_size_ask_less_equal). Who makes something else of the graph for "yes" than for
 * "no" says which of the two it goes on with (laze_size_ask): that is recorded, and checked when the run knows. */
typedef enum { LAZE_FACT_EQUAL, LAZE_FACT_LESS_EQUAL } laze_fact_kind;
typedef struct laze_fact {
  laze_fact_kind kind;
  bool holds;
  laze_size a, b;
  bool carried;      /* who asked does so once: copies of the graph, inferred anew, take the fact along */
  const char *asker; /* of a fact about defined sizes: the operator, for messages; static, may be NULL */
} laze_fact;

/* `question.holds` is the answer where only a run will know. */
LAZE_MUST_USE laze_status laze_size_ask(laze_size_table *table, laze_fact question, bool *out, laze_error *error);
/* `a` = `b`? */
LAZE_MUST_USE laze_status laze_size_ask_equal(laze_size_table *table, laze_size a, laze_size b, bool *out,
                                              laze_error *error);
/* `a` <= `b`? */
LAZE_MUST_USE laze_status laze_size_ask_less_equal(laze_size_table *table, laze_size a, laze_size b, bool *out,
                                                   laze_error *error);
/* Gives every symbol a hint: `values[i]` for symbol i. Copied; later symbols get theirs with laze_size_set_hint. */
LAZE_MUST_USE laze_status laze_size_set_hint(laze_size_table *table, int64_t symbol, int64_t value, laze_error *error);
/* Whether every symbol but defined ones (at least one) has a hint: only then are questions answered from hints. */
bool laze_size_has_hints(const laze_size_table *table);
/* The hint of symbol number `symbol`, -1 where it has none. For printers and tests: all else asks for facts. */
int64_t laze_size_hint(const laze_size_table *table, int64_t symbol);
/* The facts recorded so far, in the order first asked, each once. Borrowed until the next question. */
const laze_fact *laze_size_facts(const laze_size_table *table, int64_t *count);
/* Those about defined sizes that are carried, in the order first asked so. `index` from 0; NULL behind the last one. */
const laze_fact *laze_size_carried_fact(const laze_size_table *table, int64_t index);
/* Records such a fact in the table of a copy. LAZE_INVALID_ARGUMENT where the copy's sizes contradict it. */
LAZE_MUST_USE laze_status laze_size_carry_fact(laze_size_table *table, laze_fact fact, laze_error *error);
/* Whether every recorded fact gets the same answer for `bindings` (one per symbol). An overflow counts as no. Facts
 * about defined sizes are left out. */
bool laze_facts_hold(const laze_size_table *table, const int64_t *bindings);
/* The first recorded fact that `bindings` contradict, for messages; NULL when all hold. */
const laze_fact *laze_facts_first_broken(const laze_size_table *table, const int64_t *bindings);
/* Whether one fact, of any sizes, gets the same answer. */
bool laze_fact_holds(const laze_size_table *table, const laze_fact *fact, const int64_t *bindings);
bool laze_fact_is_defined(const laze_size_table *table, const laze_fact *fact);
/* Has questions that only a run will answer fail (LAZE_FAILED_PRECONDITION) and kept, for who can run and ask again. */
void laze_size_table_set_asking(laze_size_table *table);
/* What such a question was about, once: false where there was none. */
bool laze_size_take_question(laze_size_table *table, laze_size sides[2]);
/* "n != 1", for messages. */
void laze_fact_print(laze_text *text, const laze_size_table *table, const laze_fact *fact);
/* The same with the numbers of symbols that no node defines; one for each symbol. */
void laze_fact_print_at(laze_text *text, const laze_size_table *table, const laze_fact *fact, const int64_t *bindings);

#endif

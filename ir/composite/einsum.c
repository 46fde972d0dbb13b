/* einsum: a product of tensors whose axes are named by letters.
 *
 *   "bij, bjk -> bik"    each operand gets a label for each of its axes    [0,1,2] [0,2,3] -> [0,1,3]
 *   "ii -> i"            an axis named twice is the diagonal of both
 *   "...ij -> ...ji"     the dots are as many axes as the letters leave, counted from the last
 *
 * Two operands at a time are contracted, the first two of those left or as `path` says, and what comes of them goes to
 * the end. A label that neither another operand nor the result has is summed over. */
#include "ir/composite/contraction.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

#include <ctype.h>
#include <string.h>

enum { LETTERS = 52, MAX_OPERANDS = 64, DOTS = -1 };

/* A subscript: letters as 0 to 51, capitals first, and DOTS. */
typedef struct {
  int8_t items[LAZE_MAX_RANK + 1];
  int count;
  bool has_dots;
} subscript;

typedef struct {
  laze_recorder *recorder;
  const laze_call *call;
  const char *cursor; /* in the equation */
  laze_labelled operands[MAX_OPERANDS];
  int count;
  int dots;                /* the most axes that dots are */
  int uses[LETTERS];       /* how often each letter stands in front of the arrow */
  uint8_t labels[LETTERS]; /* of each letter in use; those of dots are 0, 1, ... */
  int label_count;
  laze_error *error;
} equation;

static laze_status refuse(const equation *e, const char *what) {
  return laze_fail(e->error, LAZE_INVALID_ARGUMENT, "%s: \"%.80s\": %s", laze_compose_name(e->call),
                   e->call->attributes[LAZE_EINSUM_EQUATION].value.string, what);
}

static int number_of_letter(char letter) {
  return isupper((unsigned char)letter) ? letter - 'A' : letter - 'a' + 26;
}

/* One subscript, up to a comma, the arrow or the end. */
static laze_status read_subscript(equation *e, subscript *out) {
  *out = (subscript){.count = 0};
  for (;; e->cursor++) {
    const char next = *e->cursor;
    if (next == ' ') continue;
    if (next == 0 || next == ',' || next == '-') return LAZE_OK;
    if (out->count > LAZE_MAX_RANK) return refuse(e, "more letters than a tensor has dims");
    if (next == '.') {
      if (out->has_dots || strncmp(e->cursor, "...", 3) != 0)
        return refuse(e, "dots come as three, once for each operand");
      out->has_dots = true;
      out->items[out->count++] = DOTS;
      e->cursor += 2;
    } else if (isalpha((unsigned char)next) && (unsigned char)next < 128) {
      out->items[out->count++] = (int8_t)number_of_letter(next);
    } else {
      return refuse(e, "expected letters, dots, commas and one arrow");
    }
  }
}

/* All letters get their labels behind those of dots, which are known when all operands are read. */
static void assign_labels(equation *e) {
  e->label_count = e->dots;
  for (int i = 0; i < LETTERS; i++)
    if (e->uses[i] > 0) e->labels[i] = (uint8_t)e->label_count++;
}

static laze_status check_rank(const equation *e, const subscript *s, int rank) {
  const int letters = s->count - (s->has_dots ? 1 : 0);
  if (rank == letters || (s->has_dots && rank > letters)) return LAZE_OK;
  return laze_fail(e->error, LAZE_INVALID_ARGUMENT,
                   "%s: \"%.80s\": operand with %d dims for %d letters; expected as many letters, or dots for others",
                   laze_compose_name(e->call), e->call->attributes[LAZE_EINSUM_EQUATION].value.string, rank, letters);
}

/* The subscripts of the operands, which also say how many axes dots are. */
static laze_status read_operands(equation *e, subscript *subscripts) {
  for (int i = 0; i < e->count; i++) {
    const int rank = laze_recorder_type(e->recorder, e->call->operands[i])->rank;
    LAZE_TRY(read_subscript(e, &subscripts[i]));
    LAZE_TRY(check_rank(e, &subscripts[i], rank));
    for (int j = 0; j < subscripts[i].count; j++)
      if (subscripts[i].items[j] != DOTS) e->uses[subscripts[i].items[j]]++;
    const int dots = rank - subscripts[i].count + 1;
    if (subscripts[i].has_dots && dots > e->dots) e->dots = dots;
    if ((*e->cursor == ',') != (i + 1 < e->count)) return refuse(e, "expected a subscript for each operand");
    if (*e->cursor == ',') e->cursor++;
  }
  assign_labels(e);
  if (e->label_count > LAZE_MAX_LABELS) return refuse(e, "too many different axes");
  return LAZE_OK;
}

/* The axes `first` and `second` of an operand become one, which is the last. */
static laze_status take_diagonal(const equation *e, laze_labelled *tensor, int first, int second) {
  const laze_type type = laze_compose_type(e->recorder, tensor->value);
  const uint8_t label = tensor->labels[first];
  laze_attribute attributes[] = {laze_attribute_integer(0), laze_attribute_integer(first),
                                 laze_attribute_integer(second)};
  bool square;
  LAZE_TRY(laze_size_must_equal(e->recorder, type.sizes[first], type.sizes[second], &square, e->error));
  if (!square) return refuse(e, "a letter that an operand has twice names axes of different sizes");
  LAZE_TRY(laze_record_call(e->recorder, LAZE_OP_DIAGONAL, &tensor->value, 1, attributes, &tensor->value, e->error));
  int next = 0;
  for (int i = 0; i < tensor->rank; i++)
    if (i != first && i != second) tensor->labels[next++] = tensor->labels[i];
  tensor->labels[next] = label;
  tensor->rank--;
  return LAZE_OK;
}

/* The first pair of axes with one label. */
static bool find_pair(const laze_labelled *tensor, int pair[2]) {
  for (pair[0] = 0; pair[0] < tensor->rank; pair[0]++)
    for (pair[1] = pair[0] + 1; pair[1] < tensor->rank; pair[1]++)
      if (tensor->labels[pair[0]] == tensor->labels[pair[1]]) return true;
  return false;
}

static laze_status label_operand(equation *e, const subscript *s, laze_value value, laze_labelled *out) {
  const int rank = laze_recorder_type(e->recorder, value)->rank, dots = rank - s->count + 1;
  int pair[2];
  *out = (laze_labelled){.value = value, .rank = rank};
  for (int i = 0, axis = 0; i < s->count; i++) {
    if (s->items[i] != DOTS) {
      out->labels[axis++] = e->labels[s->items[i]];
      continue;
    }
    for (int j = 0; j < dots; j++) out->labels[axis++] = (uint8_t)(e->dots - dots + j);
  }
  while (find_pair(out, pair)) LAZE_TRY(take_diagonal(e, out, pair[0], pair[1]));
  return LAZE_OK;
}

/* The axes of the result: as the equation says, or dots and then what stands once, in the order of letters. */
static laze_status read_result(equation *e, uint8_t *labels, int *count) {
  subscript s = {.count = 0};
  uint64_t seen = 0;
  *count = 0;
  if (*e->cursor == 0) {
    s.has_dots = e->dots > 0;
    if (s.has_dots) s.items[s.count++] = DOTS;
    for (int i = 0; i < LETTERS; i++) {
      if (e->uses[i] != 1) continue;
      if (s.count > LAZE_MAX_RANK) return refuse(e, "the result has more dims than are supported");
      s.items[s.count++] = (int8_t)i;
    }
  } else {
    if (strncmp(e->cursor, "->", 2) != 0) return refuse(e, "expected letters, dots, commas and one arrow");
    e->cursor += 2;
    LAZE_TRY(read_subscript(e, &s));
    if (*e->cursor != 0) return refuse(e, "expected the end behind the subscript of the result");
  }
  if (s.count - (s.has_dots ? 1 : 0) + (s.has_dots ? e->dots : 0) > LAZE_MAX_RANK)
    return refuse(e, "the result has more dims than are supported");
  for (int i = 0; i < s.count; i++) {
    if (s.items[i] == DOTS) {
      for (int j = 0; j < e->dots; j++) labels[(*count)++] = (uint8_t)j;
      continue;
    }
    if (seen >> s.items[i] & 1 || e->uses[s.items[i]] == 0)
      return refuse(e, "the result has a letter twice, or one that no operand has");
    seen |= (uint64_t)1 << s.items[i];
    labels[(*count)++] = e->labels[s.items[i]];
  }
  return LAZE_OK;
}

/* The labels that the result has, or an operand but two of them. */
static uint64_t needed_labels(const equation *e, uint64_t result, const int pair[2]) {
  for (int i = 0; i < e->count; i++)
    if (i != pair[0] && i != pair[1]) result |= laze_labels_of(&e->operands[i]);
  return result;
}

static laze_status contract_all(equation *e, uint64_t result) {
  const laze_attribute *path = &e->call->attributes[LAZE_EINSUM_PATH];
  if (path->present && path->count != 2 * (e->count - 1))
    return refuse(e, "path has two numbers for each contraction, which are one less than operands");
  for (int step = 0; e->count > 1; step++) {
    int pair[2] = {0, 1};
    laze_labelled product;
    for (int i = 0; i < 2 && path->present; i++) {
      const laze_size item = path->value.items[2 * step + i];
      if (item < 0 || item >= e->count || (i == 1 && item == pair[0]))
        return refuse(e, "path names two different ones of the operands that are left");
      pair[i] = (int)item;
    }
    if (pair[1] < pair[0]) pair[0] = (int)path->value.items[2 * step + 1], pair[1] = (int)path->value.items[2 * step];
    LAZE_TRY(laze_compose_contract(e->recorder, e->call, e->operands[pair[0]], e->operands[pair[1]],
                                   needed_labels(e, result, pair), &product, e->error));
    int next = 0;
    for (int i = 0; i < e->count; i++)
      if (i != pair[0] && i != pair[1]) e->operands[next++] = e->operands[i];
    e->operands[next++] = product;
    e->count = next;
  }
  return LAZE_OK;
}

laze_status laze_composite_einsum(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                  laze_error *error) {
  equation e = {.recorder = recorder, .call = call, .count = call->operand_count, .error = error};
  subscript subscripts[MAX_OPERANDS];
  uint8_t labels[LAZE_MAX_RANK];
  uint64_t kept = 0;
  int rank;
  e.cursor = call->attributes[LAZE_EINSUM_EQUATION].value.string;
  if (e.count < 1 || e.count > MAX_OPERANDS) return refuse(&e, "expected 1 operand or more, and at most 64");
  LAZE_TRY(read_operands(&e, subscripts));
  LAZE_TRY(read_result(&e, labels, &rank));
  for (int i = 0; i < e.count; i++) LAZE_TRY(label_operand(&e, &subscripts[i], call->operands[i], &e.operands[i]));
  for (int i = 0; i < rank; i++) kept |= (uint64_t)1 << labels[i];
  LAZE_TRY(laze_compose_join_labels(recorder, call, e.operands, e.count, error));
  LAZE_TRY(contract_all(&e, kept));
  LAZE_TRY(laze_compose_keep_labels(recorder, &e.operands[0], kept, LAZE_DTYPE_NONE, error));
  LAZE_TRY(laze_compose_order_labels(recorder, call, &e.operands[0], labels, rank, error));
  *results = e.operands[0].value;
  return LAZE_OK;
}

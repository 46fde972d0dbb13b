#include "ir/call_resolve.h"

#include <stdio.h>
#include <string.h>

/* Arguments that are filled are marked in one word. */
enum { MAX_ARGUMENTS = 64, REASON_SIZE = 256 };

typedef struct {
  const laze_op_info *info;
  laze_passed *passed;
  int32_t count;
  bool numbers_become_tensors;
  char *reason; /* REASON_SIZE bytes, or NULL where nobody asks */
} resolution;

static bool accepts_operand(const laze_argument_info *argument, const laze_passed *passed,
                            bool numbers_become_tensors) {
  if (passed->kind == LAZE_PASSED_ABSENT) return argument->optional;
  if (argument->kind == LAZE_ARGUMENT_TENSOR_LIST)
    return passed->kind == LAZE_PASSED_VALUES || passed->kind == LAZE_PASSED_EMPTY_LIST;
  if (argument->kind == LAZE_ARGUMENT_TENSOR)
    return passed->kind == LAZE_PASSED_VALUE || (numbers_become_tensors && passed->kind == LAZE_PASSED_NUMBER);
  return passed->kind == LAZE_PASSED_NUMBER || (passed->kind == LAZE_PASSED_VALUE && passed->zero_dimensional);
}

static bool accepts(const laze_argument_info *argument, const laze_passed *passed, bool numbers_become_tensors) {
  bool is_word = passed->kind == LAZE_PASSED_NUMBER || passed->kind == LAZE_PASSED_WORD;
  if (laze_argument_is_operand(argument->kind)) return accepts_operand(argument, passed, numbers_become_tensors);
  if (passed->kind == LAZE_PASSED_ABSENT) return argument->optional;
  switch (argument->kind) {
  case LAZE_ARGUMENT_STRING: return passed->kind == LAZE_PASSED_STRING;
  case LAZE_ARGUMENT_DATA: return false;
  case LAZE_ARGUMENT_INT_LIST:
  case LAZE_ARGUMENT_SIZE_LIST:
    return passed->kind == LAZE_PASSED_LIST || passed->kind == LAZE_PASSED_EMPTY_LIST ||
           (argument->list_size > 0 && is_word);
  default: return is_word;
  }
}

static const char *kind_name(laze_passed_kind kind) {
  static const char *const names[] = {
      [LAZE_PASSED_ABSENT] = "none",         [LAZE_PASSED_VALUE] = "a value",
      [LAZE_PASSED_VALUES] = "a value list", [LAZE_PASSED_EMPTY_LIST] = "an empty list",
      [LAZE_PASSED_NUMBER] = "a number",     [LAZE_PASSED_WORD] = "a word",
      [LAZE_PASSED_LIST] = "a list",         [LAZE_PASSED_STRING] = "a string",
  };
  return names[kind];
}

/* The argument that the next one passed fills; -1 with a reason when there is none. */
static int32_t find_argument(const resolution *match, const laze_passed *passed, uint64_t filled) {
  const laze_op_info *info = match->info;
  for (int32_t i = 0; i < info->argument_count; i++) {
    const laze_argument_info *argument = &info->arguments[i];
    if (!passed->name && (!laze_argument_is_operand(argument->kind) || filled >> i & 1)) continue;
    if (passed->name && (strncmp(argument->name, passed->name, (size_t)passed->name_length) != 0 ||
                         argument->name[passed->name_length] != 0))
      continue;
    if (!(filled >> i & 1)) return i;
    if (match->reason)
      snprintf(match->reason, REASON_SIZE, "argument '%s' is passed twice; pass it once", argument->name);
    return -1;
  }
  if (match->reason && passed->name)
    snprintf(match->reason, REASON_SIZE, "it has no argument '%.*s'; the schema is %s", passed->name_length,
             passed->name, info->schema);
  else if (match->reason)
    snprintf(match->reason, REASON_SIZE, "more operands than it takes (%d); the schema is %s", info->segment_count,
             info->schema);
  return -1;
}

static bool nothing_missing(const resolution *match, uint64_t filled) {
  for (int32_t i = 0; i < match->info->argument_count; i++) {
    const laze_argument_info *argument = &match->info->arguments[i];
    if (filled >> i & 1 || argument->optional || argument->has_default) continue;
    if (argument->kind == LAZE_ARGUMENT_DATA) continue;
    if (match->reason)
      snprintf(match->reason, REASON_SIZE, "argument '%s' is missing; the schema is %s", argument->name,
               match->info->schema);
    return false;
  }
  return true;
}

static bool matches(const resolution *match) {
  uint64_t filled = 0;
  if (match->info->argument_count > MAX_ARGUMENTS) return false;
  for (int32_t i = 0; i < match->count; i++) {
    laze_passed *passed = &match->passed[i];
    passed->argument = find_argument(match, passed, filled);
    if (passed->argument < 0) return false;
    const laze_argument_info *argument = &match->info->arguments[passed->argument];
    filled |= (uint64_t)1 << passed->argument;
    if (accepts(argument, passed, match->numbers_become_tensors)) continue;
    if (match->reason)
      snprintf(match->reason, REASON_SIZE, "argument '%s' cannot be %s; the schema is %s", argument->name,
               kind_name(passed->kind), match->info->schema);
    return false;
  }
  return nothing_missing(match, filled);
}

/* The operators in the order in which they are tried: the one of exactly that name, then, for a base name, the other
 * overloads. */
typedef struct {
  const char *name;
  laze_op exact;
  int next; /* overload to try; -1: first the exact one */
} candidate_list;

static candidate_list candidates_of(const char *name) {
  laze_op op = laze_op_find(name);
  bool is_exact = op != LAZE_OP_NONE && strcmp(laze_op_get(op)->name, name) == 0;
  return (candidate_list){name, is_exact ? op : LAZE_OP_NONE, -1};
}

static laze_op next_candidate(candidate_list *candidates) {
  if (candidates->next < 0) {
    candidates->next = 0;
    if (candidates->exact != LAZE_OP_NONE) return candidates->exact;
  }
  laze_op op = laze_op_overload(candidates->name, candidates->next++);
  if (op == LAZE_OP_NONE || op != candidates->exact) return op;
  return laze_op_overload(candidates->name, candidates->next++);
}

static laze_status refuse(const char *name, const resolution *last, int tried, laze_error *error) {
  if (tried == 0) return laze_fail(error, LAZE_NOT_FOUND, "there is no operator '%.64s'; docs list them by name", name);
  if (tried == 1) return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: %s", last->info->name, last->reason);
  char schemas[600];
  size_t length = 0;
  candidate_list all = candidates_of(name);
  for (laze_op op; (op = next_candidate(&all)) != LAZE_OP_NONE && length < sizeof schemas;)
    length += (size_t)snprintf(schemas + length, sizeof schemas - length, "; %s", laze_op_infos[op].schema);
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: no overload takes these arguments%s", name, schemas);
}

laze_status laze_call_resolve(const char *name, laze_passed *passed, int32_t count, laze_op *op, laze_error *error) {
  char reason[REASON_SIZE] = "";
  resolution match = {.passed = passed, .count = count, .reason = error ? reason : NULL};
  int tried = 0;
  for (int round = 0; round < 2; round++) {
    candidate_list all = candidates_of(name);
    match.numbers_become_tensors = round == 1;
    for (tried = 0; (*op = next_candidate(&all)) != LAZE_OP_NONE; tried++) {
      match.info = laze_op_get(*op);
      if (matches(&match)) return LAZE_OK;
    }
  }
  return refuse(name, &match, tried, error);
}

/* Tries every candidate of a name and keeps the cheapest:
 *
 *   what is passed    add(x, 2.5)
 *   add.Tensor        x: Tensor 0, 2.5: Tensor 3     = 3
 *   add.Scalar        x: Tensor 0, 2.5: Scalar 1     = 1   chosen
 *
 * A candidate that does not fit leaves a reason, which the message of a refusal lists. */
#include "base/overload.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Parameters that are filled are marked in words of 64. */
enum { MAX_PARAMETERS = 128, NO_PARAMETER = MAX_PARAMETERS, IMPOSSIBLE = 1 << 20 };

/* Trying one candidate. */
typedef struct {
  const laze_overloads *overloads;
  const laze_overload_call *call;
  const laze_candidate *candidate;
  uint64_t filled[MAX_PARAMETERS / 64];
  int32_t next;          /* parameter that a position would stand for */
  int32_t first_operand; /* parameter, the first that is given a tensor, or a number that it takes as one */
  int32_t first_number;  /* the first Tensor before the "*" that is given a number */
  char *reason;          /* NULL where nobody asks */
  size_t reason_size;
} attempt;

static void __attribute__((format(printf, 2, 3))) explain(const attempt *state, const char *format, ...) {
  va_list arguments;
  if (!state->reason) return;
  va_start(arguments, format);
  vsnprintf(state->reason, state->reason_size, format, arguments);
  va_end(arguments);
}

static laze_parameter parameter_at(const attempt *state, int32_t index) {
  laze_parameter out;
  state->overloads->parameter(state->candidate->op, index, &out);
  return out;
}

static bool is_filled(const attempt *state, int32_t index) {
  return state->filled[index / 64] >> index % 64 & 1;
}

static bool is_integer(laze_passed_kind kind) {
  return kind == LAZE_PASSED_INTEGER || kind == LAZE_PASSED_CODE;
}

static int number_cost(const laze_parameter *parameter, laze_passed_kind kind) {
  switch (parameter->kind) {
  case LAZE_ARGUMENT_TENSOR: return 3;
  case LAZE_ARGUMENT_SCALAR: return 1;
  case LAZE_ARGUMENT_LITERAL: return kind == LAZE_PASSED_SIZE ? IMPOSSIBLE : 0;
  case LAZE_ARGUMENT_INT: return is_integer(kind) ? 0 : IMPOSSIBLE;
  case LAZE_ARGUMENT_SIZE: return is_integer(kind) || kind == LAZE_PASSED_SIZE ? 0 : IMPOSSIBLE;
  case LAZE_ARGUMENT_FLOAT: return kind == LAZE_PASSED_REAL ? 0 : is_integer(kind) ? 1 : IMPOSSIBLE;
  case LAZE_ARGUMENT_BOOL: return kind == LAZE_PASSED_BOOL ? 0 : kind == LAZE_PASSED_CODE ? 2 : IMPOSSIBLE;
  case LAZE_ARGUMENT_DTYPE: return kind == LAZE_PASSED_CODE ? 2 : IMPOSSIBLE;
  case LAZE_ARGUMENT_INT_LIST: return is_integer(kind) && parameter->list_size > 0 ? 1 : IMPOSSIBLE;
  case LAZE_ARGUMENT_SIZE_LIST:
    return (is_integer(kind) || kind == LAZE_PASSED_SIZE) && parameter->list_size > 0 ? 1 : IMPOSSIBLE;
  case LAZE_ARGUMENT_FLOAT_LIST:
    return (is_integer(kind) || kind == LAZE_PASSED_REAL) && parameter->list_size > 0 ? 1 : IMPOSSIBLE;
  default: return IMPOSSIBLE;
  }
}

/* What is no number: each kind with the parameters that it can stand for. */
static const struct {
  laze_passed_kind kind;
  laze_argument_kind parameter;
  int cost;
} fits[] = {
    {LAZE_PASSED_TENSOR, LAZE_ARGUMENT_TENSOR, 0},
    {LAZE_PASSED_SCALAR_TENSOR, LAZE_ARGUMENT_TENSOR, 0},
    {LAZE_PASSED_SCALAR_TENSOR, LAZE_ARGUMENT_SCALAR, 2},
    {LAZE_PASSED_TENSOR_LIST, LAZE_ARGUMENT_TENSOR_LIST, 0},
    {LAZE_PASSED_TENSOR_LIST, LAZE_ARGUMENT_OPTIONAL_LIST, 0},
    {LAZE_PASSED_OPTIONAL_LIST, LAZE_ARGUMENT_OPTIONAL_LIST, 0},
    {LAZE_PASSED_SCALAR, LAZE_ARGUMENT_SCALAR, 0},
    {LAZE_PASSED_SCALAR, LAZE_ARGUMENT_TENSOR, 2},
    {LAZE_PASSED_DTYPE, LAZE_ARGUMENT_DTYPE, 0},
    {LAZE_PASSED_STRING, LAZE_ARGUMENT_STRING, 0},
    {LAZE_PASSED_EMPTY_LIST, LAZE_ARGUMENT_TENSOR_LIST, 0},
    {LAZE_PASSED_EMPTY_LIST, LAZE_ARGUMENT_OPTIONAL_LIST, 0},
    {LAZE_PASSED_EMPTY_LIST, LAZE_ARGUMENT_INT_LIST, 0},
    {LAZE_PASSED_EMPTY_LIST, LAZE_ARGUMENT_SIZE_LIST, 0},
    {LAZE_PASSED_EMPTY_LIST, LAZE_ARGUMENT_FLOAT_LIST, 0},
    {LAZE_PASSED_EMPTY_LIST, LAZE_ARGUMENT_STRING_LIST, 0},
    {LAZE_PASSED_INT_LIST, LAZE_ARGUMENT_INT_LIST, 0},
    {LAZE_PASSED_INT_LIST, LAZE_ARGUMENT_SIZE_LIST, 0},
    {LAZE_PASSED_INT_LIST, LAZE_ARGUMENT_FLOAT_LIST, 1},
    {LAZE_PASSED_SIZE_LIST, LAZE_ARGUMENT_SIZE_LIST, 0},
    {LAZE_PASSED_FLOAT_LIST, LAZE_ARGUMENT_FLOAT_LIST, 0},
    {LAZE_PASSED_STRING_LIST, LAZE_ARGUMENT_STRING_LIST, 0},
};

/* Tensors that stand for sizes: one without dims, or, for a list, one of one dim or several without. */
static int size_cost(const laze_parameter *parameter, laze_passed_kind kind) {
  bool list = kind == LAZE_PASSED_TENSOR || kind == LAZE_PASSED_TENSOR_LIST || kind == LAZE_PASSED_MIXED_LIST;
  if (kind == LAZE_PASSED_SCALAR_TENSOR && parameter->kind == LAZE_ARGUMENT_SIZE) return 3;
  return list && parameter->kind == LAZE_ARGUMENT_SIZE_LIST ? 3 : IMPOSSIBLE;
}

static int passing_cost(const laze_parameter *parameter, const laze_passed *passed, bool sizes_from_values) {
  if (passed->kind == LAZE_PASSED_ABSENT) return parameter->may_be_absent ? 0 : IMPOSSIBLE;
  if (passed->may_be_absent && !parameter->may_be_absent) return IMPOSSIBLE;
  /* A value of its own cannot be made of what may not be there. */
  bool is_made = passed->kind == LAZE_PASSED_SCALAR && parameter->kind == LAZE_ARGUMENT_TENSOR;
  if (passed->may_be_absent && is_made) return IMPOSSIBLE;
  if (laze_passed_is_number(passed->kind)) return number_cost(parameter, passed->kind);
  for (size_t i = 0; i < sizeof fits / sizeof *fits; i++)
    if (fits[i].kind == passed->kind && fits[i].parameter == parameter->kind) return fits[i].cost;
  return sizes_from_values ? size_cost(parameter, passed->kind) : IMPOSSIBLE;
}

static const char *kind_text(laze_passed_kind kind) {
  static const char *const names[] = {
      [LAZE_PASSED_LEFT_OUT] = "nothing",
      [LAZE_PASSED_ABSENT] = "none",
      [LAZE_PASSED_TENSOR] = "a tensor",
      [LAZE_PASSED_SCALAR_TENSOR] = "a tensor",
      [LAZE_PASSED_TENSOR_LIST] = "a list of tensors",
      [LAZE_PASSED_OPTIONAL_LIST] = "a list of tensors and none",
      [LAZE_PASSED_SCALAR] = "a Scalar",
      [LAZE_PASSED_BOOL] = "a bool",
      [LAZE_PASSED_INTEGER] = "an integer",
      [LAZE_PASSED_REAL] = "a real number",
      [LAZE_PASSED_LITERAL] = "a number",
      [LAZE_PASSED_CODE] = "an integer",
      [LAZE_PASSED_SIZE] = "a size",
      [LAZE_PASSED_DTYPE] = "a dtype",
      [LAZE_PASSED_STRING] = "a string",
      [LAZE_PASSED_EMPTY_LIST] = "an empty list",
      [LAZE_PASSED_INT_LIST] = "a list of integers",
      [LAZE_PASSED_SIZE_LIST] = "a list of sizes",
      [LAZE_PASSED_FLOAT_LIST] = "a list of real numbers",
      [LAZE_PASSED_STRING_LIST] = "a list of strings",
      [LAZE_PASSED_MIXED_LIST] = "a list of sizes and tensors",
      [LAZE_PASSED_OTHER] = "what no argument takes",
  };
  return names[kind];
}

static const char *parameter_text(laze_argument_kind kind) {
  static const char *const names[] = {
      [LAZE_ARGUMENT_TENSOR] = "Tensor",      [LAZE_ARGUMENT_TENSOR_LIST] = "Tensor[]",
      [LAZE_ARGUMENT_SCALAR] = "Scalar",      [LAZE_ARGUMENT_INT] = "int",
      [LAZE_ARGUMENT_SIZE] = "SymInt",        [LAZE_ARGUMENT_FLOAT] = "float",
      [LAZE_ARGUMENT_BOOL] = "bool",          [LAZE_ARGUMENT_DTYPE] = "ScalarType (such as f32)",
      [LAZE_ARGUMENT_STRING] = "str",         [LAZE_ARGUMENT_INT_LIST] = "int[]",
      [LAZE_ARGUMENT_SIZE_LIST] = "SymInt[]", [LAZE_ARGUMENT_LITERAL] = "Scalar",
      [LAZE_ARGUMENT_DATA] = "elements",      [LAZE_ARGUMENT_OPTIONAL_LIST] = "Tensor?[]",
      [LAZE_ARGUMENT_FLOAT_LIST] = "float[]", [LAZE_ARGUMENT_STRING_LIST] = "str[]",
  };
  return names[kind];
}

static int32_t find_named(attempt *state, const laze_passed *passed) {
  for (int32_t i = 0; i < state->candidate->parameter_count; i++) {
    const char *name = parameter_at(state, i).name;
    if (strncmp(name, passed->name, (size_t)passed->name_length) != 0 || name[passed->name_length] != 0) continue;
    if (!is_filled(state, i)) return i;
    explain(state, "argument '%s' is passed twice", name);
    return -1;
  }
  explain(state, "it has no argument '%.*s'", (int)passed->name_length, passed->name);
  return -1;
}

static bool takes_position(const attempt *state, const laze_parameter *parameter) {
  if (state->call->positions == LAZE_POSITIONS_OPERANDS) return laze_argument_is_operand(parameter->kind);
  return state->call->positions == LAZE_POSITIONS_ALL || !parameter->keyword_only;
}

static int32_t find_position(attempt *state) {
  int32_t taken = 0;
  for (int32_t i = 0; i < state->candidate->parameter_count; i++) {
    laze_parameter parameter = parameter_at(state, i);
    if (!takes_position(state, &parameter)) continue;
    if (i >= state->next) {
      state->next = i + 1;
      if (!is_filled(state, i)) return i;
      explain(state, "argument '%s' is passed twice", parameter.name);
      return -1;
    }
    taken++;
  }
  explain(state, "more %s than it takes (%d)",
          state->call->positions == LAZE_POSITIONS_OPERANDS ? "operands" : "arguments", (int)taken);
  return -1;
}

static bool nothing_missing(attempt *state) {
  for (int32_t i = 0; i < state->candidate->parameter_count; i++) {
    laze_parameter parameter = parameter_at(state, i);
    if (is_filled(state, i) || parameter.may_be_left_out) continue;
    explain(state, "argument '%s' is missing", parameter.name);
    return false;
  }
  return true;
}

/* Notes which parameters operands were given to first. */
static void note_order(attempt *state, const laze_parameter *parameter, const laze_passed *passed) {
  bool is_tensor = passed->kind >= LAZE_PASSED_TENSOR && passed->kind <= LAZE_PASSED_OPTIONAL_LIST;
  bool is_number = laze_passed_is_number(passed->kind);
  if ((is_tensor || (is_number && parameter->kind == LAZE_ARGUMENT_SCALAR)) && passed->argument < state->first_operand)
    state->first_operand = passed->argument;
  if (is_number && parameter->kind == LAZE_ARGUMENT_TENSOR && !parameter->keyword_only &&
      passed->argument < state->first_number)
    state->first_number = passed->argument;
}

/* A number where the tensor is wanted that the call is about is more often a slip than meant. */
static bool numbers_follow(attempt *state) {
  if (!state->call->numbers_follow || state->first_number == NO_PARAMETER) return true;
  if (state->first_number > state->first_operand) return true;
  explain(state,
          "argument '%s' is Tensor, given a number, which stands for one only behind another operand; make it a tensor",
          parameter_at(state, state->first_number).name);
  return false;
}

/* The cost of the candidate, IMPOSSIBLE with a reason where it does not fit. */
static int try(attempt *state) {
  int cost = 0;
  if (state->candidate->parameter_count > MAX_PARAMETERS) return IMPOSSIBLE;
  for (int32_t i = 0; i < state->call->count; i++) {
    laze_passed *passed = &state->call->passed[i];
    passed->argument = passed->name ? find_named(state, passed) : find_position(state);
    if (passed->argument < 0) return IMPOSSIBLE;
    if (passed->kind == LAZE_PASSED_LEFT_OUT) continue;
    laze_parameter parameter = parameter_at(state, passed->argument);
    state->filled[passed->argument / 64] |= (uint64_t)1 << passed->argument % 64;
    cost += passing_cost(&parameter, passed, state->call->sizes_from_values);
    note_order(state, &parameter, passed);
    if (cost < IMPOSSIBLE) continue;
    explain(state, "argument '%s' is %s%s, given %s%s", parameter.name, parameter_text(parameter.kind),
            parameter.may_be_absent ? "?" : "", kind_text(passed->kind),
            passed->may_be_absent ? " that may be absent" : "");
    return IMPOSSIBLE;
  }
  return nothing_missing(state) && numbers_follow(state) ? cost : IMPOSSIBLE;
}

static attempt attempt_of(const laze_overloads *overloads, const laze_overload_call *call,
                          const laze_candidate *candidate) {
  return (attempt){.overloads = overloads,
                   .call = call,
                   .candidate = candidate,
                   .first_operand = NO_PARAMETER,
                   .first_number = NO_PARAMETER};
}

bool laze_overload_choose(const laze_overloads *overloads, const laze_overload_call *call, laze_candidate *chosen) {
  laze_candidate candidate;
  int lowest = IMPOSSIBLE;
  bool exact = false, is_last = false; /* whether the chosen one was tried last */
  for (int32_t i = 0; overloads->candidate(overloads->self, call->name, i, &candidate); i++) {
    attempt state = attempt_of(overloads, call, &candidate);
    int cost = try(&state);
    bool is_exact = strcmp(candidate.name, call->name) == 0;
    is_last = cost < lowest || (cost == lowest && cost < IMPOSSIBLE && !exact && is_exact);
    if (!is_last) continue;
    lowest = cost;
    exact = is_exact;
    *chosen = candidate;
  }
  if (lowest == IMPOSSIBLE) return false;
  if (is_last) return true;
  attempt state = attempt_of(overloads, call, chosen);
  return try(&state) < IMPOSSIBLE; /* again: what was passed stands for this one's arguments */
}

const char *laze_overload_reason(const laze_overloads *overloads, const laze_overload_call *call,
                                 const laze_candidate *candidate, char *reason, size_t size) {
  attempt state = attempt_of(overloads, call, candidate);
  state.reason = reason;
  state.reason_size = size;
  *reason = 0;
  (void)try(&state);
  return reason;
}

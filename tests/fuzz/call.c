/* Calls by name: bytes choose operators and arguments of every kind, most of them of the kind that the schema has. Each
 * call is refused with a message, or gives results, of which small ones are computed. */
#include "laze/schema.h"
#include "laze/tensor.h"
#include "tests/fuzz/fuzz.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { POOL = 32, MOST_CALLS = 8, MOST_ARGUMENTS = 12, LIST = 4, RESULTS = 16, MOST_ELEMENTS = 4096 };

typedef struct {
  fuzz_reader reader;
  laze_context *context;
  laze_tensor *pool[POOL];
  int count;
} session;

/* What the lists of one call's arguments live in. */
typedef struct {
  laze_argument arguments[MOST_ARGUMENTS];
  laze_tensor *tensors[MOST_ARGUMENTS][LIST];
  int64_t integers[MOST_ARGUMENTS][LIST];
  double reals[MOST_ARGUMENTS][LIST];
  const char *strings[MOST_ARGUMENTS][LIST];
  laze_size_item sizes[MOST_ARGUMENTS][LIST];
  int32_t count;
} call;

static int64_t integer(session *self) {
  static const int64_t extremes[] = {INT64_MAX,        INT64_MIN,           -1, (int64_t)1 << 40, (int64_t)1 << 31,
                                     (int64_t)1 << 62, -((int64_t)1 << 62), 17};
  uint8_t byte = (uint8_t)fuzz_take(&self->reader, 1);
  return byte >= 248 ? extremes[byte - 248] : byte % 8 - 2;
}

static double real(session *self) {
  static const double reals[] = {0, 1, -1, 0.5, 2.5, 1e300, -0.0, 1.0 / 3};
  int at = fuzz_below(&self->reader, 10);
  return at < 8 ? reals[at] : at == 8 ? strtod("nan", NULL) : strtod("inf", NULL);
}

static const char *string(session *self) {
  static const char *const strings[] = {"mean", "sum", "floor", "trunc", "prod", "none", "", "no such word"};
  return strings[fuzz_below(&self->reader, 8)];
}

/* NULL among them where each may be absent. */
static laze_tensor *tensor(session *self) {
  return self->pool[fuzz_below(&self->reader, self->count)];
}

static void fill_list(session *self, call *out, int32_t at, laze_argument *argument) {
  argument->count = fuzz_below(&self->reader, LIST + 1);
  for (int i = 0; i < argument->count; i++) switch (argument->kind) {
    case LAZE_PASS_TENSORS: out->tensors[at][i] = fuzz_below(&self->reader, 5) ? tensor(self) : NULL; break;
    case LAZE_PASS_INTEGERS: out->integers[at][i] = integer(self); break;
    case LAZE_PASS_REALS: out->reals[at][i] = real(self); break;
    case LAZE_PASS_STRINGS: out->strings[at][i] = string(self); break;
    default:
      out->sizes[at][i] = (laze_size_item){0};
      if (fuzz_below(&self->reader, 2))
        out->sizes[at][i].tensor = tensor(self);
      else
        out->sizes[at][i].number = integer(self);
    }
  switch (argument->kind) {
  case LAZE_PASS_TENSORS: argument->value.tensors = out->tensors[at]; break;
  case LAZE_PASS_INTEGERS: argument->value.integers = out->integers[at]; break;
  case LAZE_PASS_REALS: argument->value.reals = out->reals[at]; break;
  case LAZE_PASS_STRINGS: argument->value.strings = out->strings[at]; break;
  default: argument->value.sizes = out->sizes[at];
  }
}

static void fill(session *self, call *out, int32_t at, int32_t kind) {
  laze_argument *argument = &out->arguments[at];
  argument->kind = kind;
  switch (kind) {
  case LAZE_PASS_TENSOR: argument->value.tensor = tensor(self); break;
  case LAZE_PASS_SCALAR:
    argument->value.scalar =
        fuzz_below(&self->reader, 2) ? laze_scalar_real(real(self)) : laze_scalar_integer(integer(self));
    break;
  case LAZE_PASS_INTEGER: argument->value.integer = integer(self); break;
  case LAZE_PASS_BOOL: argument->value.integer = fuzz_below(&self->reader, 2); break;
  case LAZE_PASS_DTYPE: argument->value.integer = fuzz_below(&self->reader, 8); break;
  case LAZE_PASS_REAL: argument->value.real = real(self); break;
  case LAZE_PASS_STRING: argument->value.string = string(self); break;
  case LAZE_PASS_DEFAULT:
  case LAZE_PASS_NONE: break;
  default: fill_list(self, out, at, argument);
  }
}

/* What fits an argument of the schema, or now and then anything. */
static int32_t kind_for(session *self, const laze_operator_argument *argument) {
  static const int32_t kinds[] = {
      [LAZE_TAKES_TENSOR] = LAZE_PASS_TENSOR,     [LAZE_TAKES_TENSORS] = LAZE_PASS_TENSORS,
      [LAZE_TAKES_SCALAR] = LAZE_PASS_SCALAR,     [LAZE_TAKES_INTEGER] = LAZE_PASS_INTEGER,
      [LAZE_TAKES_REAL] = LAZE_PASS_REAL,         [LAZE_TAKES_BOOL] = LAZE_PASS_BOOL,
      [LAZE_TAKES_DTYPE] = LAZE_PASS_DTYPE,       [LAZE_TAKES_STRING] = LAZE_PASS_STRING,
      [LAZE_TAKES_INTEGERS] = LAZE_PASS_INTEGERS, [LAZE_TAKES_REALS] = LAZE_PASS_REALS,
      [LAZE_TAKES_STRINGS] = LAZE_PASS_STRINGS,   [LAZE_TAKES_OPTIONAL_TENSORS] = LAZE_PASS_TENSORS};
  int choice = fuzz_below(&self->reader, 32);
  bool is_size = strncmp(argument->type, "SymInt", strlen("SymInt")) == 0;
  if (choice == 31) return fuzz_below(&self->reader, LAZE_PASS_SIZES + 3); /* some are none */
  if (choice > 27) return LAZE_PASS_DEFAULT;
  if (choice == 27) return LAZE_PASS_NONE;
  if (is_size && choice > 21) return argument->takes == LAZE_TAKES_INTEGERS ? LAZE_PASS_SIZES : LAZE_PASS_TENSOR;
  return argument->takes < (int32_t)(sizeof kinds / sizeof *kinds) ? kinds[argument->takes] : LAZE_PASS_NONE;
}

static void choose_arguments(session *self, const laze_operator *op, call *out) {
  int32_t count = laze_operator_argument_count(op), wrong = fuzz_below(&self->reader, 32);
  int32_t named_from = fuzz_below(&self->reader, MOST_ARGUMENTS);
  if (count > MOST_ARGUMENTS) count = MOST_ARGUMENTS;
  for (int32_t i = 0; i < count; i++) {
    const laze_operator_argument *argument = laze_operator_argument_at(op, i);
    fill(self, out, i, kind_for(self, argument));
    if (i >= named_from) out->arguments[i].name = i == wrong ? "no_such_argument" : argument->name;
  }
  out->count = count - (wrong > 29 && count > 0);
}

static void add_to_pool(session *self, laze_tensor *tensor) {
  if (self->count < POOL)
    self->pool[self->count++] = tensor;
  else
    self->pool[fuzz_below(&self->reader, POOL)] = tensor;
}

static void check_result(session *self, laze_tensor *result) {
  static char room[MOST_ELEMENTS * 8];
  if (!result) return;
  laze_status status = laze_tensor_status(result);
  int64_t elements = status == LAZE_OK ? laze_tensor_elements(result) : -1;
  status = laze_tensor_status(result);
  if (elements >= 0 && elements <= MOST_ELEMENTS) {
    laze_dtype dtype = laze_tensor_dtype(result);
    size_t size = (size_t)(elements * (dtype == LAZE_F64 || dtype == LAZE_I64 ? 8 : dtype == LAZE_BOOL ? 1 : 4));
    status = laze_tensor_read(result, dtype, room, size);
    if (status == LAZE_OK) fuzz_note_accepted();
  }
  const char *message = laze_tensor_error(result);
  if (status != LAZE_OK && (!message || !*message)) fuzz_fail("no message for %s", laze_status_name(status));
  if (status == LAZE_INTERNAL) fuzz_fail("%s", message);
  if (elements < 0 || elements <= MOST_ELEMENTS) add_to_pool(self, result); /* errors too */
}

static uint16_t hash_name(const char *name) {
  uint32_t hash = 2166136261u;
  for (; *name; name++) hash = (hash ^ (uint8_t)*name) * 16777619u;
  return (uint16_t)(hash ^ hash >> 16);
}

/* The operator whose hash follows the number: so an input calls the same ones when others are added. */
static const laze_operator *choose_operator(uint16_t number) {
  const laze_operator *chosen = laze_operator_at(0);
  for (int32_t i = 1; i < laze_operator_count(); i++) {
    const laze_operator *other = laze_operator_at(i);
    uint16_t distance = (uint16_t)(hash_name(laze_operator_name(other)) - number);
    if (distance < (uint16_t)(hash_name(laze_operator_name(chosen)) - number)) chosen = other;
  }
  return chosen;
}

static void call_one(session *self) {
  const laze_operator *op = choose_operator((uint16_t)fuzz_take(&self->reader, 2));
  laze_tensor *results[RESULTS];
  call out = {0};
  laze_error error = {0};
  choose_arguments(self, op, &out);
  const char *name = fuzz_below(&self->reader, 2) ? laze_operator_name(op) : laze_operator_base_name(op);
  laze_status status = laze_call_match(name, out.arguments, out.count, fuzz_below(&self->reader, 2), &error);
  fuzz_check_refusal(name, status, &error);
  int32_t count = laze_call_by_name(self->context, name, out.arguments, out.count, results, RESULTS);
  if (count < 1) fuzz_fail("%s gives %d results", name, (int)count);
  for (int32_t i = 0; i < count && i < RESULTS; i++) check_result(self, results[i]);
}

static void begin(session *self) {
  static const float floats[] = {0.5f, -1, 2, 3, -4.5f, 6};
  static const int64_t integers[] = {1, 0, 2, 1, 0, 2};
  static const int32_t narrow[] = {1, 0, 1};
  static const double doubles[] = {1.5, -0.0};
  static const uint8_t bools[] = {1, 0, 1};
  laze_context *context = self->context;
  add_to_pool(self, laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(2, 3), floats, sizeof floats));
  add_to_pool(self, laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(3), floats, 3 * sizeof *floats));
  add_to_pool(self, laze_tensor_from_data(context, LAZE_I64, LAZE_SHAPE(3), integers, 3 * sizeof *integers));
  add_to_pool(self, laze_tensor_from_data(context, LAZE_I64, LAZE_SHAPE_SCALAR, integers, sizeof *integers));
  add_to_pool(self, laze_tensor_from_data(context, LAZE_I32, LAZE_SHAPE(3, 1), narrow, sizeof narrow));
  add_to_pool(self, laze_tensor_from_data(context, LAZE_F64, LAZE_SHAPE(2), doubles, sizeof doubles));
  add_to_pool(self, laze_tensor_from_data(context, LAZE_BOOL, LAZE_SHAPE(3), bools, sizeof bools));
  add_to_pool(self, laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(1, 2, 3), floats, sizeof floats));
  add_to_pool(self, laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(0, 3), floats, 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  session self = {.reader = {data, size}, .context = fuzz_context_create(NULL)};
  laze_scope *scope = laze_scope_begin(self.context);
  laze_error error = {0};
  begin(&self);
  for (int i = 0; i < MOST_CALLS && self.reader.left > 0; i++) call_one(&self);
  /* Those that are too large to read may hold an error that nobody asked for. */
  fuzz_check_refusal("the scope", laze_scope_end_error(scope, &error), &error);
  fuzz_context_destroy(self.context);
  return 0;
}

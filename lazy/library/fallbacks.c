/* What the keys below gradients make of a call: what is written and shared, and the node that calls the kernel.
 *
 *   mine::add_(Tensor(a!) x, Tensor y) -> Tensor(a!)
 *     views          values below: %0 = what x becomes;   x has the value of %0 from now on, as by x.copy_(%0)
 *     functionalize  a schema that still writes is refused
 *     backend        %0 = opaque [x, y], name="mine::add_"
 */
#define LAZE_NO_MACROS
#include "base/dtype.h"
#include "laze/autograd.h"
#include "laze/call.h"
#include "lazy/lazy.h"
#include "lazy/library/arguments.h"
#include "lazy/library/dispatch.h"
#include "lazy/library/view.h"

/* --- views --- */

/* What is written to, each with memory of its own: a kernel gets copies, of which the last would win. */
static laze_status find_destinations(const laze_library_state *state, laze_tensor **out, laze_error *error) {
  const laze_library_schema *schema = &state->op->schema;
  for (int32_t i = 0; i < schema->write_count; i++) {
    out[i] = state->bound[schema->writes[i]].value.tensor;
    for (int32_t k = 0; k < i; k++)
      if (laze_library_share_memory(state, out[k], out[i]))
        return laze_fail(error, LAZE_INVALID_ARGUMENT,
                         "%s: arguments '%s' and '%s' share memory, and both are written; write to a copy of one",
                         schema->name, schema->arguments[schema->writes[k]].name,
                         schema->arguments[schema->writes[i]].name);
  }
  return LAZE_OK;
}

static laze_status write_values(const laze_library_state *state, laze_tensor *const *destinations,
                                laze_tensor *const *values, laze_error *error) {
  const laze_library_schema *schema = &state->op->schema;
  for (int32_t i = 0; i < schema->write_count; i++)
    if (!values[i])
      return laze_fail(error, LAZE_UNSUPPORTED,
                       "%s: it writes to arguments, and its code below LAZE_KEY_VIEWS has no way to say what; put the "
                       "code at that key",
                       schema->name);
  if (schema->write_count == 0) return LAZE_OK;
  laze_tensor *given = laze_results_give_at(LAZE_IN_PLACE, schema->name, destinations, values, schema->write_count,
                                            state->file, state->line);
  return given == destinations[0] ? LAZE_OK : laze_library_pass_on(given, error);
}

/* Values that are to have a history: own results, then what is written. */
static laze_status give_history(const laze_library_state *state, laze_tensor **results, laze_tensor **written,
                                laze_error *error) {
  const laze_library_schema *schema = &state->op->schema;
  laze_tensor *values[2 * LAZE_OPAQUE_MAX_RESULTS];
  int32_t count = 0;
  for (int32_t i = 0; i < schema->result_count; i++)
    if (schema->results[i] < 0) values[count++] = results[i];
  for (int32_t i = 0; i < schema->write_count; i++) values[count++] = written[i];
  LAZE_TRY(laze_library_refuse_gradients(state, values, count, error));
  count = 0;
  for (int32_t i = 0; i < schema->result_count; i++)
    if (schema->results[i] < 0) results[i] = values[count++];
  for (int32_t i = 0; i < schema->write_count; i++) written[i] = values[count++];
  return LAZE_OK;
}

laze_status laze_library_fallback_views(void *self, const laze_library_dispatch *call, laze_tensor **results,
                                        laze_error *error) {
  (void)self;
  const laze_library_state *state = call->state;
  const laze_library_schema *schema = &state->op->schema;
  laze_tensor *written[LAZE_OPAQUE_MAX_RESULTS] = {NULL}, *destinations[LAZE_OPAQUE_MAX_RESULTS];
  laze_library_state below = *state;
  if (laze_library_schema_aliases(schema)) {
    below.is_functional = true;
    below.written = written;
    LAZE_TRY(find_destinations(state, destinations, error));
  }
  LAZE_TRY(laze_library_enter(&below, LAZE_KEY_FUNCTIONALIZE, results, error));
  for (int32_t i = 0; i < schema->write_count; i++)
    if (!written[i]) return write_values(state, destinations, written, error);
  if (state->refuses_gradients) LAZE_TRY(give_history(state, results, written, error));
  if (!below.is_functional) return LAZE_OK;
  LAZE_TRY(write_values(state, destinations, written, error));
  for (int32_t i = 0; i < schema->result_count; i++)
    if (schema->results[i] >= 0) results[i] = state->bound[schema->results[i]].value.tensor;
  return schema->is_view ? laze_library_make_view(state, results[0], error) : LAZE_OK;
}

/* --- functionalisation --- */

laze_status laze_library_fallback_functionalize(void *self, const laze_library_dispatch *call, laze_tensor **results,
                                                laze_error *error) {
  (void)self;
  const laze_library_state *state = call->state;
  if (laze_library_schema_aliases(&state->op->schema) && !state->is_functional)
    return laze_fail(
        error, LAZE_UNSUPPORTED,
        "%s: its schema writes to arguments or shares their memory, and nothing above LAZE_KEY_FUNCTIONALIZE"
        " has made values of that; give it code at that key",
        call->name);
  return laze_library_redispatch(call, results, error);
}

/* --- the kernel --- */

/* One call of it, laid out; in the arena of the call. */
typedef struct {
  const laze_library_state *state;
  laze_library_routine *routine; /* referenced */
  laze_library_layout layout;
  const char *dtypes[LAZE_OPAQUE_MAX_RESULTS];
  int64_t ranks[LAZE_OPAQUE_MAX_RESULTS], *sizes;
  int32_t type_count, size_count; /* 0: results are like the first operand */
} recording;

/* The operands' types, of which sizes that follow from values are found. */
static laze_status describe_operands(const recording *self, laze_opaque_tensor *out, laze_error *error) {
  laze_arena *arena = self->state->arena;
  for (int32_t i = 0; i < self->layout.operand_count; i++) {
    laze_tensor *tensor = self->layout.operands[i];
    const int32_t rank = laze_tensor_rank(tensor);
    if (rank < 0) LAZE_TRY(laze_library_pass_on(tensor, error));
    int64_t *sizes = laze_arena_alloc_array(arena, rank, sizeof *sizes);
    if (!sizes) return laze_fail_memory(error, "a call", -1);
    for (int32_t axis = 0; axis < rank; axis++) {
      sizes[axis] = laze_tensor_size(tensor, axis);
      if (sizes[axis] >= 0) continue;
      LAZE_TRY(laze_library_pass_on(tensor, error));
      return laze_fail(error, LAZE_FAILED_PRECONDITION, "%s: size %d of tensor %d could not be computed",
                       self->state->op->schema.name, (int)axis, (int)i);
    }
    out[i] = (laze_opaque_tensor){.dtype = laze_tensor_dtype(tensor), .rank = rank, .sizes = sizes};
  }
  return LAZE_OK;
}

static laze_status keep_types(recording *self, const laze_opaque_type *types, int32_t count, laze_error *error) {
  self->sizes = laze_arena_alloc_array(self->state->arena, count * LAZE_OPAQUE_MAX_RANK, sizeof *self->sizes);
  if (!self->sizes) return laze_fail_memory(error, "a call", -1);
  for (int32_t i = 0; i < count; i++) {
    laze_type type;
    if (types[i].rank < 0 || types[i].rank > LAZE_OPAQUE_MAX_RANK)
      return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: its rule gives result %d rank %d, expected 0 to %d",
                       self->state->op->schema.name, (int)i, (int)types[i].rank, LAZE_OPAQUE_MAX_RANK);
    LAZE_TRY(laze_type_init(&type, self->state->op->schema.name, types[i].dtype, types[i].rank, types[i].sizes, error));
    self->dtypes[i] = laze_dtype_name(types[i].dtype);
    self->ranks[i] = types[i].rank;
    for (int32_t axis = 0; axis < types[i].rank; axis++) self->sizes[self->size_count++] = types[i].sizes[axis];
  }
  self->type_count = count;
  return LAZE_OK;
}

/* Asks the rule for types here, where no lock is held, and not while the call is recorded. */
static laze_status find_types(recording *self, laze_error *error) {
  const laze_library_schema *schema = &self->state->op->schema;
  const laze_library_layout *layout = &self->layout;
  laze_opaque_type types[LAZE_OPAQUE_MAX_RESULTS] = {{0}};
  laze_error said = {.code = LAZE_OK};
  const int32_t count = laze_library_schema_own_results(schema) + schema->write_count;
  if (laze_library_routine_is_plain(self->routine)) return LAZE_OK;
  laze_opaque_tensor *operands = laze_arena_alloc_array(self->state->arena, layout->operand_count, sizeof *operands);
  if (!operands) return laze_fail_memory(error, "a call", -1);
  LAZE_TRY(describe_operands(self, operands, error));
  const laze_opaque_call asked = {.struct_size = sizeof asked,
                                  .operand_count = layout->operand_count,
                                  .result_count = count,
                                  .operands = operands,
                                  .integers = {layout->integers, layout->integer_count},
                                  .reals = {layout->reals, layout->real_count},
                                  .strings = {layout->strings, layout->string_count}};
  const laze_status status = laze_library_routine_infer(self->routine, &asked, types, &said);
  if (status == LAZE_OK) return keep_types(self, types, count, error);
  if (error) *error = said;
  return laze_library_name_failure(self->state, status, error);
}

static laze_status record(const recording *self, laze_tensor **values, int32_t *count, laze_error *error) {
  const laze_library_layout *layout = &self->layout;
  const laze_library_state *state = self->state;
  const laze_argument arguments[] = {
      {.kind = LAZE_PASS_STRING, .value.string = state->op->schema.name},
      {.kind = LAZE_PASS_TENSORS, .count = layout->operand_count, .value.tensors = layout->operands},
      {.kind = LAZE_PASS_INTEGERS, .count = layout->integer_count, .value.integers = layout->integers},
      {.kind = LAZE_PASS_REALS, .count = layout->real_count, .value.reals = layout->reals},
      {.kind = LAZE_PASS_STRINGS, .count = layout->string_count, .value.strings = layout->strings},
      {.kind = LAZE_PASS_DEFAULT}, /* the version there is */
      {.kind = LAZE_PASS_STRINGS, .count = self->type_count, .value.strings = self->dtypes},
      {.kind = LAZE_PASS_INTEGERS, .count = self->type_count, .value.integers = self->ranks},
      {.kind = LAZE_PASS_INTEGERS, .count = self->size_count, .value.integers = self->sizes},
  };
  laze_context *context = state->library->context;
  const int32_t tracks = laze_set_grad_enabled(context, 0), all = (int32_t)(sizeof arguments / sizeof *arguments);
  *count = laze_call_by_name_at(context, "opaque", arguments, self->type_count > 0 ? all : 5, values,
                                LAZE_OPAQUE_MAX_RESULTS, state->file, state->line);
  laze_set_grad_enabled(context, tracks);
  return laze_library_pass_on(values[0], error);
}

static laze_status record_kernel(recording *self, laze_tensor **values, laze_error *error) {
  const laze_library_schema *schema = &self->state->op->schema;
  const int32_t expected = laze_library_schema_own_results(schema) + schema->write_count;
  int32_t count = 0;
  laze_status status = laze_library_lay_out(self->state->arena, schema, self->state->bound, &self->layout, error);
  if (status == LAZE_OK) status = find_types(self, error);
  if (status == LAZE_OK) status = record(self, values, &count, error);
  laze_library_give_back(&self->layout);
  if (status != LAZE_OK || count == expected) return status;
  /* Somebody has registered another kernel of that name. */
  return laze_fail(error, LAZE_FAILED_PRECONDITION, "%s: its kernel gives %d results, and the schema says %d",
                   schema->name, (int)count, (int)expected);
}

laze_status laze_library_fallback_backend(void *self, const laze_library_dispatch *call, laze_tensor **results,
                                          laze_error *error) {
  (void)self;
  const laze_library_state *state = call->state;
  const laze_library_schema *schema = &state->op->schema;
  laze_tensor *values[LAZE_OPAQUE_MAX_RESULTS];
  int32_t next = 0;
  if (schema->write_count > 0 && !state->written)
    return laze_fail(error, LAZE_UNSUPPORTED, "%s: its kernel gives what it writes as values to LAZE_KEY_VIEWS alone",
                     schema->name);
  recording recorded = {.state = state, .routine = laze_library_routine_of(state->library, state->op)};
  if (!recorded.routine)
    return laze_fail(error, LAZE_NOT_FOUND,
                     "%s: it has no kernel for this backend; laze_library_implement() gives it one", schema->name);
  const laze_status status = record_kernel(&recorded, values, error);
  laze_library_routine_release(recorded.routine);
  LAZE_TRY(status);
  for (int32_t i = 0; i < schema->result_count; i++)
    results[i] = schema->results[i] < 0 ? values[next++] : state->bound[schema->results[i]].value.tensor;
  for (int32_t i = 0; i < schema->write_count; i++) state->written[i] = values[next++];
  return LAZE_OK;
}

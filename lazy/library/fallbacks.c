/* What the keys below gradients make of a call: what is written and shared, and the node that calls the kernel.
 *
 *   mine::add_(Tensor(a!) x, Tensor y) -> Tensor(a!)
 *     views          values below: %0 = what x becomes;   x has the value of %0 from now on, as by x.copy_(%0)
 *     functionalize  a schema that still writes is refused
 *     backend        %0 = opaque [x, y], name="mine::add_"
 */
#define LAZE_NO_MACROS
#include "laze/autograd.h"
#include "laze/call.h"
#include "lazy/lazy.h"
#include "lazy/library/arguments.h"
#include "lazy/library/dispatch.h"
#include "lazy/library/view.h"

/* --- views --- */

/* What is written to, and each once. */
static laze_status find_destinations(const laze_library_state *state, laze_tensor **out, laze_error *error) {
  const laze_library_schema *schema = &state->op->schema;
  for (int32_t i = 0; i < schema->write_count; i++) {
    out[i] = state->bound[schema->writes[i]].value.tensor;
    for (int32_t k = 0; k < i; k++)
      if (out[k] == out[i])
        return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: arguments '%s' and '%s' are one tensor, and both written",
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

static laze_status record(const laze_library_state *state, laze_tensor **values, int32_t *count, laze_error *error) {
  const laze_library_schema *schema = &state->op->schema;
  laze_context *context = state->library->context;
  laze_library_layout layout;
  LAZE_TRY(laze_library_lay_out(state->arena, schema, state->bound, &layout, error));
  const int32_t tracks = laze_set_grad_enabled(context, 0);
  *count = laze_opaque_record_at(
      context, schema->name, layout.operands, layout.operand_count, (laze_ints){layout.integers, layout.integer_count},
      (laze_reals){layout.reals, layout.real_count}, (laze_strings){layout.strings, layout.string_count}, values,
      LAZE_OPAQUE_MAX_RESULTS, state->file, state->line);
  laze_set_grad_enabled(context, tracks);
  return laze_library_pass_on(values[0], error);
}

laze_status laze_library_fallback_backend(void *self, const laze_library_dispatch *call, laze_tensor **results,
                                          laze_error *error) {
  (void)self;
  const laze_library_state *state = call->state;
  const laze_library_schema *schema = &state->op->schema;
  laze_tensor *values[LAZE_OPAQUE_MAX_RESULTS];
  const int32_t own = laze_library_schema_own_results(schema);
  int32_t count, next = 0;
  if (!laze_library_has_kernel(state->library, state->op))
    return laze_fail(error, LAZE_NOT_FOUND,
                     "%s: it has no kernel for this backend; laze_library_implement() gives it one", schema->name);
  if (schema->write_count > 0 && !state->written)
    return laze_fail(error, LAZE_UNSUPPORTED, "%s: its kernel gives what it writes as values to LAZE_KEY_VIEWS alone",
                     schema->name);
  LAZE_TRY(record(state, values, &count, error));
  if (count != own + schema->write_count) /* somebody has registered another kernel of that name */
    return laze_fail(error, LAZE_FAILED_PRECONDITION, "%s: its kernel gives %d results, and the schema says %d",
                     schema->name, (int)count, (int)(own + schema->write_count));
  for (int32_t i = 0; i < schema->result_count; i++)
    results[i] = schema->results[i] < 0 ? values[next++] : state->bound[schema->results[i]].value.tensor;
  for (int32_t i = 0; i < schema->write_count; i++) state->written[i] = values[next++];
  return LAZE_OK;
}

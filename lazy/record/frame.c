/* Recording a call: operands become values of the frame, the call a node or an expansion, results handles. */
#include "lazy/record/frame.h"

#include "laze/call.h"
#include "lazy/lazy.h"
#include "lazy/record/alias.h"
#include "lazy/record/expander.h"
#include "lazy/record/layers.h"
#include "lazy/record/record_state.h"
#include "lazy/record/renew.h"
#include "lazy/run/budget.h"
#include "lazy/run/from_host.h"
#include "lazy/run/size_sync.h"
#include "lazy/thread.h"
#include "lazy/value/cell.h"
#include "lazy/value/failure.h"
#include "lazy/value/handle.h"
#include "lazy/value/pending.h"
#include "lazy/value/view.h"

/* What stands between the call and a node: layers, an error of this call, or one that an operand passes on. */
typedef struct {
  laze_layers layers; /* that want the operands */
  laze_error error;   /* of this call, where `failed` */
  laze_failure *passed_on;
  laze_slot *outdated; /* an operand that has to be recorded again first; NULL: there is none */
  bool failed, out_of_memory;
} obstacle;

static bool is_number(laze_dtype dtype) {
  return dtype == LAZE_F64 || dtype == LAZE_I64 || dtype == LAZE_U64 || dtype == LAZE_BOOL || dtype == LAZE_C128;
}

static laze_lazy *frame_lazy(const laze_frame *frame) {
  for (int32_t i = 0; i < frame->operand_count; i++) {
    laze_lazy *lazy = laze_handle_lazy(frame->operands[i].tensor);
    if (lazy) return lazy;
  }
  return laze_lazy_get(frame->context);
}

/* A complex number has no room in a cell. */
static laze_status push_complex(laze_thread_state *thread, laze_scalar scalar, laze_error *error) {
  laze_cell *cell;
  LAZE_TRY(laze_from_host_number(thread->lazy, LAZE_C128, scalar, &cell, error));
  laze_type type = {.kind = LAZE_TYPE_TENSOR, .dtype = LAZE_C128, .rank = 0};
  return laze_frame_push(thread->record, cell, &type, error);
}

static laze_status push_scalar(laze_thread_state *thread, laze_scalar scalar, laze_error *error) {
  laze_type type = {.kind = LAZE_TYPE_TENSOR, .dtype = (uint8_t)scalar.dtype, .rank = 0};
  if (scalar.dtype == LAZE_C128) return push_complex(thread, scalar, error);
  laze_cell *cell = laze_cell_create(thread->lazy, LAZE_CELL_SCALAR, &type);
  if (!cell) return laze_fail_memory(error, "a number", sizeof *cell);
  laze_cell_set_scalar(cell, scalar.dtype == LAZE_BOOL ? laze_scalar_boolean(scalar.value.integer != 0) : scalar);
  return laze_frame_push(thread->record, cell, &type, error);
}

/* The value that was pushed last requires a gradient. */
static void push_edge(laze_record_state *state, const laze_slot *slot, obstacle *problem) {
  laze_frame_value *value = &state->values[state->value_count - 1];
  value->edge = laze_edge_retain(laze_slot_edge(slot));
  problem->layers |= LAZE_LAYER_AUTOGRAD;
}

/* A part of every call, and so inlined in both of its users. */
__attribute__((always_inline)) static inline laze_status
push_tensor(laze_thread_state *thread, const char *op, const char *argument, laze_tensor *tensor, obstacle *problem) {
  if (tensor == laze_handle_out_of_memory()) {
    problem->out_of_memory = true;
    return LAZE_OUT_OF_MEMORY;
  }
  laze_error *error = &problem->error;
  laze_slot *slot = laze_slot_at(tensor);
  if (tensor == LAZE_NOT_A_TENSOR)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: argument '%s' is a number; beside the other arguments of this call it needs a tensor", op,
                     argument);
  if (slot && slot->lazy != thread->lazy)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: argument '%s' belongs to another context than the other operands", op, argument);
  if (!slot || !laze_slot_is_live(slot, tensor))
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: argument '%s' is a released handle; retain a tensor that is used after its scope", op,
                     argument);
  laze_cell *cell = slot->storage->cell;
  if (!cell) {
    problem->outdated = slot;
    return LAZE_FAILED_PRECONDITION;
  }
  if (cell->state == LAZE_CELL_UNKNOWN) {
    thread->record->sizes = thread->lazy->unknowns.table;
  } else if (cell->state == LAZE_CELL_ERROR && laze_cell_lacks_type(cell)) {
    problem->passed_on = cell->value.failure;
    return cell->value.failure->code;
  }
  problem->layers |= laze_cell_layers(cell);
  laze_type type;
  laze_cell_type(cell, &type);
  laze_cell_retain(cell);
  LAZE_TRY(laze_frame_push(thread->record, cell, &type, error));
  thread->record->values[thread->record->value_count - 1].storage = slot->storage;
  if (slot->grad_node && laze_thread_tracks(thread)) push_edge(thread->record, slot, problem);
  return LAZE_OK;
}

static laze_status push_operand(laze_thread_state *thread, const char *op, const laze_argument_info *argument,
                                const laze_frame_operand *operand, obstacle *problem) {
  if (operand->tensor) return push_tensor(thread, op, argument->name, operand->tensor, problem);
  laze_dtype dtype = operand->scalar.dtype;
  if (argument->kind == LAZE_ARGUMENT_OPTIONAL_LIST) return LAZE_OK; /* an absent one, make_call() */
  if (argument->kind != LAZE_ARGUMENT_SCALAR)
    return laze_fail(&problem->error, LAZE_INVALID_ARGUMENT, "%s: argument '%s' is NULL; it needs a tensor", op,
                     argument->name);
  if (!is_number(dtype))
    return laze_fail(&problem->error, LAZE_INVALID_ARGUMENT,
                     "%s: argument '%s' is a number of dtype %d; write it as it is, or with LAZE_NUMBER", op,
                     argument->name, (int)dtype);
  LAZE_TRY(push_scalar(thread, operand->scalar, &problem->error));
  if (thread->tracer)
    thread->tracer->number(thread->tracer, argument->name,
                           thread->record->values[thread->record->value_count - 1].cell);
  return LAZE_OK;
}

static laze_status push_operands(laze_thread_state *thread, const laze_frame *frame, obstacle *problem) {
  const laze_op_info *info = laze_op_get(frame->op);
  int32_t next = 0;
  for (int i = 0; i < info->argument_count; i++) {
    const laze_argument_info *argument = &info->arguments[i];
    if (!laze_argument_is_operand(argument->kind)) continue;
    int32_t count = frame->segments ? frame->segments[argument->position] : 1;
    if (argument->kind == LAZE_ARGUMENT_OPTIONAL_LIST && count < 0)
      return laze_fail(&problem->error, LAZE_INVALID_ARGUMENT,
                       "%s: argument '%s' is no list: its items are NULL or its length is negative; use LAZE_TENSORS",
                       info->name, argument->name);
    for (int32_t j = 0; j < count; j++) {
      if (next == frame->operand_count)
        return laze_fail(&problem->error, LAZE_INVALID_ARGUMENT, "%s: %d operands are too few for its segments",
                         info->name, (int)next);
      LAZE_TRY(push_operand(thread, info->name, argument, &frame->operands[next++], problem));
    }
  }
  return LAZE_OK;
}

static bool is_dtype(int64_t number) {
  return number >= 0 && number <= INT32_MAX && laze_dtype_is_valid((laze_dtype)number);
}

/* What the caller can get wrong in an attribute whatever the operator: a list with a length but no items, a number of
 * no kind, or of another one (lazy/record/pack.h). */
static laze_status check_attribute(const laze_op_info *info, const laze_argument_info *argument,
                                   const laze_attribute *attribute, laze_error *error) {
  bool is_list = argument->kind == LAZE_ARGUMENT_INT_LIST || argument->kind == LAZE_ARGUMENT_SIZE_LIST;
  bool is_reals = argument->kind == LAZE_ARGUMENT_FLOAT_LIST, is_strings = argument->kind == LAZE_ARGUMENT_STRING_LIST;
  if ((is_reals || is_strings) && attribute->count < 0)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: argument '%s' is no list: %s NULL or its count is negative; use %s", info->name,
                     argument->name, is_reals ? "its items are" : "it or a string of it is",
                     is_reals ? "LAZE_REALS" : "LAZE_STRINGS");
  if (is_list && (attribute->count < 0 || (attribute->count > 0 && !attribute->value.items)))
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: argument '%s' is no list: its items are NULL or its count is negative; use LAZE_INTS",
                     info->name, argument->name);
  if (!is_list && attribute->count < 0)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: argument '%s' is a real number; it needs %s", info->name,
                     argument->name, argument->kind == LAZE_ARGUMENT_BOOL ? "true or false" : "an integer");
  for (int32_t i = 0; is_list && i < attribute->count; i++) {
    laze_size item = attribute->value.items[i]; /* one further down would read as an expression */
    if (item < LAZE_SIZE_CONSTANT_MIN || item > LAZE_SIZE_CONSTANT_MAX)
      return laze_fail(error, LAZE_OUT_OF_RANGE, "%s: argument '%s': number %d is %lld; it must be from -2^62 to 2^62",
                       info->name, argument->name, (int)i, (long long)item);
  }
  if (argument->kind == LAZE_ARGUMENT_DTYPE && !is_dtype(attribute->value.integer))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: argument '%s' is %lld, which is no dtype; use one of %s",
                     info->name, argument->name, (long long)attribute->value.integer, laze_dtype_constants());
  if (argument->kind == LAZE_ARGUMENT_LITERAL && !is_number(attribute->value.literal.dtype))
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: argument '%s' is a number of dtype %d; write it as it is, or with LAZE_NUMBER", info->name,
                     argument->name, (int)attribute->value.literal.dtype);
  return LAZE_OK;
}

static laze_status check_attributes(const laze_frame *frame, laze_error *error) {
  const laze_op_info *info = laze_op_get(frame->op);
  for (int i = 0; i < info->argument_count; i++) {
    const laze_argument_info *argument = &info->arguments[i];
    if (laze_argument_is_operand(argument->kind) || !frame->attributes[argument->position].present) continue;
    LAZE_TRY(check_attribute(info, argument, &frame->attributes[argument->position], error));
  }
  return LAZE_OK;
}

/* The call over the frame's values, which are the operands in order; one that is absent in a list is no value. */
static laze_status make_call(laze_record_state *state, const laze_frame *frame, laze_call *out, laze_error *error) {
  void *array = state->operands;
  LAZE_TRY(laze_grow(state->thread->lazy->context, &array, &state->operand_capacity, frame->operand_count,
                     sizeof *state->operands, error));
  state->operands = array;
  int32_t value = 0;
  for (int32_t i = 0; i < frame->operand_count; i++) {
    bool absent = !frame->operands[i].tensor && frame->operands[i].scalar.dtype == LAZE_DTYPE_NONE;
    state->operands[i] = absent ? LAZE_VALUE_NONE : (laze_value){value++, 0};
  }
  *out = (laze_call){.op = frame->op,
                     .operand_count = frame->operand_count,
                     .operands = state->operands,
                     .segments = frame->segments,
                     .attributes = frame->attributes,
                     .location = frame->location};
  return LAZE_OK;
}

/* The tensors that are sizes become values of the frame behind its operands, and their numbers, or symbols for them,
 * sizes of the call. */
static laze_status record_sizes(laze_thread_state *thread, const laze_frame *frame, const laze_call *call,
                                obstacle *problem) {
  laze_record_state *state = thread->record;
  for (int32_t i = 0; i < frame->size_count; i++) {
    const laze_frame_size *size = &frame->sizes[i];
    int64_t value = state->value_count;
    LAZE_TRY(push_tensor(thread, laze_op_get(frame->op)->name, "a size", size->tensor, problem));
    const laze_cell *cell = state->values[value].cell;
    if (cell->state == LAZE_CELL_ERROR) {
      problem->passed_on = cell->value.failure;
      return cell->value.failure->code;
    }
    LAZE_TRY(laze_record_frame_size(state, size, (laze_value){(int32_t)value, 0}, call, &problem->error));
  }
  return LAZE_OK;
}

/* Of a frame that may have been recorded before. */
static void reset_sizes(const laze_frame *frame) {
  for (int32_t i = 0; i < frame->size_count; i++) {
    const laze_frame_size *size = &frame->sizes[i];
    if (!size->items)
      size->attribute->value.size = 0;
    else if (size->item < 0)
      size->attribute->count = 0;
    else
      size->items[size->item] = 0;
  }
}

/* How many results the recorded call has: an operator that does not say lists them, or has them in one node. */
static int32_t count_results(const laze_record_state *state, const laze_op_info *info, const laze_value *values) {
  if (info->result_count >= 0) return info->result_count;
  if (laze_op_lists_results(info)) return laze_count_listed(values);
  return state->values[values[0].node].cell->node->result_count;
}

/* A result that is an operand itself is a tensor of its own in histories: no leaf, with a gradient of its own. */
static laze_status tell_apart(laze_record_state *state, laze_value value, laze_location location, obstacle *problem) {
  const laze_frame_value *found = &state->values[value.node];
  return found->edge.node && found->storage ? laze_history_pass_on(state, value, location, &problem->error) : LAZE_OK;
}

/* `values` has room for the results. */
static laze_status record_frame(laze_thread_state *thread, const laze_frame *frame, laze_value *values,
                                laze_tensor **results, int32_t *count, obstacle *problem) {
  const laze_op_info *info = laze_op_get(frame->op);
  laze_call call;
  laze_alias_room room;
  if (info->region_count > 0 || info->result_count > LAZE_PENDING_MAX_RESULTS)
    return laze_fail(&problem->error, LAZE_UNSUPPORTED, "%s cannot be called on tensors; build a graph", info->name);
  if (frame->size_count > 0) reset_sizes(frame);
  if (info->attribute_count > 0) LAZE_TRY(check_attributes(frame, &problem->error));
  LAZE_TRY(push_operands(thread, frame, problem));
  LAZE_TRY(make_call(thread->record, frame, &call, &problem->error));
  if (frame->size_count > 0) LAZE_TRY(record_sizes(thread, frame, &call, problem));
  if (info->aliased > 0) LAZE_TRY(laze_alias_begin(thread, frame, &call, &room, &problem->error));
  laze_layers wanted = problem->layers | laze_op_layers(&call) | laze_thread_layers(thread);
  LAZE_TRY(laze_layers_record(thread->record, &call, wanted, values, &problem->error));
  *count = count_results(thread->record, info, values);
  for (int i = 0; i < *count && wanted & LAZE_LAYER_AUTOGRAD; i++)
    LAZE_TRY(tell_apart(thread->record, values[i], frame->location, problem));
  for (int i = 0; i < *count; i++) {
    const laze_frame_value *value = &thread->record->values[values[i].node];
    results[i] = value->cell->kind == LAZE_TYPE_NONE ? NULL : laze_handle_create(thread, value->cell);
    if (value->edge.node) laze_handle_set_edge(thread->lazy, results[i], value->edge);
  }
  if (info->aliased == 0) return LAZE_OK;
  return laze_alias_end(thread, frame, &call, values, results, *count, &problem->error);
}

/* Whether it failed because a rule had to know a size that was not known: then that is found, or problem->error says
 * why not, and *status is of that. */
static bool find_size(laze_thread_state *thread, const laze_frame *frame, obstacle *problem, laze_status *status) {
  laze_size sides[2];
  uint64_t selection;
  bool found = false;
  if (!thread->record->sizes || !laze_size_take_question(thread->record->sizes, sides)) return false;
  laze_error error;
  laze_status sync = laze_sync_select(thread->lazy, sides, 2, &selection, &error);
  laze_frame_clear(thread->record); /* others may record on this thread while it runs */
  if (sync == LAZE_OK) sync = laze_sync_selected(thread, selection, &found, &error);
  if (sync != LAZE_OK) {
    problem->error = error;
    *status = sync;
  }
  if (sync == LAZE_OK && !found) /* the frame itself defines it, from what it records */
    *status =
        laze_fail(&problem->error, LAZE_FAILED_PRECONDITION,
                  "%s: it has to know how much its own masks select, which a run says; pass what nonzero gives of "
                  "them in their place",
                  laze_op_get(frame->op)->name);
  return sync == LAZE_OK && found;
}

/* Has an outdated operand recorded again. */
static laze_status refresh_operand(laze_thread_state *thread, obstacle *problem) {
  laze_slot *slot = problem->outdated;
  problem->outdated = NULL;
  laze_frame_clear(thread->record);
  return laze_slot_refresh(thread, slot, &problem->error);
}

/* Records the frame, anew for each size that had to be found, and for each operand that had to be recorded again. */
static laze_status record_knowing(laze_thread_state *thread, const laze_frame *frame, laze_value *values,
                                  laze_tensor **results, int32_t *count, obstacle *problem) {
  int64_t recorded = thread->scope->recorded;
  for (;;) {
    laze_status status = record_frame(thread, frame, values, results, count, problem);
    if (status == LAZE_OK || problem->passed_on) return status;
    if (problem->outdated) {
      thread->scope->recorded = recorded;
      LAZE_TRY(refresh_operand(thread, problem));
      recorded = thread->scope->recorded;
    } else if (find_size(thread, frame, problem, &status)) {
      thread->scope->recorded = recorded;
    } else {
      return status;
    }
    problem->layers = 0;
  }
}

/* A frame of any operator. */
static laze_status record_any(laze_thread_state *thread, const laze_frame *frame, laze_tensor **results, int32_t *count,
                              obstacle *problem) {
  laze_value few[LAZE_PENDING_MAX_RESULTS];
  if (!laze_op_lists_results(laze_op_get(frame->op)))
    return record_knowing(thread, frame, few, results, count, problem);
  laze_context *context = thread->lazy->context;
  laze_value *values = laze_alloc_array(context, LAZE_MAX_LISTED + 1, sizeof *values);
  if (!values) return laze_fail_memory(&problem->error, "the results of a call", -1);
  laze_status status = record_knowing(thread, frame, values, results, count, problem);
  laze_free(context, values);
  return status;
}

static void fail_frame(laze_thread_state *thread, const laze_frame *frame, laze_tensor **results, int32_t count,
                       obstacle *problem) {
  if (problem->out_of_memory) {
    laze_scope_note(thread, NULL);
    for (int i = 0; i < count; i++) results[i] = laze_handle_out_of_memory();
    return;
  }
  if (!problem->passed_on) {
    laze_op_rename_error(&problem->error, frame->called ? frame->called : laze_op_get(frame->op)->name);
    if (frame->location.file)
      laze_error_prefix(&problem->error, "%s:%d", frame->location.file, (int)frame->location.line);
    problem->passed_on = laze_failure_create(thread->lazy, &problem->error);
    laze_scope_note(thread, problem->passed_on);
    if (problem->passed_on) problem->failed = true;
  }
  for (int i = 0; i < count; i++)
    results[i] =
        problem->passed_on ? laze_handle_create_error(thread, problem->passed_on) : laze_handle_out_of_memory();
  if (problem->failed) laze_failure_release(thread->lazy, problem->passed_on);
}

int32_t laze_frame_record(const laze_frame *frame, laze_tensor **results) {
  laze_tensor *unwanted[LAZE_PENDING_MAX_RESULTS];
  if (!results) results = unwanted;
  laze_lazy *lazy = frame_lazy(frame);
  laze_thread_state *thread = lazy ? laze_lazy_lock(lazy) : NULL;
  int32_t count = laze_op_get(frame->op)->result_count;
  if (count < 1) count = 1;
  if (!thread) {
    for (int i = 0; i < count; i++) results[i] = laze_handle_out_of_memory();
    return count;
  }
  obstacle problem;
  problem.passed_on = NULL;
  problem.outdated = NULL;
  problem.failed = problem.out_of_memory = false;
  problem.layers = 0;
  laze_pending *newest = lazy->newest;
  thread->record->grad_nodes = lazy->grad_nodes;
  if (record_any(thread, frame, results, &count, &problem) != LAZE_OK)
    fail_frame(thread, frame, results, count, &problem);
  laze_frame_clear(thread->record);
  if (!thread->tracer && laze_unknowns_is_worn(&lazy->unknowns)) laze_renew_unknowns(lazy);
  if (lazy->newest != newest && laze_backlog_exceeds(&thread->backlog, &lazy->budget))
    laze_budget_cut(thread, lazy->newest);
  laze_lazy_unlock(lazy);
  return count;
}

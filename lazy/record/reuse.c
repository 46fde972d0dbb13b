/* Node reuse: a loop records the same operators again. The script of a scope's depth has the nodes of the last scope
 * there in order; when a call is the predicted one over operands of the same types, its types are known without
 * inference, and if the node of last time is not in use any more, it is that node again, with attributes and types as
 * they are:
 *
 *   last step   add(a, b)   mul(%0, c)   neg(%1)      scripts[depth].nodes
 *   this step   add(d, b)   mul(%0, c)   <- predicted: mul over these types
 */
#include "lazy/record/reuse.h"

#include "ir/attribute.h"
#include "lazy/lazy.h"
#include "lazy/record/record_state.h"
#include "lazy/thread.h"
#include "lazy/value/pending.h"

/* The script of a scope; NULL: nothing is predicted there, or no more. */
static laze_script *script_of(laze_record_state *state, const laze_open_scope *scope) {
  bool predicted = scope->depth < LAZE_SCRIPT_MAX_DEPTH && scope->recorded < LAZE_SCRIPT_MAX_NODES;
  return predicted ? &state->scripts[scope->depth] : NULL;
}

static bool same_segments(const laze_pending *node, const laze_op_info *info, const laze_call *call) {
  for (int i = 0; i < info->segment_count && (node->segments || call->segments); i++)
    if ((node->segments ? node->segments[i] : 1) != (call->segments ? call->segments[i] : 1)) return false;
  return true;
}

static bool same_operand_types(const laze_pending *node, const laze_frame_value *values, const laze_call *call) {
  const int64_t *words = node->operand_types;
  for (int32_t i = 0; i < call->operand_count; i++) {
    const laze_type *type = &values[call->operands[i].node].type;
    if (*words++ != laze_type_word(type)) return false;
    for (int j = 0; j < type->rank; j++)
      if (*words++ != type->sizes[j]) return false;
  }
  return true;
}

/* How many operands the node has when it is linked, definers too: they end where the attributes begin. */
static int64_t operand_room(const laze_pending *node) {
  return (laze_cell *const *)(const void *)node->attributes - (laze_cell *const *)node->operands;
}

laze_pending *laze_script_peek(laze_record_state *state) {
  const laze_open_scope *scope = state->thread->scope;
  const laze_script *script = script_of(state, scope);
  return script && scope->recorded < script->count ? script->nodes[scope->recorded] : NULL;
}

laze_pending *laze_script_predict(laze_record_state *state, const laze_call *call) {
  laze_pending *node = laze_script_peek(state);
  if (!node || node->op != call->op || node->origin != call->origin ||
      operand_room(node) != call->operand_count + state->definer_count)
    return NULL;
  const laze_op_info *info = laze_op_get(call->op);
  if (!same_segments(node, info, call) || !same_operand_types(node, state->values, call)) return NULL;
  for (int i = 0; i < info->attribute_count; i++)
    if (!laze_attribute_equal(&node->attributes[i], &call->attributes[i])) return NULL;
  return node;
}

/* Lets go of a node that is predicted no longer. */
static void forget(laze_lazy *lazy, laze_pending *node) {
  if (node) laze_pending_let_go(lazy, node, LAZE_KEPT_BY_SCRIPT);
}

static bool reserve(laze_lazy *lazy, laze_script *script) {
  void *array = script->nodes;
  if (laze_grow(lazy->context, &array, &script->capacity, script->count + 1, sizeof *script->nodes, NULL) != LAZE_OK)
    return false;
  script->nodes = array;
  return true;
}

/* Kernels have run since these nodes were recorded, and what they read and wrote has taken the caches. */
static void prefetch_predicted(const laze_script *script, int64_t place) {
  enum { AHEAD = 2, LINE = 64, LINES = 6 };
  const laze_pending *node = place + AHEAD < script->count ? script->nodes[place + AHEAD] : NULL;
  for (int i = 0; node && i < LINES; i++) __builtin_prefetch((const char *)node + i * LINE, 1);
}

void laze_script_advance(laze_record_state *state, laze_pending *node) {
  laze_lazy *lazy = state->thread->lazy;
  laze_open_scope *scope = state->thread->scope;
  laze_script *script = script_of(state, scope);
  if (!script) return;
  if (node->block_size > LAZE_POOL_CLASSES * LAZE_POOL_CLASS_BYTES) node = NULL; /* a large constant: not kept */
  if (scope->recorded == script->count) {
    if (!reserve(lazy, script)) return; /* then this place is not predicted */
    script->nodes[script->count++] = NULL;
  }
  laze_pending **place = &script->nodes[scope->recorded++];
  prefetch_predicted(script, scope->recorded);
  if (*place == node) return;
  forget(lazy, *place);
  *place = node;
  if (node) node->kept_by |= LAZE_KEPT_BY_SCRIPT;
}

void laze_script_drop_unknown(laze_record_state *state) {
  for (int depth = 0; depth < LAZE_SCRIPT_MAX_DEPTH; depth++) {
    laze_script *script = &state->scripts[depth];
    for (int64_t i = 0; i < script->count; i++) {
      if (!script->nodes[i] || !script->nodes[i]->unknown) continue;
      forget(state->thread->lazy, script->nodes[i]);
      script->nodes[i] = NULL;
    }
  }
}

void laze_script_clear(laze_record_state *state) {
  laze_lazy *lazy = state->thread->lazy;
  for (int depth = 0; depth < LAZE_SCRIPT_MAX_DEPTH; depth++) {
    laze_script *script = &state->scripts[depth];
    for (int64_t i = 0; i < script->count; i++) forget(lazy, script->nodes[i]);
    laze_free(lazy->context, script->nodes);
    *script = (laze_script){0};
  }
}

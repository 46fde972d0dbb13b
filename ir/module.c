/* Modules as lists of graphs by name. */
#include "ir/module.h"

#include "ir/module_internal.h"
#include "ir/op.gen.h"

#include <stdio.h>
#include <string.h>

laze_status laze_module_create(laze_context *context, laze_module **out, laze_error *error) {
  laze_module *module = laze_alloc_zero(context, sizeof *module);
  if (!module) return laze_fail_memory(error, "a module", sizeof *module);
  module->context = context;
  laze_context_retain(context);
  *out = module;
  return LAZE_OK;
}

void laze_module_destroy(laze_module *module) {
  if (!module) return;
  laze_context *context = module->context;
  for (int64_t i = 0; i < module->count; i++) laze_graph_destroy(module->graphs[i]);
  laze_free(context, module->graphs);
  laze_free(context, module->slots);
  laze_free(context, module);
  laze_context_release(context);
}

/* The slot that holds the name, or the free one where it would go. */
static int64_t find_slot(const laze_module *module, const char *name, int64_t length) {
  int64_t slot = (int64_t)(laze_hash_bytes(name, (size_t)length).low & (uint64_t)(module->slot_count - 1));
  for (; module->slots[slot] >= 0; slot = (slot + 1) & (module->slot_count - 1)) {
    const char *other = module->graphs[module->slots[slot]]->name;
    if (strncmp(other, name, (size_t)length) == 0 && other[length] == 0) break;
  }
  return slot;
}

laze_graph *laze_module_find(const laze_module *module, int64_t count, const char *name, int64_t length) {
  if (module->slot_count == 0) return NULL;
  int32_t index = module->slots[find_slot(module, name, length)];
  return index >= 0 && index < count ? module->graphs[index] : NULL;
}

static laze_status grow_slots(laze_module *module, laze_error *error) {
  int64_t wanted = module->slot_count ? module->slot_count * 2 : 8;
  int32_t *slots = laze_alloc_array(module->context, wanted, sizeof *slots);
  if (!slots) return laze_fail_memory(error, "the names of a module", wanted * 4);
  memset(slots, 0xff, (size_t)wanted * sizeof *slots);
  laze_free(module->context, module->slots);
  module->slots = slots;
  module->slot_count = wanted;
  for (int64_t i = 0; i < module->count; i++) {
    const char *name = module->graphs[i]->name;
    slots[find_slot(module, name, (int64_t)strlen(name))] = (int32_t)i;
  }
  return LAZE_OK;
}

static bool is_word(const char *name) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789.";
  return *name && strspn(name, letters) == strlen(name);
}

laze_status laze_module_add(laze_module *module, laze_graph *graph, bool is_function, laze_error *error) {
  const char *name = graph->name;
  if (!is_word(name))
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "graph \"%.100s\": expected a name of letters, digits, '_' and '.' in a module", name);
  if (laze_module_find(module, module->count, name, (int64_t)strlen(name)))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "@%.100s is defined twice; choose another name", name);
  LAZE_TRY(laze_grow(module->context, (void **)&module->graphs, &module->capacity, module->count + 1,
                     sizeof *module->graphs, error));
  if (module->count * 2 >= module->slot_count) LAZE_TRY(grow_slots(module, error));
  if (module->count == INT32_MAX)
    return laze_fail(error, LAZE_OUT_OF_RANGE, "more than %d graphs; write several modules", INT32_MAX);
  module->slots[find_slot(module, name, (int64_t)strlen(name))] = (int32_t)module->count;
  graph->module = module;
  graph->module_index = module->count;
  graph->is_function = is_function;
  module->graphs[module->count++] = graph;
  return LAZE_OK;
}

laze_graph *laze_module_into_graph(laze_module *module, laze_graph *graph) {
  module->graphs[graph->module_index] = NULL;
  laze_module_destroy(module);
  graph->module = NULL;
  graph->module_index = 0;
  return graph;
}

/* Refuses to choose, with what there is to choose from. */
static laze_status refuse_choice(const laze_module *module, const char *reason, laze_error *error) {
  laze_text names;
  int64_t count = 0;
  laze_text_init(&names, module->context);
  for (int64_t i = 0; i < module->count; i++)
    if (!module->graphs[i]->is_function) laze_text_format(&names, count++ ? ", @%s" : "@%s", module->graphs[i]->name);
  laze_status status =
      laze_fail(error, LAZE_NOT_FOUND, "%s; the graphs are %s", reason, count ? laze_text_get(&names) : "none");
  laze_text_deinit(&names);
  return status;
}

laze_status laze_module_choose(const laze_module *module, const char *name, laze_graph **out, laze_error *error) {
  laze_graph *only = NULL, *named = NULL;
  const char *wanted = name ? name : "main";
  char reason[200];
  int64_t count = 0;
  for (int64_t i = 0; i < module->count; i++) {
    laze_graph *graph = module->graphs[i];
    if (strcmp(graph->name, wanted) == 0 && !(graph->is_function && !name)) named = graph;
    if (graph->is_function) continue;
    only = graph;
    count++;
  }
  *out = named ? named : count == 1 && !name ? only : NULL;
  if (*out && !(*out)->is_function) return LAZE_OK;
  if (named)
    snprintf(reason, sizeof reason, "@%.100s is a function, which takes any sizes; a graph is expected", wanted);
  else if (name)
    snprintf(reason, sizeof reason, "there is no graph @%.100s", name);
  else
    snprintf(reason, sizeof reason, count ? "a graph must be named, for none is @main" : "there is no graph to run");
  return refuse_choice(module, reason, error);
}

bool laze_graph_has_calls(const laze_graph *graph) {
  for (int64_t i = 0; i < graph->node_count; i++)
    if (graph->nodes[i].op == LAZE_OP_CALL) return true;
  return false;
}

const laze_graph *laze_call_function(const laze_graph *graph, const laze_node *node) {
  const char *name = node->attributes[LAZE_CALL_FUNCTION].value.string;
  return graph->module && name ? laze_module_find(graph->module, graph->module_index, name, (int64_t)strlen(name))
                               : NULL;
}

laze_status laze_module_verify(const laze_module *module, laze_error *error) {
  for (int64_t i = 0; i < module->count; i++) LAZE_TRY(laze_graph_verify(module->graphs[i], error));
  return LAZE_OK;
}

bool laze_module_equal(const laze_module *a, const laze_module *b, laze_text *difference) {
  if (a->count != b->count) {
    if (difference)
      laze_text_format(difference, "%lld graphs and functions against %lld", (long long)a->count, (long long)b->count);
    return false;
  }
  for (int64_t i = 0; i < a->count; i++) {
    const laze_graph *left = a->graphs[i], *right = b->graphs[i];
    bool same = left->is_function == right->is_function && strcmp(left->name, right->name) == 0;
    if (difference) laze_text_format(difference, "@%s: ", left->name);
    if (!same && difference) laze_text_format(difference, "is another kind or name than @%s", right->name);
    if (!same || !laze_graph_equal(left, right, difference)) return false;
    if (difference) difference->size = 0;
  }
  return true;
}

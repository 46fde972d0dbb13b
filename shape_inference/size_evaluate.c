/* Walks over size expressions: evaluation, copying into another table, and the symbols in one. All visit each shared
 * part once, with an explicit stack. */
#include "shape_inference/size.h"

#include "shape_inference/size_internal.h"

#include <string.h>

enum { STACK_INLINE = 64 };

typedef struct {
  laze_context *context;
  laze_size *items;
  int64_t count, capacity;
  laze_size local[STACK_INLINE];
} walk_stack;

static void stack_init(walk_stack *stack, laze_context *context) {
  stack->context = context;
  stack->items = stack->local;
  stack->count = 0;
  stack->capacity = STACK_INLINE;
}

static void stack_deinit(walk_stack *stack) {
  if (stack->items != stack->local) laze_free(stack->context, stack->items);
}

static laze_status stack_push(walk_stack *stack, laze_size size, laze_error *error) {
  if (stack->count == stack->capacity) {
    laze_size *items = laze_alloc_array(stack->context, stack->capacity * 2, sizeof *items);
    if (!items) return laze_fail_memory(error, "walking a size expression", -1);
    memcpy(items, stack->items, (size_t)stack->count * sizeof *items);
    stack_deinit(stack);
    stack->items = items;
    stack->capacity *= 2;
  }
  stack->items[stack->count++] = size;
  return LAZE_OK;
}

static void memo_init(laze_size_memo *memo, laze_context *context) {
  memo->context = context;
  memo->entries = memo->local;
  memo->count = 0;
  memo->capacity = LAZE_SIZE_MEMO_INLINE;
  memset(memo->local, 0xff, sizeof memo->local);
}

static void memo_deinit(laze_size_memo *memo) {
  if (memo->entries != memo->local) laze_free(memo->context, memo->entries);
}

static laze_size_memo_entry *memo_find(const laze_size_memo *memo, int64_t index) {
  uint64_t mask = (uint64_t)memo->capacity - 1;
  for (uint64_t at = laze_hash_mix((uint64_t)index, 0);; at++) {
    laze_size_memo_entry *entry = &memo->entries[at & mask];
    if (entry->index < 0 || entry->index == index) return entry;
  }
}

static laze_status memo_add(laze_size_memo *memo, int64_t index, int64_t value, laze_error *error) {
  if (memo->count * 2 >= memo->capacity) {
    laze_size_memo grown = *memo;
    grown.capacity = memo->capacity * 2;
    grown.entries = laze_alloc_array(memo->context, grown.capacity, sizeof *grown.entries);
    if (!grown.entries) return laze_fail_memory(error, "walking a size expression", -1);
    memset(grown.entries, 0xff, (size_t)grown.capacity * sizeof *grown.entries);
    for (int64_t i = 0; i < memo->capacity; i++)
      if (memo->entries[i].index >= 0) *memo_find(&grown, memo->entries[i].index) = memo->entries[i];
    memo_deinit(memo);
    memo->entries = grown.entries;
    memo->capacity = grown.capacity;
  }
  *memo_find(memo, index) = (laze_size_memo_entry){index, value};
  memo->count++;
  return LAZE_OK;
}

void laze_size_evaluator_init(laze_size_evaluator *evaluator, const laze_size_table *table, const int64_t *bindings) {
  evaluator->table = table;
  evaluator->bindings = bindings;
  memo_init(&evaluator->memo, table ? table->context : NULL);
}

void laze_size_evaluator_deinit(laze_size_evaluator *evaluator) {
  memo_deinit(&evaluator->memo);
}

/* The value of a constant, a symbol or what was evaluated before; *found false otherwise. */
static laze_status find_value(const laze_size_evaluator *evaluator, laze_size size, bool *found, int64_t *out,
                              laze_error *error) {
  *found = true;
  *out = size;
  if (laze_size_is_constant(size)) return LAZE_OK;
  const laze_size_node *node = laze_size_get(evaluator->table, size);
  if (node->kind != LAZE_SIZE_SYMBOL) {
    const laze_size_memo_entry *entry = memo_find(&evaluator->memo, laze_size_index(size));
    *found = entry->index >= 0;
    *out = entry->value;
    return LAZE_OK;
  }
  *out = evaluator->bindings[node->symbol];
  if (*out >= node->low && *out <= node->high) return LAZE_OK;
  return laze_fail(error, LAZE_OUT_OF_RANGE, "the size %s is bound to %lld; it must be between %lld and %lld",
                   node->name, (long long)*out, (long long)node->low, (long long)node->high);
}

static laze_status evaluate_on(laze_size_evaluator *evaluator, walk_stack *stack, laze_error *error) {
  while (stack->count > 0) {
    laze_size top = stack->items[stack->count - 1];
    int64_t left, right, value;
    bool has_left, has_right, done;
    LAZE_TRY(find_value(evaluator, top, &done, &value, error));
    if (done) {
      stack->count--;
      continue;
    }
    const laze_size_node *node = laze_size_get(evaluator->table, top);
    LAZE_TRY(find_value(evaluator, node->left, &has_left, &left, error));
    LAZE_TRY(find_value(evaluator, node->right, &has_right, &right, error));
    if (!has_left) LAZE_TRY(stack_push(stack, node->left, error));
    if (!has_right) LAZE_TRY(stack_push(stack, node->right, error));
    if (!has_left || !has_right) continue;
    LAZE_TRY(laze_size_apply(node->kind, left, right, &value, error));
    LAZE_TRY(memo_add(&evaluator->memo, laze_size_index(top), value, error));
    stack->count--;
  }
  return LAZE_OK;
}

laze_status laze_size_evaluator_run(laze_size_evaluator *evaluator, laze_size size, int64_t *out, laze_error *error) {
  bool found;
  LAZE_TRY(find_value(evaluator, size, &found, out, error));
  if (!found) {
    walk_stack stack;
    stack_init(&stack, evaluator->table->context);
    laze_status status = stack_push(&stack, size, error);
    if (status == LAZE_OK) status = evaluate_on(evaluator, &stack, error);
    stack_deinit(&stack);
    LAZE_TRY(status);
    LAZE_TRY(find_value(evaluator, size, &found, out, error));
  }
  if (laze_size_is_constant(size) || laze_size_fits(*out)) return LAZE_OK;
  return laze_fail(error, LAZE_OUT_OF_RANGE, "a size evaluates to %lld; sizes must stay within 2^62", (long long)*out);
}

laze_status laze_size_evaluate(const laze_size_table *table, laze_size size, const int64_t *bindings, int64_t *out,
                               laze_error *error) {
  if (laze_size_is_constant(size)) {
    *out = size;
    return LAZE_OK;
  }
  laze_size_evaluator evaluator;
  laze_size_evaluator_init(&evaluator, table, bindings);
  laze_status status = laze_size_evaluator_run(&evaluator, size, out, error);
  laze_size_evaluator_deinit(&evaluator);
  return status;
}

typedef struct {
  laze_size_table *to;
  const laze_size_table *from;
  const laze_size *map;
  laze_size_memo memo;
  walk_stack stack;
} importer;

static bool find_import(const importer *import, laze_size size, laze_size *out) {
  *out = size;
  if (laze_size_is_constant(size)) return true;
  const laze_size_memo_entry *entry = memo_find(&import->memo, laze_size_index(size));
  *out = entry->value;
  return entry->index >= 0;
}

static laze_status import_on(importer *import, laze_error *error) {
  walk_stack *stack = &import->stack;
  while (stack->count > 0) {
    laze_size top = stack->items[stack->count - 1], left, right, copy;
    if (find_import(import, top, &copy)) {
      stack->count--;
      continue;
    }
    laze_size_node node = *laze_size_get(import->from, top); /* a copy: `to` may be `from` and grow */
    if (node.kind == LAZE_SIZE_SYMBOL) {
      if (import->map)
        copy = import->map[node.symbol];
      else
        LAZE_TRY(laze_size_symbol(import->to, node.name, &copy, error));
    } else {
      bool has_left = find_import(import, node.left, &left), has_right = find_import(import, node.right, &right);
      if (!has_right) LAZE_TRY(stack_push(stack, node.right, error));
      if (!has_left) LAZE_TRY(stack_push(stack, node.left, error)); /* on top: symbols appear from left to right */
      if (!has_left || !has_right) continue;
      LAZE_TRY(laze_size_binary(import->to, node.kind, left, right, &copy, error));
    }
    LAZE_TRY(memo_add(&import->memo, laze_size_index(top), copy, error));
    stack->count--;
  }
  return LAZE_OK;
}

laze_status laze_size_import(laze_size_table *to, const laze_size_table *from, laze_size size, const laze_size *map,
                             laze_size *out, laze_error *error) {
  importer import = {.to = to, .from = from, .map = map};
  if (laze_size_is_constant(size)) {
    *out = size;
    return LAZE_OK;
  }
  memo_init(&import.memo, from->context);
  stack_init(&import.stack, from->context);
  laze_status status = stack_push(&import.stack, size, error);
  if (status == LAZE_OK) status = import_on(&import, error);
  if (status == LAZE_OK) find_import(&import, size, out);
  memo_deinit(&import.memo);
  stack_deinit(&import.stack);
  return status;
}

static laze_status each_defined(const laze_size_table *table, walk_stack *stack, laze_size_memo *memo,
                                void (*visit)(void *self, int64_t symbol), void *self, laze_error *error) {
  while (stack->count > 0) {
    laze_size top = stack->items[--stack->count];
    if (!laze_size_is_defined(table, top) || memo_find(memo, laze_size_index(top))->index >= 0) continue;
    const laze_size_node *node = laze_size_get(table, top);
    LAZE_TRY(memo_add(memo, laze_size_index(top), 0, error));
    if (node->kind == LAZE_SIZE_SYMBOL) {
      visit(self, node->symbol);
      continue;
    }
    LAZE_TRY(stack_push(stack, node->right, error));
    LAZE_TRY(stack_push(stack, node->left, error));
  }
  return LAZE_OK;
}

laze_status laze_size_each_defined(const laze_size_table *table, laze_size size,
                                   void (*visit)(void *self, int64_t symbol), void *self, laze_error *error) {
  if (!table || table->defined_count == 0 || !laze_size_is_defined(table, size)) return LAZE_OK;
  walk_stack stack;
  laze_size_memo memo;
  stack_init(&stack, table->context);
  memo_init(&memo, table->context);
  laze_status status = stack_push(&stack, size, error);
  if (status == LAZE_OK) status = each_defined(table, &stack, &memo, visit, self, error);
  memo_deinit(&memo);
  stack_deinit(&stack);
  return status;
}

/* What each value that a group stores depends on, so that one which fails does not take the others along:
 *
 *   root     = add(gather(x, j), neg(i))     depends on x, j, i and on the check of j
 *   neg(i)     is returned as well           depends on i
 */
#include "codegen/schedule/emit.h"

#include "runtime/program.h"

#include <string.h>

/* Marks all that `root` is computed from. */
static void mark(const laze_loop_emitter *emitter, int32_t root, bool *marked) {
  memset(marked, 0, (size_t)emitter->group->instance_count);
  marked[root] = true;
  for (int32_t i = emitter->count; i-- > 0;) {
    const laze_instance *instance = laze_emit_instance_at(emitter, emitter->order[i]);
    if (!marked[emitter->order[i]]) continue;
    for (int32_t which = 0, used; (used = laze_emit_dependency(instance, which)) >= 0; which++) marked[used] = true;
  }
}

/* The row of one write. */
static void fill_row(const laze_loop_emitter *emitter, const bool *marked, uint8_t *row) {
  int32_t checks = 0, reached = 0;
  for (int32_t i = 0; i < emitter->count; i++) {
    int32_t index = emitter->order[i];
    laze_instance_kind kind = laze_emit_instance_at(emitter, index)->kind;
    if (kind == LAZE_INSTANCE_LOAD && marked[index]) row[emitter->buffer[index]] = 1;
    checks += kind == LAZE_INSTANCE_CHECK;
    reached += kind == LAZE_INSTANCE_CHECK && marked[index];
  }
  row[emitter->group->group.read_count] = reached == 0        ? LAZE_DEPENDS_ON_NO_CHECK
                                          : reached == checks ? LAZE_DEPENDS_ON_ALL_CHECKS
                                                              : LAZE_DEPENDS_ON_SOME_CHECKS;
}

laze_status laze_emit_dependences(laze_loop_emitter *emitter) {
  laze_group *group = &emitter->group->group;
  if (group->write_count < 2) return LAZE_OK;
  laze_arena *arena = emitter->scheduler->arena;
  int64_t row = group->read_count + 1;
  uint8_t *rows = laze_arena_alloc_zero(arena, group->write_count * row);
  bool *marked = laze_arena_alloc(arena, emitter->group->instance_count);
  if (!rows || !marked) return laze_fail_memory(emitter->error, "a schedule", group->write_count);
  for (int32_t i = 0; i < emitter->count; i++) {
    int32_t store = laze_emit_instance_at(emitter, emitter->order[i])->store;
    if (store < 0) continue;
    mark(emitter, emitter->order[i], marked);
    fill_row(emitter, marked, rows + store * row);
  }
  group->dependences = rows;
  return LAZE_OK;
}

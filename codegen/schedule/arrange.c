/* Groups of the same code next to each other, where they need nothing of each other: the runtime runs such neighbours
 * as one launch (runtime/program_launch.c).
 *
 *   kernel 0: mul+sub   writes %4 (returned)           kernel 0: mul+sub   %4
 *   kernel 1: exp       writes %5 (returned)    ──>    kernel 1: mul+sub   %6
 *   kernel 2: mul+sub   writes %6 (returned)           kernel 2: exp       %5
 *
 * One walk in order puts each group into a *row*: the last one of its code, if all that the group reads is written in
 * rows before that, or a new one behind all others. So groups move forwards only, and never past what they need.
 *
 * What moves needs memory for what it writes for a longer time, and for what it reads for a shorter one. So only those
 * move that write what the graph returns, for which there is memory from the beginning, single elements, or a bounded
 * number of small values. Operators with regions, and those that define sizes, stay where they are, and nothing moves
 * past them: behind a failure they do not run.
 */
#include "codegen/schedule/arrange.h"

#include "codegen/schedule/group.h"

/* Of values that are made earlier than they have to be: 16 MiB. */
enum { MOST_EARLY = 256, MOST_EARLY_BYTES = 64 << 10 };

typedef struct {
  const laze_scheduler *scheduler;
  laze_schedule *schedule;
  bool *stays;      /* by group, and one more: nothing moves past where it begins */
  laze_hash *codes; /* by row: of its groups */
  int32_t *next;    /* by group: the next one of its row; -1: none */
  int32_t *first, *last;
  int32_t row_count, stretch; /* the first row behind what nothing moves past */
  int32_t *written;           /* by node: 1 + the last row that wrote it */
  int32_t *table;             /* of the last row of each code: 1 + its number, at its hash or behind; 0: none */
  int64_t mask;
  int32_t early_count; /* values that are made earlier */
} arrangement;

static laze_status allocate(arrangement *a, laze_arena *scratch) {
  const int64_t count = a->schedule->group_count;
  int64_t places = 8;
  while (places < 2 * count) places *= 2;
  a->mask = places - 1;
  a->stays = laze_arena_alloc_zero(scratch, count + 1);
  a->codes = laze_arena_alloc_array(scratch, count, sizeof *a->codes);
  a->next = laze_arena_alloc_array(scratch, count, sizeof *a->next);
  a->first = laze_arena_alloc_array(scratch, count, sizeof *a->first);
  a->last = laze_arena_alloc_array(scratch, count, sizeof *a->last);
  a->written = laze_arena_alloc_zero(scratch, a->scheduler->graph->node_count * (int64_t)sizeof *a->written);
  a->table = laze_arena_alloc_zero(scratch, places * (int64_t)sizeof *a->table);
  bool all = a->stays && a->codes && a->next && a->first && a->last && a->written && a->table;
  return all ? LAZE_OK : laze_scheduler_memory_error(a->scheduler);
}

/* Where nothing moves past: around what does not run behind a failure, or defines a size, and at ends of regions. */
static void find_stays(const arrangement *a) {
  for (int32_t i = 0; i < a->schedule->group_count; i++) {
    const laze_group *group = a->schedule->groups[i];
    const laze_node *root = laze_graph_node(a->scheduler->graph, group->root);
    if (!group->defines_size && (group->kernel || root->region_count == 0)) continue;
    a->stays[i] = a->stays[i + 1] = true;
    for (int32_t k = 0; group->control && k < root->region_count; k++) a->stays[group->region_ends[k]] = true;
  }
}

/* Whether a group may come earlier: there is memory for what it writes from the beginning, or it is not much. */
static laze_status ask_move(arrangement *a, const laze_group *group, bool in_region, bool *out) {
  laze_size_table *sizes = a->scheduler->graph->sizes;
  laze_error *error = a->scheduler->error;
  int32_t early = 0;
  *out = true;
  for (int32_t i = 0; i < group->write_count && *out; i++) {
    const laze_type *type = laze_graph_type(a->scheduler->graph, group->writes[i]);
    laze_size elements;
    if (!in_region && a->scheduler->returned[group->writes[i].node] > 0) continue;
    LAZE_TRY(laze_type_elements(sizes, type, &elements, error));
    if (elements == 1) continue;
    *out = a->early_count + ++early <= MOST_EARLY;
    if (*out)
      LAZE_TRY(laze_size_ask_less_equal(sizes, elements, MOST_EARLY_BYTES / laze_dtype_size(type->dtype), out, error));
  }
  if (*out) a->early_count += early;
  return LAZE_OK;
}

/* The place of a code in the table: that of its last row, or an empty one. */
static int32_t *find_place(const arrangement *a, laze_hash code) {
  int64_t at = (int64_t)(code.low & (uint64_t)a->mask);
  while (a->table[at] > 0 && !laze_hash_equal(a->codes[a->table[at] - 1], code)) at = (at + 1) & a->mask;
  return &a->table[at];
}

/* The last row that a group needs; -1: none. */
static int32_t find_needed(const arrangement *a, const laze_group *group) {
  int32_t needed = 0;
  for (int32_t i = 0; i < group->read_count; i++)
    if (a->written[group->reads[i].node] > needed) needed = a->written[group->reads[i].node];
  return needed - 1;
}

static void add_to_row(arrangement *a, int32_t index, int32_t row) {
  const laze_group *group = a->schedule->groups[index];
  a->next[index] = -1;
  if (row == a->row_count)
    a->first[a->row_count++] = index;
  else
    a->next[a->last[row]] = index;
  a->last[row] = index;
  int32_t *root = &a->written[group->root.node];
  if (*root <= row) *root = row + 1;
  for (int32_t i = 0; i < group->write_count; i++)
    if (a->written[group->writes[i].node] <= row) a->written[group->writes[i].node] = row + 1;
}

static laze_status add_group(arrangement *a, int32_t index, bool in_region) {
  laze_group *group = a->schedule->groups[index];
  int32_t row = a->row_count;
  if (a->stays[index]) a->stretch = row;
  if (!group->kernel || group->updates) {
    add_to_row(a, index, row);
    return LAZE_OK;
  }
  a->codes[row] = laze_loop_hash(group->kernel);
  int32_t *place = find_place(a, a->codes[row]);
  const int32_t found = *place - 1;
  group->beside = found >= a->stretch && found > find_needed(a, group);
  if (group->beside && found < row - 1) LAZE_TRY(ask_move(a, group, in_region, &group->beside));
  if (group->beside) row = found;
  *place = row + 1;
  add_to_row(a, index, row);
  return LAZE_OK;
}

laze_status laze_schedule_arrange(const laze_scheduler *scheduler, laze_arena *scratch, laze_schedule *schedule) {
  arrangement a = {.scheduler = scheduler, .schedule = schedule};
  int32_t region_end = 0, count = 0;
  LAZE_TRY(allocate(&a, scratch));
  laze_group **groups = laze_arena_alloc_array(scheduler->arena, schedule->group_count, sizeof *groups);
  if (!groups) return laze_scheduler_memory_error(scheduler);
  find_stays(&a);
  for (int32_t i = 0; i < schedule->group_count; i++) {
    const laze_group *group = schedule->groups[i];
    LAZE_TRY(add_group(&a, i, i < region_end));
    const int32_t regions = laze_graph_node(scheduler->graph, group->root)->region_count;
    if (group->control && group->region_ends[regions - 1] > region_end) region_end = group->region_ends[regions - 1];
  }
  for (int32_t row = 0; row < a.row_count; row++)
    for (int32_t i = a.first[row]; i >= 0; i = a.next[i]) groups[count++] = schedule->groups[i];
  schedule->groups = groups;
  return LAZE_OK;
}

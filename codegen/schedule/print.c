/* The schedule as text:
 *
 *   kernel 0: mul+sum.dim_IntList  [returned]
 *     domain n  bytes n*784*4+n*4  operations n*784*2
 *     reads %x f32[n,784]  writes %3 f32[n]
 *     from mul (model.lz:4), sum (model.lz:5)
 *     computed again: n2 mul, 1 of 2 times
 */
#include "codegen/schedule/schedule.h"

#include "codegen/loop/loop.h"
#include "codegen/node_site.h"
#include "ir/op.gen.h"
#include "codegen/schedule/join.h"

static const char *const split_reasons[] = {
    [LAZE_SPLIT_OUTPUT] = "returned",
    [LAZE_SPLIT_SHARED] = "used by several kernels",
    [LAZE_SPLIT_OPERAND] = "read by a matrix product, an operator with regions, the runtime or the interpreter",
    [LAZE_SPLIT_REDUCTION] = "a reduction that does not fit its user's loops",
    [LAZE_SPLIT_REPEATED] = "fusing would compute it again for each element of an outer axis",
    [LAZE_SPLIT_DEAR] = "storing it costs less than computing it again",
    [LAZE_SPLIT_VIEW] = "its user's order of elements would need a division",
    [LAZE_SPLIT_FACTOR] = "a matrix product needs its strides otherwise",
    [LAZE_SPLIT_SIZE] = "the user's kernel is large enough",
    [LAZE_SPLIT_PRODUCT] = "has a kernel of its own",
    [LAZE_SPLIT_CHECK] = "its user needs a part of it, and every index is checked",
    [LAZE_SPLIT_OFF] = "fusion is switched off",
};

static void print_values(laze_text *text, const laze_graph *graph, const char *title, const laze_value *values,
                         int32_t count) {
  laze_text_format(text, "  %s", title);
  for (int32_t i = 0; i < count; i++) {
    const laze_node *node = laze_graph_node(graph, values[i]);
    if (node->op == LAZE_OP_PARAMETER)
      laze_text_format(text, "  %%%s ", node->name);
    else
      laze_text_format(text, "  n%d ", (int)values[i].node);
    laze_type_print(text, graph->sizes, laze_graph_type(graph, values[i]));
  }
}

/* The calls that the group's nodes come from. */
static void print_calls(laze_text *text, const laze_graph *graph, const laze_group *group) {
  laze_text_append(text, "  from ");
  laze_site_list list = {.text = text};
  for (int32_t i = 0; i < group->node_count; i++) {
    laze_site site = laze_node_site(&graph->nodes[group->nodes[i].node]);
    laze_site_list_add(&list, &site);
  }
  laze_text_append(text, "\n");
}

/* What costs next to nothing wherever it is needed: numbers along an axis, and single ones. A concatenation computes
 * nothing itself, and several kernels may each write a piece. */
static bool is_cheap(const laze_node *node) {
  const laze_join *join = laze_schedule_join_of(node->op);
  return join->is_made || join->concatenation || node->types[0]->rank == 0;
}

/* The group's nodes that are computed more than once, here or in other groups as well. */
static void print_repeated(laze_text *text, const laze_graph *graph, const laze_group *group, const int32_t *times) {
  bool any = false;
  for (int32_t i = 0; i < group->node_count; i++) {
    const laze_group_node *computed = &group->nodes[i];
    const laze_node *node = &graph->nodes[computed->node];
    if (times[computed->node] < 2 || is_cheap(node)) continue;
    laze_text_format(text, any ? ", n%d %s" : "  computed again: n%d %s", (int)computed->node,
                     laze_op_get(node->op)->base);
    laze_text_format(text, " (%d of %d times)", (int)computed->times, (int)times[computed->node]);
    any = true;
  }
  if (any) laze_text_append(text, "\n");
}

/* Where the groups of its regions are among those of the schedule. */
static void print_regions(laze_text *text, const laze_graph *graph, const laze_group *group, int32_t index) {
  int32_t first = index + 1, count = laze_graph_node(graph, group->root)->region_count;
  for (int32_t i = 0; i < count; i++) {
    int32_t end = group->region_ends[i];
    if (first == end)
      laze_text_format(text, "  region %d: no kernels\n", (int)i);
    else if (first + 1 == end)
      laze_text_format(text, "  region %d: kernel %d\n", (int)i, (int)first);
    else
      laze_text_format(text, "  region %d: kernels %d to %d\n", (int)i, (int)first, (int)end - 1);
    first = end;
  }
}

static void print_group(laze_text *text, const laze_graph *graph, const laze_group *group, int32_t index,
                        const int32_t *times) {
  bool whole =
      group->interpreted || group->control || group->defines_size; /* a node whose results are values of the program */
  laze_text_format(text, "kernel %d: %s  [%s]", (int)index, group->label, split_reasons[group->split]);
  laze_text_append(text, group->beside ? "  beside the one before\n" : "\n");
  if (group->interpreted) laze_text_format(text, "  interpreted: %s\n", group->interpreted);
  if (group->control) print_regions(text, graph, group, index);
  if (!whole) {
    laze_text_append(text, "  domain ");
    laze_size_print(text, graph->sizes, group->domain);
    laze_text_append(text, "  bytes ");
    laze_size_print(text, graph->sizes, group->bytes);
    laze_text_append(text, "  operations ");
    laze_size_print(text, graph->sizes, group->operations);
    if (group->scratch != 0) laze_text_append(text, "  scratch ");
    if (group->scratch != 0) laze_size_print(text, graph->sizes, group->scratch);
    laze_text_append(text, "\n");
  }
  print_values(text, graph, "reads", group->reads, group->read_count);
  if (whole)
    print_values(text, graph, "writes", &group->root, 1);
  else
    print_values(text, graph, "writes", group->writes, group->write_count);
  if (group->updates) print_values(text, graph, "which is until then", &group->updated, 1);
  laze_text_append(text, "\n");
  print_calls(text, graph, group);
  print_repeated(text, graph, group, times);
}

void laze_schedule_print(laze_text *text, const laze_graph *graph, const laze_schedule *schedule, bool with_loops) {
  int32_t *times = laze_alloc_zero(graph->context, graph->node_count * (int64_t)sizeof *times);
  text->failed = text->failed || !times;
  if (!times) return;
  for (int32_t i = 0; i < schedule->group_count; i++)
    for (int32_t k = 0; k < schedule->groups[i]->node_count; k++)
      times[schedule->groups[i]->nodes[k].node] += schedule->groups[i]->nodes[k].times;
  for (int32_t i = 0; i < schedule->group_count; i++) {
    print_group(text, graph, schedule->groups[i], i, times);
    if (with_loops && schedule->groups[i]->kernel) laze_loop_print(text, schedule->groups[i]->kernel);
  }
  laze_free(graph->context, times);
}

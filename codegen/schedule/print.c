/* The schedule as text:
 *
 *   kernel 0: mul+sum.dim_IntList  [returned]
 *     domain n  bytes n*784*4+n*4  operations n*784*2
 *     reads %x f32[n,784]  writes %3 f32[n]
 */
#include "codegen/schedule/schedule.h"

static const char *const split_reasons[] = {
    [LAZE_SPLIT_OUTPUT] = "returned",
    [LAZE_SPLIT_SHARED] = "used by several kernels",
    [LAZE_SPLIT_OPERAND] = "read by a matrix product or library kernel",
    [LAZE_SPLIT_REDUCTION] = "a reduction that does not fit its user's loops",
    [LAZE_SPLIT_REPEATED] = "fusing would compute it again for each element of an outer axis",
    [LAZE_SPLIT_DEAR] = "storing it costs less than computing it again",
    [LAZE_SPLIT_VIEW] = "its user's order of elements would need a division",
    [LAZE_SPLIT_SIZE] = "the user's kernel is large enough",
    [LAZE_SPLIT_PRODUCT] = "has a kernel of its own",
    [LAZE_SPLIT_OFF] = "fusion is switched off",
};

static void print_values(laze_text *text, const laze_graph *graph, const char *title, const laze_value *values,
                         int32_t count) {
  laze_text_format(text, "  %s", title);
  for (int32_t i = 0; i < count; i++) {
    const laze_node *node = laze_graph_node(graph, values[i]);
    if (node->name)
      laze_text_format(text, "  %%%s ", node->name);
    else
      laze_text_format(text, "  n%d ", (int)values[i].node);
    laze_type_print(text, graph->sizes, laze_graph_type(graph, values[i]));
  }
}

static void print_group(laze_text *text, const laze_graph *graph, const laze_group *group, int32_t index,
                        bool with_loops) {
  laze_text_format(text, "kernel %d: %s  [%s]\n", (int)index, group->label, split_reasons[group->split]);
  if (group->kind != LAZE_GROUP_LIBRARY) {
    laze_text_append(text, "  domain ");
    laze_size_print(text, graph->sizes, group->domain);
    laze_text_append(text, "  bytes ");
    laze_size_print(text, graph->sizes, group->bytes);
    laze_text_append(text, "  operations ");
    laze_size_print(text, graph->sizes, group->operations);
    laze_text_append(text, "\n");
  }
  print_values(text, graph, "reads", group->reads, group->read_count);
  if (group->kind == LAZE_GROUP_LIBRARY)
    print_values(text, graph, "writes", &group->root, 1);
  else
    print_values(text, graph, "writes", group->writes, group->write_count);
  laze_text_append(text, "\n");
  if (with_loops && group->kernel) laze_loop_print(text, group->kernel);
}

void laze_schedule_print(laze_text *text, const laze_graph *graph, const laze_schedule *schedule, bool with_loops) {
  for (int32_t i = 0; i < schedule->group_count; i++) print_group(text, graph, schedule->groups[i], i, with_loops);
}

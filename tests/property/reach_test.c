/* What becomes native kernels: every broadcast in every operand order, every reduction whatever sizes are 1 or equal by
 * chance, concatenations of any number of pieces, and all of random graphs but the operators listed below. A node that
 * falls back is right and slow, so that no comparison of results would show it. */
#include "codegen/codegen.h"
#include "codegen/loop/loop.h"
#include "codegen/schedule/schedule.h"
#include "ir/op.gen.h"
#include "tests/property/check_graphs.h"
#include "tests/support/loop_backend.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

/* Calls `look` for every group of the graph's schedule; false with a message where it says so. */
typedef bool (*group_property)(const laze_graph *graph, const laze_group *group);

static bool all_groups(const laze_graph *graph, bool no_fusion, group_property look, char *message, size_t size) {
  const laze_schedule_options options = {.no_fusion = no_fusion};
  laze_schedule schedule;
  laze_arena arena;
  laze_graph *symbolic;
  const int64_t *bindings;
  laze_error error;
  bool right = true;
  ck_assert_int_eq(laze_compile_passes(graph->context, graph, &symbolic, &bindings, &error), LAZE_OK);
  laze_arena_init(&arena, graph->context);
  ck_assert_msg(laze_schedule_build(symbolic, &arena, &options, &schedule, &error) == LAZE_OK, "%s", error.message);
  for (int32_t i = 0; i < schedule.group_count && right; i++) {
    right = look(symbolic, schedule.groups[i]);
    if (!right) snprintf(message, size, "falls back: group %d, %s", (int)i, schedule.groups[i]->label);
  }
  laze_arena_deinit(&arena);
  laze_graph_destroy(symbolic);
  return right;
}

static bool is_native(const laze_graph *graph, const laze_group *group) {
  (void)graph;
  return group->kind != LAZE_GROUP_FALLBACK;
}

/* Groups without loops are control flow, whose regions are programs of their own. */
static bool is_native_or_listed(const laze_graph *graph, const laze_group *group) {
  return group->kind != LAZE_GROUP_FALLBACK || laze_graph_node(graph, group->root)->region_count > 0;
}

typedef struct {
  test_way loops, reference;
} two_ways;

static two_ways make_ways(void) {
  two_ways ways = {{test_context("verify"), &test_backend_loop, NULL}, {NULL, NULL, NULL}};
  ways.reference.context = ways.loops.context;
  ck_assert_int_eq(laze_backend_find(ways.loops.context, "interp", &ways.reference.backend, NULL), LAZE_OK);
  return ways;
}

/* Whether every group has loops and they compute what the reference does. Destroys the graph. */
static void check_graph(two_ways *ways, laze_graph *graph, uint64_t seed) {
  char message[1500] = "";
  bool right = all_groups(graph, false, is_native, message, sizeof message) &&
               test_ways_agree(&ways->loops, &ways->reference, graph, seed, message, sizeof message);
  if (!right) test_print_graph("this graph fails:", graph);
  laze_graph_destroy(graph);
  ck_assert_msg(right, "%s", message);
}

static laze_value add_parameter(laze_graph *graph, laze_dtype dtype, int rank, const int64_t *sizes) {
  char name[16];
  laze_type type;
  laze_value value;
  snprintf(name, sizeof name, "x%d", (int)graph->body->parameter_count);
  ck_assert_int_eq(laze_type_init(&type, name, dtype, rank, sizes, NULL), LAZE_OK);
  ck_assert_int_eq(laze_graph_add_parameter(graph, graph->body, name, &type, &value, NULL), LAZE_OK);
  return value;
}

static laze_value record(laze_builder *builder, laze_op op, const laze_value *operands, int32_t count,
                         const laze_attribute *attributes) {
  laze_value value;
  laze_error error;
  ck_assert_msg(laze_record_call(&builder->recorder, op, operands, count, attributes, &value, &error) == LAZE_OK, "%s",
                error.message);
  return value;
}

static laze_graph *begin(two_ways *ways, laze_builder *builder) {
  laze_graph *graph;
  ck_assert_int_eq(laze_graph_create(ways->loops.context, "reach", &graph, NULL), LAZE_OK);
  laze_builder_init(builder, graph, graph->body);
  return graph;
}

static void finish(two_ways *ways, laze_graph *graph, laze_value result, uint64_t seed) {
  ck_assert_int_eq(laze_block_set_results(graph, graph->body, &result, 1, NULL), LAZE_OK);
  check_graph(ways, graph, seed);
}

/* Broadcasts */

enum { MOST_AXES = 4 };
/* All different, all equal, equal in pairs, with a 1 that a size happens to be. */
static const int64_t extents[][MOST_AXES] = {{2, 3, 5, 7}, {3, 3, 3, 3}, {2, 3, 2, 3}, {3, 1, 1, 2}};
enum { EXTENT_SETS = sizeof extents / sizeof *extents };

/* An operand that has the axes in `mask`, and 1 in place of the others. */
static laze_value broadcast_operand(laze_graph *graph, int rank, const int64_t *sizes, int mask) {
  int64_t own[MOST_AXES];
  for (int axis = 0; axis < rank; axis++) own[axis] = mask >> axis & 1 ? sizes[axis] : 1;
  return add_parameter(graph, LAZE_I32, rank, own);
}

START_TEST(every_broadcast_of_two_operands_is_native) {
  two_ways ways = make_ways();
  for (int rank = 1; rank <= MOST_AXES; rank++)
    for (int set = 0; set < EXTENT_SETS; set++)
      for (int masks = 0; masks < 1 << 2 * rank; masks++) {
        laze_builder builder;
        laze_graph *graph = begin(&ways, &builder);
        laze_value operands[2] = {broadcast_operand(graph, rank, extents[set], masks),
                                  broadcast_operand(graph, rank, extents[set], masks >> rank)};
        finish(&ways, graph, record(&builder, LAZE_OP_SUB, operands, 2, NULL), (uint64_t)masks);
      }
  laze_context_release(ways.loops.context);
}
END_TEST

/* Three operands, by one operator and by two. */
START_TEST(every_broadcast_of_three_operands_is_native) {
  two_ways ways = make_ways();
  for (int rank = 1; rank <= MOST_AXES; rank++)
    for (int masks = 0; masks < 1 << 3 * rank; masks++) {
      const int64_t *sizes = extents[masks % EXTENT_SETS];
      laze_builder builder;
      laze_graph *graph = begin(&ways, &builder);
      laze_value x[3];
      for (int i = 0; i < 3; i++) x[i] = broadcast_operand(graph, rank, sizes, masks >> i * rank);
      laze_value result = record(&builder, LAZE_OP_SUB, x, 2, NULL);
      if (masks % 3 == 0) {
        const laze_value chosen[3] = {record(&builder, LAZE_OP_LT, x, 2, NULL), x[1], x[2]};
        result = record(&builder, LAZE_OP_WHERE_SELF, chosen, 3, NULL);
      } else {
        const laze_value both[2] = {masks % 3 == 1 ? result : x[2], masks % 3 == 1 ? x[2] : result};
        result = record(&builder, LAZE_OP_MUL, both, 2, NULL);
      }
      finish(&ways, graph, result, (uint64_t)masks);
    }
  laze_context_release(ways.loops.context);
}
END_TEST

/* Reductions */

/* Sums of f32[..] over every choice of axes, of which those in `ones` have one element; alone, and as softmax uses it:
 * subtracted from what it was summed over, and summed again. */
START_TEST(every_reduction_is_native) {
  two_ways ways = make_ways();
  for (int rank = 1; rank <= MOST_AXES; rank++)
    for (int ones = 0; ones < 1 << rank; ones++)
      for (int dims = 1; dims < 1 << rank; dims++)
        for (int form = 0; form < 4; form++) {
          int64_t sizes[MOST_AXES], items[MOST_AXES];
          int32_t count = 0;
          for (int axis = 0; axis < rank; axis++) sizes[axis] = ones >> axis & 1 ? 1 : form % 2 ? 3 : axis + 2;
          for (int axis = 0; axis < rank; axis++)
            if (dims >> axis & 1) items[count++] = axis;
          laze_builder builder;
          laze_graph *graph = begin(&ways, &builder);
          laze_value x = add_parameter(graph, LAZE_F32, rank, sizes);
          const laze_attribute attributes[] = {laze_attribute_integers(items, count), laze_attribute_boolean(form >= 2),
                                               laze_attribute_absent(LAZE_ARGUMENT_DTYPE)};
          laze_value result = record(&builder, LAZE_OP_SUM_DIM_INTLIST, &x, 1, attributes);
          if (form >= 2) {
            const laze_value both[2] = {x, result};
            result = record(&builder, LAZE_OP_SUB, both, 2, NULL);
            result = record(&builder, LAZE_OP_SUM_DIM_INTLIST, &result, 1, attributes);
          }
          finish(&ways, graph, result, (uint64_t)(ones << rank | dims));
        }
  laze_context_release(ways.loops.context);
}
END_TEST

/* Concatenations */

/* `count` tensors of f32 and i32 in turns, or of f32 alone, whose sizes along `axis` are 0 to 3; the first ones come
 * again after a while. */
static laze_value concatenated(laze_graph *graph, laze_builder *builder, int axis, int count, bool mixed) {
  enum { MOST_PIECES = 80, DIFFERENT = 16 };
  laze_value pieces[MOST_PIECES];
  for (int i = 0; i < count; i++) {
    if (i >= DIFFERENT) {
      pieces[i] = pieces[i - DIFFERENT];
      continue;
    }
    int64_t sizes[3] = {3, 2, 5};
    sizes[axis] = i % 4;
    pieces[i] = add_parameter(graph, mixed && i % 2 ? LAZE_I32 : LAZE_F32, 3, sizes);
    if (i % 3 == 1) pieces[i] = record(builder, LAZE_OP_NEG, &pieces[i], 1, NULL);
  }
  const laze_attribute attributes[] = {laze_attribute_integer(axis)};
  return record(builder, LAZE_OP_CAT, pieces, count, attributes);
}

/* Alone, used by an operator, concatenated again along the same axis or along another. */
START_TEST(every_concatenation_is_native) {
  static const int counts[] = {1, 2, 3, 8, 9, 17, 80};
  two_ways ways = make_ways();
  for (int axis = 0; axis < 3; axis++)
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
      for (int form = 0; form < 10; form++) {
        laze_builder builder;
        laze_graph *graph = begin(&ways, &builder);
        laze_value result = concatenated(graph, &builder, axis, counts[c], form >= 5);
        if (form % 5 == 1) result = record(&builder, LAZE_OP_NEG, &result, 1, NULL);
        const int other = form % 5 - 2;
        if (other >= 0) {
          const laze_value both[3] = {result, concatenated(graph, &builder, axis, counts[c], false), result};
          const laze_attribute attributes[] = {laze_attribute_integer(other)};
          result = record(&builder, LAZE_OP_CAT, both, counts[c] % 2 ? 2 : 3, attributes);
        }
        finish(&ways, graph, result, (uint64_t)form);
      }
  laze_context_release(ways.loops.context);
}
END_TEST

/* Bounds */

typedef struct {
  int32_t groups, kernels, most_loads, most_guards; /* kernels: different ones */
} schedule_size;

static void look_at_kernel(const laze_loop_kernel *kernel, laze_hash *seen, schedule_size *out) {
  int32_t loads = 0, guards = 0, known = 0;
  const laze_hash key = laze_loop_hash(kernel);
  for (int32_t i = 0; i < kernel->instruction_count; i++) {
    loads += kernel->instructions[i].code == LAZE_LOOP_LOAD;
    guards += kernel->instructions[i].code == LAZE_LOOP_INDEX_LESS;
  }
  if (loads > out->most_loads) out->most_loads = loads;
  if (guards > out->most_guards) out->most_guards = guards;
  while (known < out->kernels && !laze_hash_equal(seen[known], key)) known++;
  if (known == out->kernels) seen[out->kernels++] = key;
}

/* Schedules a graph and destroys it. */
static schedule_size schedule_of(laze_graph *graph) {
  enum { MOST_GROUPS = 1024 };
  static laze_hash seen[MOST_GROUPS];
  schedule_size size = {0};
  laze_schedule schedule;
  laze_arena arena;
  laze_graph *symbolic;
  const int64_t *bindings;
  ck_assert_int_eq(laze_compile_passes(graph->context, graph, &symbolic, &bindings, NULL), LAZE_OK);
  laze_arena_init(&arena, graph->context);
  ck_assert_int_eq(laze_schedule_build(symbolic, &arena, &(laze_schedule_options){0}, &schedule, NULL), LAZE_OK);
  ck_assert_int_le(size.groups = schedule.group_count, MOST_GROUPS);
  for (int32_t i = 0; i < schedule.group_count; i++) {
    const laze_group *group = schedule.groups[i];
    ck_assert_msg(group->kind != LAZE_GROUP_FALLBACK, "group %d, %s, falls back", (int)i, group->label);
    if (group->kernel) look_at_kernel(group->kernel, seen, &size);
  }
  laze_arena_deinit(&arena);
  laze_graph_destroy(symbolic);
  laze_graph_destroy(graph);
  return size;
}

static laze_value slice(laze_builder *builder, laze_value x, int64_t dim, int64_t start, int64_t end) {
  const laze_attribute attributes[] = {laze_attribute_integer(dim), laze_attribute_size(start),
                                       laze_attribute_size(end), laze_attribute_integer(1)};
  return record(builder, LAZE_OP_SLICE, &x, 1, attributes);
}

static laze_value shifted_sum(laze_builder *builder, laze_value x, int64_t dim, int64_t length, int64_t shifts) {
  laze_value sum[2] = {slice(builder, x, dim, 0, length), LAZE_VALUE_NONE};
  for (int64_t shift = 1; shift < shifts; shift++) {
    sum[1] = slice(builder, x, dim, shift, shift + length);
    sum[0] = record(builder, LAZE_OP_ADD, sum, 2, NULL);
  }
  return sum[0];
}

/* One kernel of n^2 guarded loads is right as well, and a hundred times slower: the image in a frame, summed over
 * shifts along both axes, must be kernels of n plain loads. */
START_TEST(shifted_sums_stay_small) {
  two_ways ways = make_ways();
  for (int64_t radius = 1; radius <= 5; radius++) {
    const int64_t side = 32, around = side + 2 * radius, shifts = 2 * radius + 1;
    laze_builder builder;
    laze_graph *graph = begin(&ways, &builder);
    const laze_attribute rows[] = {laze_attribute_integer(0)}, columns[] = {laze_attribute_integer(1)};
    laze_value above = add_parameter(graph, LAZE_F32, 2, (int64_t[]){radius, side});
    laze_value beside = add_parameter(graph, LAZE_F32, 2, (int64_t[]){around, radius});
    laze_value pieces[3] = {above, add_parameter(graph, LAZE_F32, 2, (int64_t[]){side, side}), above};
    pieces[1] = record(&builder, LAZE_OP_CAT, pieces, 3, rows);
    pieces[0] = pieces[2] = beside;
    laze_value framed = record(&builder, LAZE_OP_CAT, pieces, 3, columns);
    laze_value sum = shifted_sum(&builder, framed, 0, side, shifts);
    sum = shifted_sum(&builder, sum, 1, side, shifts);
    ck_assert_int_eq(laze_block_set_results(graph, graph->body, &sum, 1, NULL), LAZE_OK);
    schedule_size size = schedule_of(graph);
    ck_assert_int_le(size.most_loads, (int)shifts);
    ck_assert_int_eq(size.most_guards, 0);
    ck_assert_int_eq(size.groups, 5 + 2); /* the frame's pieces, and a sum along each axis */
  }
  laze_context_release(ways.loops.context);
}
END_TEST

/* `count` pieces of equal shapes but sizes of their own, at once or one after the other. */
static schedule_size schedule_of_pieces(two_ways *ways, int32_t count, bool chained, bool computed) {
  enum { MOST_PIECES = 3000 };
  static laze_value pieces[MOST_PIECES];
  laze_builder builder;
  laze_graph *graph = begin(ways, &builder);
  const laze_attribute attributes[] = {laze_attribute_integer(0)};
  for (int32_t i = 0; i < count; i++) {
    pieces[i] = add_parameter(graph, LAZE_F32, 2, (int64_t[]){2, 3});
    if (computed) pieces[i] = record(&builder, LAZE_OP_NEG, &pieces[i], 1, NULL);
  }
  laze_value result = chained ? pieces[0] : record(&builder, LAZE_OP_CAT, pieces, count, attributes);
  for (int32_t i = 1; chained && i < count; i++) {
    const laze_value both[2] = {result, pieces[i]};
    result = record(&builder, LAZE_OP_CAT, both, 2, attributes);
  }
  ck_assert_int_eq(laze_block_set_results(graph, graph->body, &result, 1, NULL), LAZE_OK);
  return schedule_of(graph);
}

/* Few pieces that are computed are a kernel each, compiled once for equal ones. Pieces that are there already, and
 * many, are one copy, without compiling. */
START_TEST(pieces_are_linear) {
  two_ways ways = make_ways();
  for (int chained = 0; chained < 2; chained++) {
    const schedule_size few = schedule_of_pieces(&ways, 60, chained, true);
    ck_assert_int_eq(few.groups, 60);
    ck_assert_int_eq(few.kernels, 2); /* of the first piece, at offset 0, and of the others */
    for (int32_t count = 2; count <= 3000; count = count < 70 ? count + 17 : count * 2) {
      const schedule_size copied = schedule_of_pieces(&ways, count, chained, false);
      ck_assert_int_eq(copied.groups, 1);
      ck_assert_int_eq(copied.kernels, 0);
    }
    const schedule_size many = schedule_of_pieces(&ways, 80, chained, true);
    ck_assert_int_eq(many.groups, 80 + 1);
    ck_assert_int_eq(many.kernels, 1);
  }
  laze_context_release(ways.loops.context);
}
END_TEST

/* Random graphs */

static bool reaches(void *self, const laze_graph *graph, uint64_t seed, char *message, size_t size) {
  (void)self, (void)seed;
  return all_groups(graph, false, is_native_or_listed, message, size) &&
         all_groups(graph, true, is_native_or_listed, message, size);
}

START_TEST(only_listed_operators_of_random_graphs_fall_back) {
  laze_context *context = test_context(NULL);
  static const test_graph_options options[] = {{1, 3, false, TEST_SHAPES_SMALL, LAZE_DTYPE_NONE, false},
                                               {1, 3, false, TEST_SHAPES_WIDE, LAZE_DTYPE_NONE, false},
                                               {6, 40, false, TEST_SHAPES_SMALL, LAZE_DTYPE_NONE, false}};
  for (size_t i = 0; i < sizeof options / sizeof *options; i++)
    test_check_graphs(context, 2000, &options[i], reaches, NULL);
  laze_context_release(context);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("reach");
  TCase *tests = tcase_create("native kernels");
  tcase_set_timeout(tests, 0);
  tcase_add_test(tests, every_broadcast_of_two_operands_is_native);
  tcase_add_test(tests, every_broadcast_of_three_operands_is_native);
  tcase_add_test(tests, every_reduction_is_native);
  tcase_add_test(tests, every_concatenation_is_native);
  tcase_add_test(tests, shifted_sums_stay_small);
  tcase_add_test(tests, pieces_are_linear);
  tcase_add_test(tests, only_listed_operators_of_random_graphs_fall_back);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}

/* Shapes and graphs for which a scheduler needs more than loops over equal sizes: where it lacks a rule they run on the
 * interpreter, read under guards, or compute the same values again and again, orders of magnitude slower. */
#include "bench/bench.h"
#include "bench/shape_loops.h"
#include "bench/workloads.h"

#include <stdlib.h>
#include <string.h>

#define COLUMN (INT64_C(1) << 20)
#define BIG_PIECE (INT64_C(1) << 24)
#define SMALL_PIECE (INT64_C(1) << 16)
#define PIECES 12
#define STACKED 6131
#define STACKED_SIDE 28
#define CHAIN 256
#define CHAIN_PIECE 64
#define IMAGE 1024
#define POINTS 1000
#define POINT_SIZE 3
#define OUTER 200
#define OUTER_WIDTH 100
#define MOST_INPUTS STACKED
#define LOOP_ROOM ((size_t)128 << 20) /* bytes: the largest result is two pieces of 64 MiB */
#define ROUNDS 15
#define LONGEST 0.8 /* seconds that a workload's rounds may take; one at least is run */

/* A workload: its inputs, the calls, and the plain loop. */
typedef struct shape_run shape_run;
typedef struct shape_case {
  const char *name;
  laze_tensor *(*record)(shape_run *run);
  void (*loop)(shape_run *run);
  int32_t input_count;
  laze_dtype dtype; /* of the inputs */
  int64_t number;   /* for record and loop */
  int64_t sizes[3]; /* of each input; 0: no such axis */
  int64_t other[3]; /* of the second one, where it has other sizes */
} shape_case;

struct shape_run {
  const shape_case *what;
  laze_context *context;
  laze_tensor *inputs[MOST_INPUTS];
  void *data[2], *room, *out; /* of the loop: the first two inputs, LOOP_ROOM bytes each */
};

static int64_t elements_of(const int64_t *sizes) {
  int64_t count = 1;
  for (int axis = 0; axis < 3; axis++) count *= sizes[axis] > 0 ? sizes[axis] : 1;
  return count;
}

static laze_tensor *cut(laze_tensor *x, int64_t dim, int64_t from, int64_t to) {
  return laze_slice(x, dim, from, to, 1);
}

static laze_tensor *joined(laze_tensor *const *pieces, int32_t count, int64_t dim) {
  return laze_cat(pieces, count, dim);
}

/* The calls */

static laze_tensor *record_column_sum(shape_run *run) {
  return laze_sum_dim(run->inputs[0], 0, false);
}

static laze_tensor *record_column_softmax(shape_run *run) {
  return laze_softmax(run->inputs[0], 0);
}

static laze_tensor *record_cat(shape_run *run) {
  return joined(run->inputs, run->what->input_count, 0);
}

static laze_tensor *record_stack(shape_run *run) {
  return laze_stack(run->inputs, run->what->input_count, 0);
}

static laze_tensor *record_cat_chain(shape_run *run) {
  laze_tensor *both[2] = {run->inputs[0]};
  for (int32_t i = 1; i < run->what->input_count; i++) {
    both[1] = run->inputs[i];
    both[0] = joined(both, 2, 0);
  }
  return both[0];
}

/* The image in a frame of zeros. */
static laze_tensor *framed(shape_run *run, laze_tensor *x, int64_t radius) {
  const int64_t rows = laze_tensor_size(x, 0), columns = laze_tensor_size(x, 1);
  const laze_dtype dtype = laze_tensor_dtype(x);
  laze_tensor *above = laze_zeros(run->context, LAZE_SHAPE(radius, columns), dtype);
  laze_tensor *beside = laze_zeros(run->context, LAZE_SHAPE(rows + 2 * radius, radius), dtype);
  laze_tensor *tall = joined((laze_tensor *[]){above, x, above}, 3, 0);
  return joined((laze_tensor *[]){beside, tall, beside}, 3, 1);
}

/* The sum of 2 radius + 1 shifted slices along an axis. */
static laze_tensor *shifted_sum(laze_tensor *x, int64_t dim, int64_t length, int64_t radius) {
  laze_tensor *sum = cut(x, dim, 0, length);
  for (int64_t shift = 1; shift <= 2 * radius; shift++) sum = laze_add(sum, cut(x, dim, shift, shift + length));
  return sum;
}

static laze_tensor *record_blur(shape_run *run) {
  laze_tensor *x = framed(run, run->inputs[0], run->what->number);
  return shifted_sum(shifted_sum(x, 0, IMAGE, run->what->number), 1, IMAGE, run->what->number);
}

static laze_tensor *next_generation(laze_tensor *alive, laze_tensor *around) {
  laze_tensor *born = laze_eq(around, 3);
  laze_tensor *stays = laze_logical_and(alive, laze_eq(around, 2));
  return laze_to(laze_logical_or(born, stays), laze_tensor_dtype(alive));
}

static laze_tensor *record_life(shape_run *run) {
  laze_tensor *alive = run->inputs[0], *around = NULL;
  laze_tensor *x = framed(run, alive, 1);
  for (int64_t i = 0; i < 3; i++)
    for (int64_t j = 0; j < 3; j++) {
      laze_tensor *shifted = cut(cut(x, 0, i, i + IMAGE), 1, j, j + IMAGE);
      if (laze_tensor_dtype(shifted) == LAZE_BOOL) shifted = laze_to(shifted, LAZE_I32);
      if (i != 1 || j != 1) around = around != NULL ? laze_add(around, shifted) : shifted;
    }
  return next_generation(alive, around);
}

static laze_tensor *rolled(laze_tensor *x, int64_t dim, int64_t shift) {
  const int64_t length = laze_tensor_size(x, (int32_t)dim), at = (length - shift) % length;
  return at == 0 ? x : joined((laze_tensor *[]){cut(x, dim, at, length), cut(x, dim, 0, at)}, 2, dim);
}

/* The same on a torus, by eight rolls. */
static laze_tensor *record_life_rolled(shape_run *run) {
  laze_tensor *alive = run->inputs[0], *around = NULL;
  for (int64_t i = -1; i <= 1; i++)
    for (int64_t j = -1; j <= 1; j++) {
      laze_tensor *shifted = rolled(rolled(alive, 0, i), 1, j);
      if (i != 0 || j != 0) around = around != NULL ? laze_add(around, shifted) : shifted;
    }
  return next_generation(alive, around);
}

static laze_tensor *record_difference(shape_run *run) {
  return laze_sub(run->inputs[0], run->inputs[1]);
}

/* The loops */

static void run_sum(shape_run *run) {
  *(float *)run->out = loop_sum(run->data[0], COLUMN);
}

static void run_softmax(shape_run *run) {
  loop_softmax(run->data[0], run->out, COLUMN);
}

static void run_copies(shape_run *run) {
  const size_t size = (size_t)elements_of(run->what->sizes) * (size_t)laze_dtype_size(run->what->dtype);
  for (int32_t i = 0; i < run->what->input_count; i++)
    memcpy((char *)run->out + (size_t)i * size, run->data[i % 2], size);
}

static void run_blur(shape_run *run) {
  loop_blur(run->data[0], run->room, run->out, IMAGE, run->what->number);
}

static void run_life(shape_run *run) {
  loop_life(run->data[0], run->room, run->out, IMAGE);
}

static void run_distances(shape_run *run) {
  loop_distances(run->data[0], run->data[1], run->out, POINTS, POINT_SIZE);
}

static void run_outer(shape_run *run) {
  loop_outer(run->data[0], run->data[1], run->out, OUTER, OUTER_WIDTH);
}

/* Measuring */

static laze_tensor *make_input(shape_run *run, int32_t number) {
  const int64_t *sizes = number == 1 && run->what->other[0] > 0 ? run->what->other : run->what->sizes;
  const int64_t count = elements_of(sizes);
  const size_t size = (size_t)count * (size_t)laze_dtype_size(run->what->dtype);
  int32_t rank = 0;
  while (rank < 3 && sizes[rank] > 0) rank++;
  void *data = malloc(size);
  if (data == NULL) return NULL;
  memset(data, 0, size);
  if (run->what->dtype == LAZE_F32) workload_fill(data, count, (uint32_t)number * 977);
  for (int64_t i = 0; i < count && run->what->dtype != LAZE_F32; i++) {
    const int value = (uint32_t)i * 2654435761u >> 31;
    if (run->what->dtype == LAZE_I32) ((int32_t *)data)[i] = value;
    if (run->what->dtype == LAZE_BOOL) ((uint8_t *)data)[i] = (uint8_t)value;
  }
  laze_tensor *made =
      laze_tensor_retain(laze_tensor_from_data(run->context, run->what->dtype, (laze_ints){sizes, rank}, data, size));
  if (number < 2)
    run->data[number] = data;
  else
    free(data);
  return made;
}

static laze_status prepare(shape_run *run, laze_error *error) {
  const laze_context_options options = {.struct_size = sizeof options, .cache_directory = "", .threads = 1};
  const laze_status status = laze_context_create(&options, &run->context, error);
  if (status != LAZE_OK) return status;
  laze_scope *scope = laze_scope_begin(run->context);
  for (int32_t i = 0; i < run->what->input_count; i++)
    if ((run->inputs[i] = make_input(run, i)) == NULL) return bench_fail(error, "no memory for inputs");
  run->out = calloc(1, LOOP_ROOM);
  run->room = calloc(1, LOOP_ROOM);
  if (run->out == NULL || run->room == NULL) return bench_fail(error, "no memory for results");
  return laze_scope_end_error(scope, error);
}

static void finish(shape_run *run) {
  for (int32_t i = 0; i < run->what->input_count; i++) laze_tensor_release(run->inputs[i]);
  laze_context_release(run->context);
  free(run->data[0]);
  free(run->data[1]);
  free(run->room);
  free(run->out);
}

static laze_status run_once(shape_run *run, double *time, laze_error *error) {
  const double start = measure_now();
  laze_scope *scope = laze_scope_begin(run->context);
  const laze_status status = bench_finish(scope, run->what->record(run), error);
  *time = measure_now() - start;
  return status;
}

static void add_rows(bench_report *report, const shape_run *run, double first, const bench_samples *times,
                     const bench_samples *loops) {
  report_add(report, (bench_row){.name = run->what->name, .unit = "ms", .value = samples_summary(times)});
  report_add(report,
             (bench_row){.name = "  the first time, compiling", .unit = "ms", .value = summary_of(1e3 * first)});
  const double fallbacks = (double)bench_metric(run->context, "fallbacks");
  if (fallbacks > 0)
    report_add(
        report,
        (bench_row){.name = "  steps left to the interpreter, in all", .unit = "", .value = summary_of(fallbacks)});
  report_add(report, (bench_row){.name = "  a plain C loop meanwhile", .unit = "ms", .value = samples_summary(loops)});
  report_add(report, (bench_row){.name = "  speed beside that loop",
                                 .unit = "x",
                                 .value = summary_of(samples_summary(loops).median / samples_summary(times).median)});
}

static laze_status measure(bench_report *out, shape_run *run, laze_error *error) {
  bench_samples times = {0}, loops = {0};
  double first, time;
  laze_status status = prepare(run, error);
  if (status == LAZE_OK) status = run_once(run, &first, error);
  const double start = measure_now();
  for (int i = 0; i < ROUNDS && status == LAZE_OK && (i == 0 || measure_now() - start < LONGEST); i++) {
    const double before = measure_now();
    run->what->loop(run);
    samples_add(&loops, 1e3 * (measure_now() - before));
    status = run_once(run, &time, error);
    samples_add(&times, 1e3 * time);
  }
  if (status == LAZE_OK) add_rows(out, run, first, &times, &loops);
  finish(run);
  return status;
}

laze_status bench_shapes(bench_report *report, laze_error *error) {
  static const shape_case cases[] = {
      {"sum of f32[1M,1] over axis 0", record_column_sum, run_sum, 1, LAZE_F32, 0, {COLUMN, 1}, {0}},
      {"softmax of f32[1M,1] over axis 0", record_column_softmax, run_softmax, 1, LAZE_F32, 0, {COLUMN, 1}, {0}},
      {"cat of 12 times f32[64K]", record_cat, run_copies, PIECES, LAZE_F32, 0, {SMALL_PIECE}, {0}},
      {"cat of 2 times f32[16M]", record_cat, run_copies, 2, LAZE_F32, 0, {BIG_PIECE}, {0}},
      {"stack of 6131 times f32[28,28]",
       record_stack,
       run_copies,
       STACKED,
       LAZE_F32,
       0,
       {STACKED_SIDE, STACKED_SIDE},
       {0}},
      {"chain of 256 cats of f32[64]", record_cat_chain, run_copies, CHAIN, LAZE_F32, 0, {CHAIN_PIECE}, {0}},
      {"box blur by 1 of f32[1024,1024]", record_blur, run_blur, 1, LAZE_F32, 1, {IMAGE, IMAGE}, {0}},
      {"box blur by 2", record_blur, run_blur, 1, LAZE_F32, 2, {IMAGE, IMAGE}, {0}},
      {"box blur by 3", record_blur, run_blur, 1, LAZE_F32, 3, {IMAGE, IMAGE}, {0}},
      {"box blur by 4", record_blur, run_blur, 1, LAZE_F32, 4, {IMAGE, IMAGE}, {0}},
      {"Game of Life on i32[1024,1024]", record_life, run_life, 1, LAZE_I32, 0, {IMAGE, IMAGE}, {0}},
      {"Game of Life on bool[1024,1024]", record_life, run_life, 1, LAZE_BOOL, 0, {IMAGE, IMAGE}, {0}},
      {"Game of Life by rolls of i32[1024,1024]", record_life_rolled, run_life, 1, LAZE_I32, 0, {IMAGE, IMAGE}, {0}},
      {"f32[1000,1,3] - f32[1,1000,3]",
       record_difference,
       run_distances,
       2,
       LAZE_F32,
       0,
       {POINTS, 1, POINT_SIZE},
       {1, POINTS, POINT_SIZE}},
      {"f32[1,1000,3] - f32[1000,1,3]",
       record_difference,
       run_distances,
       2,
       LAZE_F32,
       0,
       {1, POINTS, POINT_SIZE},
       {POINTS, 1, POINT_SIZE}},
      {"f32[200,200,1] - f32[1,200,100]",
       record_difference,
       run_outer,
       2,
       LAZE_F32,
       0,
       {OUTER, OUTER, 1},
       {1, OUTER, OUTER_WIDTH}},
  };
  laze_status status = LAZE_OK;
  shape_run *run = calloc(1, sizeof *run);
  if (run == NULL) return bench_fail(error, "no memory for %zu bytes", sizeof *run);
  for (size_t i = 0; i < sizeof cases / sizeof *cases && status == LAZE_OK; i++) {
    *run = (shape_run){.what = &cases[i]};
    status = measure(report, run, error);
  }
  free(run);
  return status;
}

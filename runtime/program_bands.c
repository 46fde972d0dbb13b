/* Bands: steps behind each other that hand on rows run a few rows at a time, one step after the other, so that what
 * they hand on is never there whole.
 *
 *   step 0   v2 <- product(v0, v1)     a row of v2 for each row of v0      for each band of rows, on any thread:
 *   step 1   v3 <- softmax(v2)         by rows                               step 0, step 1 and step 2, on these rows
 *   step 2   v5 <- product(v3, v4)     by rows of v3                       v2 and v3: room for one band in the scratch
 *
 * Attention over n positions needs memory for n rows of a band's height instead of n * n numbers, and finds them in a
 * cache. Kernels are called as without bands, on parts of their domains, so the results have the same bits.
 *
 * Which rows a step's iterations go through comes with it (laze_step_rows); whether they fit those of the next step is
 * a question of numbers, and so is whether it is worth it (pays).
 */
#include "runtime/program_internal.h"

#include "base/checked.h"
#include "runtime/thread_pool.h"

/* Of what the steps hand on, all together: from so much on they run in bands. */
#define LEAST_BYTES (INT64_C(4) << 20)

/* The rows of a step in numbers. */
typedef struct {
  int64_t batches, count, height, blocks;
} bound_rows;

static laze_status evaluate(const program_binder *b, laze_size size, int64_t *out) {
  return laze_size_evaluate(b->program->sizes, size, b->bindings, out, b->error);
}

static laze_status bind_rows(const program_binder *b, const laze_step_rows *rows, bound_rows *out) {
  LAZE_TRY(evaluate(b, rows->batches, &out->batches));
  LAZE_TRY(evaluate(b, rows->count, &out->count));
  LAZE_TRY(evaluate(b, rows->height, &out->height));
  return evaluate(b, rows->blocks, &out->blocks);
}

/* Whether what is touched by these strides is touched row by row, each as wide as `width` elements, without gaps. */
static laze_status is_dense(const program_binder *b, const laze_row_strides *strides, const bound_rows *rows,
                            int64_t width, bool *out) {
  int64_t row, batch, all;
  LAZE_TRY(evaluate(b, strides->row, &row));
  LAZE_TRY(evaluate(b, strides->batch, &batch));
  *out = row > 0 && row == width && !laze_mul_overflows(row, rows->count, &all) && (rows->batches == 1 || batch == all);
  return LAZE_OK;
}

/* Whether a step is a launch of its own that could be part of a band. */
static bool can_stand(const laze_program *program, const laze_executable *executable, int64_t index) {
  const laze_step *step = &program->steps[index];
  for (int32_t i = 0; i < step->buffer_count; i++)
    if (program->values[step->buffers[i]].stage > 0) return false;
  const bool alone = executable->steps[index].launch == index &&
                     (index + 1 == program->step_count || executable->steps[index + 1].launch == index + 1);
  return alone && step->kernel && step->rows && step->stage == 0 && step->check_count == 0 && !step->updates &&
         !step->needs_success && !step->interpreted && step->buffer_count <= PROGRAM_LAUNCH_BUFFERS &&
         executable->steps[index].domain > 0;
}

/* The place among a step's buffers of what the step before it writes for it alone; -1: that is not so. */
static int32_t find_handed(const laze_program *program, int64_t index) {
  const laze_step *before = &program->steps[index - 1], *step = &program->steps[index];
  const int32_t number = before->buffers[before->buffer_count - 1];
  const program_value *value = &program->values[number];
  int32_t found = -1, times = 0;
  for (int32_t i = 0; i < step->buffer_count; i++) {
    if (step->buffers[i] != number) continue;
    found = i;
    times++;
  }
  const bool alone = before->write_count == 1 && times == 1 && found < step->buffer_count - step->write_count &&
                     value->role == LAZE_ROLE_TEMPORARY && value->place == number && value->stage == 0 &&
                     !value->is_returned && value->first_step == index - 1 && value->last_step == index;
  return alone ? found : -1;
}

/* Bytes in a row of what a step writes; 0: it does not write rows without gaps. */
static laze_status find_row_bytes(const program_binder *b, const laze_executable *executable, int64_t index,
                                  const bound_rows *rows, int64_t *out) {
  const laze_step *step = &b->program->steps[index];
  const int32_t last = step->buffer_count - 1, value = step->buffers[last];
  const int64_t bytes = executable->values[value].bytes, size = laze_dtype_size(b->program->values[value].dtype);
  int64_t all = 0;
  bool dense = false;
  *out = 0;
  if (laze_mul_overflows(rows->batches, rows->count, &all) || all == 0 || bytes % (all * size) != 0) return LAZE_OK;
  LAZE_TRY(is_dense(b, &step->rows->buffers[last], rows, bytes / all / size, &dense));
  if (dense) *out = bytes / all;
  return LAZE_OK;
}

/* A band while steps join it. */
typedef struct {
  bound_rows rows;  /* of its first product; height 1: there is none yet */
  int64_t all_rows; /* of every step */
  int64_t bytes;    /* of what is handed on */
} band_builder;

/* Takes a step's rows in: as many as the others have, in bands of one height. */
static bool take_rows(band_builder *builder, const bound_rows *rows) {
  if (rows->height == 1) return true;
  if (builder->rows.height == 1) builder->rows = *rows;
  return builder->rows.batches == rows->batches && builder->rows.count == rows->count &&
         builder->rows.height == rows->height;
}

/* Whether step `index` goes through the rows that the one before it hands on; its own rows go to `rows`. */
static laze_status follows(const program_binder *b, const laze_executable *executable, int64_t index, int64_t row_bytes,
                           band_builder *builder, bound_rows *rows, bool *out) {
  const laze_program *program = b->program;
  const int32_t handed = can_stand(program, executable, index) ? find_handed(program, index) : -1;
  int64_t all;
  *out = handed >= 0 && row_bytes > 0;
  if (!*out) return LAZE_OK;
  const laze_step *step = &program->steps[index];
  const int64_t size = laze_dtype_size(program->values[step->buffers[handed]].dtype);
  LAZE_TRY(bind_rows(b, step->rows, rows));
  LAZE_TRY(is_dense(b, &step->rows->buffers[handed], rows, row_bytes / size, out));
  *out = *out && !laze_mul_overflows(rows->batches, rows->count, &all) && all == builder->all_rows &&
         take_rows(builder, rows) &&
         !laze_add_overflows(builder->bytes, executable->values[step->buffers[handed]].bytes, &builder->bytes);
  return LAZE_OK;
}

/* Makes steps [first, end) a band: what they hand on has its place in the scratch. */
static laze_status add_band(const program_binder *b, laze_executable *executable, int64_t first, int64_t end,
                            const band_builder *builder, const bound_link *links) {
  const laze_program *program = b->program;
  const bound_rows *rows = &builder->rows;
  const int64_t height = rows->height < rows->count ? rows->height : rows->count;
  bound_band band = {(int32_t)first, (int32_t)end, rows->batches, rows->count, height, 0, NULL};
  int64_t scratch = 0;
  LAZE_TRY(laze_grow(program->context, (void **)&executable->bands, &executable->band_capacity,
                     executable->band_count + 1, sizeof *executable->bands, b->error));
  band.links = laze_arena_copy(b->arena, links, (end - first) * (int64_t)sizeof *links);
  if (!band.links) return laze_fail_memory(b->error, "an executable", -1);
  for (int64_t i = first; i < end; i++) {
    const laze_step *step = &program->steps[i];
    executable->steps[i].launch = (int32_t)first;
    if (executable->steps[i].scratch > scratch) scratch = executable->steps[i].scratch;
    if (i + 1 == end) continue;
    executable->values[step->buffers[step->buffer_count - 1]].banded = true;
    band.room += laze_buffer_aligned(band.height * links[i - first].row_bytes);
  }
  executable->bands[executable->band_count++] = band;
  executable->steps[first].scratch = band.room + scratch; /* which is said to be its, where there is no memory for it */
  if (band.room + scratch > *b->scratch_bytes) *b->scratch_bytes = band.room + scratch;
  return LAZE_OK;
}

/* Whether steps [first, end) are better run in bands: they hand on more than caches hold, there is a band for each
 * thread, and the room that threads need for one is much less than what is handed on. */
static bool pays(const band_builder *builder, int threads) {
  const bound_rows *rows = &builder->rows;
  if (builder->bytes < LEAST_BYTES || builder->bytes > INT64_MAX / 2 || rows->height == 1) return false;
  const int64_t height = rows->height < rows->count ? rows->height : rows->count;
  const int64_t bands = rows->batches * ((rows->count + height - 1) / height);
  return bands >= 2 && bands >= threads && builder->all_rows / height / 2 >= threads;
}

/* The longest band that begins with a step; *end is behind that step alone where there is none, or it does not pay. */
static laze_status cut_band(const program_binder *b, laze_executable *executable, int64_t first, int64_t *end) {
  bound_link links[PROGRAM_BAND_STEPS];
  bound_rows rows;
  bool joins = can_stand(b->program, executable, first);
  *end = first + 1;
  if (!joins) return LAZE_OK;
  LAZE_TRY(bind_rows(b, b->program->steps[first].rows, &rows));
  band_builder builder = {.rows = rows};
  if (laze_mul_overflows(rows.batches, rows.count, &builder.all_rows)) return LAZE_OK;
  for (int64_t i = first;; i++) {
    bound_link *link = &links[i - first];
    *end = i + 1;
    link->blocks = rows.height == 1 ? 0 : rows.blocks;
    LAZE_TRY(find_row_bytes(b, executable, i, &rows, &link->row_bytes));
    if (i + 1 == b->program->step_count || i + 1 - first == PROGRAM_BAND_STEPS) break;
    LAZE_TRY(follows(b, executable, i + 1, link->row_bytes, &builder, &rows, &joins));
    if (!joins) break;
  }
  const int threads = laze_thread_pool_limit(laze_get_threads(b->program->context));
  if (*end > first + 1 && pays(&builder, threads)) return add_band(b, executable, first, *end, &builder, links);
  *end = first + 1;
  return LAZE_OK;
}

/* Regions are passed over: what a step in one hands on is wanted in the next round, too. */
laze_status program_cut_bands(const program_binder *b, laze_executable *executable) {
  for (int64_t first = 0, end; first < b->program->step_count; first = end) {
    const laze_step *step = &b->program->steps[first];
    end = step->end;
    if (!step->control) LAZE_TRY(cut_band(b, executable, first, &end));
  }
  return LAZE_OK;
}

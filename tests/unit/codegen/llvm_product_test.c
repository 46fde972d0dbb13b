/* Native products of matrices against the loop interpreter, in bits: depths around chains and blocks, rows around tiles
 * and parts, strides that the code knows and does not, factors that are windows, registers of every width. */
#include "codegen/native/target.h"
#include "tests/support/suite.h"
#include "tests/unit/codegen/kernel_runner.h"

#include <check.h>
#include <math.h>

static const laze_dtype dtypes[] = {LAZE_F32, LAZE_F64, LAZE_I32, LAZE_I64, LAZE_I8,
                                    LAZE_I16, LAZE_U8,  LAZE_U16, LAZE_U32, LAZE_U64};
enum { NUMBERS = sizeof dtypes / sizeof *dtypes };

/* `known` says which stride of B the code knows to be 1: 0 neither, 1 that along the depth (a transposed matrix, copied
 * through registers), 2 that between columns, 3 those of A and B along the depth, 4 that between A's rows (a transposed
 * matrix, of which parts are copied). */
static void build_matrix(runner *r, laze_dtype dtype, int known) {
  laze_loop_kernel *k = &r->kernel;
  for (int b = 0; b < 3; b++) laze_loop_add_buffer(k, dtype, b == 2);
  int32_t size[8];
  for (int s = 0; s < 8; s++) size[s] = laze_loop_index_size(k, s);
  int32_t chunk = laze_loop_begin(k, laze_loop_index_constant(k, 1), LAZE_LOOP_RANGE);
  int32_t one = laze_loop_index_constant(k, 1);
  int32_t operands[LAZE_LOOP_PRODUCT_FIXED] = {chunk,
                                               known == 4 ? one : size[3],
                                               known == 3 ? one : size[4],
                                               chunk,
                                               known % 2 ? one : size[5],
                                               known == 2 ? one : size[6],
                                               chunk,
                                               size[7],
                                               size[0],
                                               size[1],
                                               size[2],
                                               chunk};
  const laze_loop_product product = {.b = 1, .c = 2};
  laze_loop_instruction matrix = {
      .code = LAZE_LOOP_MATRIX, .dtype = (uint8_t)dtype, .imm = laze_loop_pack_product(&product)};
  laze_loop_emit(k, matrix, operands, LAZE_LOOP_PRODUCT_FIXED);
  laze_loop_end(k);
}

static void compare_matrix(runner *r, const int64_t shape[3], bool transposed_a, bool transposed_b) {
  int64_t rows = shape[0], columns = shape[1], depth = shape[2];
  int64_t sizes[8] = {rows,
                      columns,
                      depth,
                      transposed_a ? 1 : depth,
                      transposed_a ? rows : 1,
                      transposed_b ? 1 : columns,
                      transposed_b ? depth : 1,
                      columns + 3};
  for (int s = 0; s < 8; s++) r->sizes[s] = sizes[s];
  r->lengths[0] = rows * depth;
  r->lengths[1] = depth * columns;
  r->lengths[2] = rows * (columns + 3);
  runner_fill(r, false);
  runner_compare(r, 0, 1);
}

START_TEST(test_matrix) {
  /* Depths around one chain, a block of it, and several; rows around a tile and a part; a row by itself; few rows of
   * more columns than take turns. */
  static const int64_t shapes[][3] = {
      {1, 1, 1},      {6, 64, 16},   {7, 65, 5},    {5, 10, 33},   {13, 16, 4},   {48, 80, 300}, {50, 7, 513},
      {3, 130, 0},    {0, 4, 4},     {4, 0, 4},     {12, 17, 257}, {1, 200, 64},  {1, 70, 256},  {1, 1, 1027},
      {2, 66, 1023},  {49, 9, 1025}, {75, 5, 1026}, {7, 33, 2051}, {1, 80, 2049}, {150, 3, 255}, {8, 1100, 300},
      {3, 600, 1050}, {9, 600, 70},  {2, 520, 31},  {0, 4, 300},   {4, 0, 300}};
  const int known = _i % 5, width = _i / 5;
  for (int d = 0; d < NUMBERS; d++) {
    runner r;
    if (width > 0 && !laze_dtype_is_float(dtypes[d])) continue;
    runner_open(&r, (uint64_t)(800 + d));
    build_matrix(&r, dtypes[d], known);
    if (runner_set_width(&r, width)) {
      runner_compile(&r);
      for (int s = 0; s < (int)(sizeof shapes / sizeof *shapes); s++) {
        if (known < 4) compare_matrix(&r, shapes[s], false, known % 2);
        if (known != 3) compare_matrix(&r, shapes[s], true, known == 1);
      }
    }
    runner_close(&r);
  }
}
END_TEST

/* Rows of a B that is another matrix's transpose: the code knows that B's k lie next to each other and, by bit 0 of
 * `known`, that A's do, by bit 1 that there is one row. */
static void build_rows(runner *r, laze_dtype dtype, int known) {
  laze_loop_kernel *k = &r->kernel;
  for (int b = 0; b < 3; b++) laze_loop_add_buffer(k, dtype, b == 2);
  int32_t size[8];
  for (int s = 0; s < 8; s++) size[s] = laze_loop_index_size(k, s);
  int32_t chunk = laze_loop_begin(k, laze_loop_index_constant(k, 1), LAZE_LOOP_RANGE);
  int32_t one = laze_loop_index_constant(k, 1);
  const int32_t operands[LAZE_LOOP_PRODUCT_FIXED] = {
      chunk, size[3], known & 1 ? one : size[4], chunk,   one,     size[5],
      chunk, size[6], known & 2 ? one : size[0], size[1], size[2], size[7]};
  const laze_loop_product product = {.b = 1, .c = 2};
  laze_loop_instruction matrix = {
      .code = LAZE_LOOP_MATRIX, .dtype = (uint8_t)dtype, .imm = laze_loop_pack_product(&product)};
  laze_loop_emit(k, matrix, operands, LAZE_LOOP_PRODUCT_FIXED);
  laze_loop_end(k);
}

/* What a factor's elements are. */
typedef enum { PLAIN, SPECIAL, TINY, MINUS_TINY } filling;

static void put(runner *r, int buffer, int64_t k, double value) {
  const laze_dtype dtype = r->kernel.buffers[buffer].dtype;
  laze_scalar_store(laze_scalar_real(value), dtype, r->interpreted[buffer], k);
  laze_scalar_store(laze_scalar_real(value), dtype, r->native[buffer], k);
}

static void refill(runner *r, int buffer, filling what) {
  static const double special[] = {NAN, INFINITY, -INFINITY, -0.0};
  const double tiny = r->kernel.buffers[buffer].dtype == LAZE_F32 ? 1e-30 : 1e-200;
  for (int64_t k = 0; k < r->lengths[buffer] && what >= TINY; k++) put(r, buffer, k, what == TINY ? tiny : -tiny);
  for (int s = 0; s < 4 && what == SPECIAL; s++) put(r, buffer, runner_below(r, r->lengths[buffer]), special[s]);
}

/* `padding` elements lie between the rows of each matrix, or between A's k; B begins with another column. */
static void compare_rows(runner *r, const int64_t shape[3], int64_t padding, bool across, const filling fill[2]) {
  const int64_t rows = shape[0], columns = shape[1], depth = shape[2], between = depth + padding;
  const int64_t sizes[8] = {rows,    columns,           depth, across ? 1 : between, across ? rows + padding : 1,
                            between, columns + padding, 1};
  for (int s = 0; s < 8; s++) r->sizes[s] = sizes[s];
  r->lengths[0] = across ? depth * (rows + padding) - padding : rows * between - padding;
  r->lengths[1] = (columns + 1) * between - padding;
  r->lengths[2] = rows * (columns + padding) - padding;
  runner_fill(r, false);
  for (int b = 0; b < 2; b++) refill(r, b, fill[b]);
  runner_compare(r, 0, 1);
}

/* Depths around one chain and blocks; columns around tiles of 4 and 8; rows around tiles, and more than go in tiles of
 * their own. Where all products are rounded to -0, a chain that has no k at the block's end must not become 0. */
START_TEST(test_rows) {
  static const int64_t depths[] = {255, 256, 257, 258, 1023, 1024, 1025, 1026, 1027, 2051};
  static const int64_t columns[] = {1, 3, 4, 5, 7, 8, 9, 31, 32, 33, 100},
                       rows[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17};
  static const filling fillings[][2] = {{PLAIN, PLAIN}, {SPECIAL, SPECIAL}, {TINY, MINUS_TINY}};
  enum { DEPTHS = sizeof depths / sizeof *depths, COLUMNS = sizeof columns / sizeof *columns };
  enum { ROWS = sizeof rows / sizeof *rows, FILLINGS = sizeof fillings / sizeof *fillings };
  const int known = _i % 4, width = _i / 4 % RUNNER_WIDTHS;
  const laze_dtype dtype = _i / 4 / RUNNER_WIDTHS ? LAZE_F64 : LAZE_F32;
  runner r;
  runner_open(&r, (uint64_t)(860 + _i));
  build_rows(&r, dtype, known);
  if (runner_set_width(&r, width)) {
    runner_compile(&r);
    for (int d = 0; d < DEPTHS; d++)
      for (int c = 0; c < COLUMNS; c++) {
        const int f = (c + d + _i) % FILLINGS;
        const int64_t shape[3] = {known & 2 ? 1 : rows[(c + 3 * d + _i) % ROWS], columns[c], depths[d]};
        compare_rows(&r, shape, f, !(known & 1) && f > 0, fillings[f]);
      }
  }
  runner_close(&r);
}
END_TEST

/* One column, which is computed as a row, and is not the first of B. */
START_TEST(test_column) {
  runner r;
  runner_open(&r, 850);
  laze_loop_kernel *k = &r.kernel;
  for (int b = 0; b < 3; b++) laze_loop_add_buffer(k, LAZE_F32, b == 2);
  int32_t size[4];
  for (int s = 0; s < 4; s++) size[s] = laze_loop_index_size(k, s);
  int32_t chunk = laze_loop_begin(k, laze_loop_index_constant(k, 1), LAZE_LOOP_RANGE);
  int32_t one = laze_loop_index_constant(k, 1);
  const int32_t operands[LAZE_LOOP_PRODUCT_FIXED] = {chunk, size[1], one,     chunk, size[3], one,
                                                     chunk, one,     size[0], one,   size[1], size[2]};
  const laze_loop_product product = {.b = 1, .c = 2};
  laze_loop_instruction matrix = {.code = LAZE_LOOP_MATRIX, .dtype = LAZE_F32, .imm = laze_loop_pack_product(&product)};
  laze_loop_emit(k, matrix, operands, LAZE_LOOP_PRODUCT_FIXED);
  laze_loop_end(k);
  runner_compile(&r);
  for (int64_t first = 0; first < 4; first += 3) {
    const int64_t sizes[] = {37, 300, first, 5}; /* rows, depth, the column, columns of B */
    for (int s = 0; s < 4; s++) r.sizes[s] = sizes[s];
    r.lengths[0] = sizes[0] * sizes[1];
    r.lengths[1] = sizes[1] * sizes[3];
    r.lengths[2] = sizes[0];
    runner_fill(&r, false);
    runner_compare(&r, 0, 1);
  }
  runner_close(&r);
}
END_TEST

/* Windows of an image [channels, height, width]: k = (channel * 3 + place) * 3 + place', column = row * across +
 * window. `known` says what the code knows of them: bit 0 that windows have a stride of 1, bit 1 that there are 3
 * places. Bit 2: columns go on through several images, [image, channels, height, width], and so do the result's,
 * [image, row, window]. */
enum { WINDOW_PLACES = 3, WINDOW_SIZES = 14 };
static void build_windows(runner *r, laze_dtype dtype, int known) {
  laze_loop_kernel *k = &r->kernel;
  for (int b = 0; b < 3; b++) laze_loop_add_buffer(k, dtype, b == 2);
  int32_t size[WINDOW_SIZES];
  for (int s = 0; s < WINDOW_SIZES; s++) size[s] = laze_loop_index_size(k, s);
  int32_t chunk = laze_loop_begin(k, laze_loop_index_constant(k, 1), LAZE_LOOP_RANGE);
  int32_t one = laze_loop_index_constant(k, 1), places = laze_loop_index_constant(k, WINDOW_PLACES);
  if (!(known & 2)) places = size[10];
  const int32_t images = known >> 2;
  const int32_t operands[] = {chunk,    size[2],  one,     chunk,   one,     known & 1 ? one : size[3],
                              chunk,    size[9],  size[0], size[1], size[2], size[4],
                              places,   size[5],  places,  size[6], size[7], size[8],
                              size[11], size[12], size[9], size[13]};
  const int32_t count = (int32_t)(sizeof operands / sizeof *operands) - (images ? 0 : 4);
  const laze_loop_product product = {
      .b = 1, .c = 2, .depth_digits = 2, .column_digits = 1 + images, .result_digits = images};
  laze_loop_instruction matrix = {
      .code = LAZE_LOOP_MATRIX, .dtype = (uint8_t)dtype, .imm = laze_loop_pack_product(&product)};
  laze_loop_emit(k, matrix, operands, count);
  laze_loop_end(k);
}

typedef struct {
  int64_t rows, channels, down, across, stride, first; /* down, across: windows; first: a column */
} windowed;

static void compare_windows(runner *r, windowed w, int64_t images) {
  const int64_t width = (w.across - 1) * w.stride + WINDOW_PLACES, height = (w.down - 1) * w.stride + WINDOW_PLACES;
  const int64_t windows = w.down * w.across, depth = w.channels * WINDOW_PLACES * WINDOW_PLACES;
  const int64_t columns = images * windows - w.first, image = w.channels * width * height;
  const int64_t sizes[WINDOW_SIZES] = {w.rows,           columns, depth,          w.stride,
                                       w.first,          width,   width * height, w.across,
                                       width * w.stride, windows, /* elements of a row of the result */
                                       WINDOW_PLACES,    w.down,  image,          w.rows * windows};
  for (int s = 0; s < WINDOW_SIZES; s++) r->sizes[s] = sizes[s];
  r->lengths[0] = w.rows * depth;
  r->lengths[1] = images * image;
  r->lengths[2] = images * w.rows * windows;
  runner_fill(r, false);
  runner_compare(r, 0, 1);
}

START_TEST(test_windows) {
  /* Runs shorter than a register, longer ones, longer ones than a panel; a first column within a run. */
  static const windowed shapes[] = {{1, 1, 1, 1, 1, 0},   {5, 2, 7, 7, 1, 0},     {7, 3, 2, 70, 1, 0},
                                    {50, 30, 5, 9, 1, 3}, {3, 1, 9, 1, 1, 4},     {75, 120, 3, 17, 1, 0},
                                    {4, 0, 3, 3, 1, 0},   {2, 40, 1, 130, 1, 65}, {13, 1, 20, 16, 1, 15}};
  const int known = _i % 8, width = _i / 8;
  for (int d = 0; d < NUMBERS; d++) {
    runner r;
    if (width > 0 && !laze_dtype_is_float(dtypes[d])) continue;
    runner_open(&r, (uint64_t)(900 + d));
    build_windows(&r, dtypes[d], known);
    if (runner_set_width(&r, width)) {
      runner_compile(&r);
      for (int s = 0; s < (int)(sizeof shapes / sizeof *shapes); s++) {
        windowed w = shapes[s];
        const int64_t images = known & 4 ? 5 : 1;
        compare_windows(&r, w, images);
        w.stride = 2;
        if (!(known & 1)) compare_windows(&r, w, images);
      }
    }
    runner_close(&r);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("llvm_product");
  TCase *tests = tcase_create("native against interpreted");
  tcase_set_timeout(tests, 120);
  tcase_add_loop_test(tests, test_matrix, 0, 5 * RUNNER_WIDTHS);
  tcase_add_loop_test(tests, test_rows, 0, 2 * 4 * RUNNER_WIDTHS);
  tcase_add_test(tests, test_column);
  tcase_add_loop_test(tests, test_windows, 0, 8 * RUNNER_WIDTHS);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}

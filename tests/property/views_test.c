/* Random programs of views, views of views, writes through any of them, reads and releases, against a model that has
 * strides and memory (strided_model.h). Each program runs twice: once every tensor is computed after each operation,
 * once nothing is computed before the end, and then in random order. Both have to agree with the model wherever they
 * look, and to refuse the same writes. */
#include "laze/autograd.h"
#include "laze/tensor.h"
#include "tests/property/strided_model.h"
#include "tests/support/backends.h"
#include "tests/support/random.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MOST_TENSORS = 9, OPERATIONS = 14 };

typedef struct {
  laze_tensor *tensor;
  model_tensor model;
  bool whole; /* made with memory of its own, all of which it is */
  int name;
} entry;

typedef struct {
  laze_context *context;
  laze_scope *scope;
  test_random random, order; /* what is done, and in which order it is looked at */
  bool at_once;
  entry entries[MOST_TENSORS];
  int count, names;
  double next; /* number to fill new tensors with */
  char log[8000], fault[400];
  size_t written;
} program;

static int64_t below(program *self, int64_t bound) {
  return test_random_below(&self->random, bound);
}

__attribute__((format(printf, 2, 3))) static void say(program *self, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const size_t left = sizeof self->log - self->written;
  const int size = vsnprintf(self->log + self->written, left, format, arguments);
  va_end(arguments);
  if (size > 0 && (size_t)size < left) self->written += (size_t)size;
}

static void say_list(program *self, const int64_t *items, int count) {
  for (int i = 0; i < count; i++) say(self, "%s%lld", i == 0 ? "[" : ",", (long long)items[i]);
  say(self, count == 0 ? "[]" : "]");
}

__attribute__((format(printf, 2, 3))) static void blame(program *self, const char *format, ...) {
  va_list arguments;
  if (self->fault[0]) return;
  va_start(arguments, format);
  vsnprintf(self->fault, sizeof self->fault, format, arguments);
  va_end(arguments);
}

/* --- tensors --- */

static void look_at(program *self, const entry *e) {
  double expected[2 * MODEL_MAX_ELEMENTS], got[2 * MODEL_MAX_ELEMENTS];
  const int64_t parts = model_elements(&e->model) * model_parts(&e->model);
  const laze_dtype dtype = e->model.dtype == MODEL_C64 ? LAZE_C128 : LAZE_F64;
  if (self->fault[0]) return;
  model_read(&e->model, expected);
  if (laze_tensor_rank(e->tensor) != e->model.rank) blame(self, "t%d has another rank", e->name);
  for (int i = 0; i < e->model.rank; i++)
    if (laze_tensor_size(e->tensor, i) != e->model.sizes[i]) blame(self, "t%d has another size of dim %d", e->name, i);
  if (laze_tensor_read(e->tensor, dtype, got, (size_t)parts * sizeof *got) != LAZE_OK)
    blame(self, "t%d: %s", e->name, laze_tensor_error(e->tensor));
  for (int64_t i = 0; i < parts && !self->fault[0]; i++)
    if (got[i] != expected[i])
      blame(self, "t%d: number %lld is %g, expected %g", e->name, (long long)i, got[i], expected[i]);
}

static void drop(program *self, int index) {
  laze_tensor_release(self->entries[index].tensor);
  model_release(&self->entries[index].model);
  self->entries[index] = self->entries[--self->count];
}

/* Takes both over. */
static void add_entry(program *self, laze_tensor *tensor, model_tensor model, bool whole) {
  if (self->count == MOST_TENSORS) drop(self, (int)below(self, MOST_TENSORS));
  entry *e = &self->entries[self->count++];
  *e = (entry){laze_tensor_take(tensor), model, whole, self->names++};
  say(self, "  -> t%d ", e->name);
  say_list(self, model.sizes, model.rank);
  if (laze_tensor_status(tensor) != LAZE_OK) blame(self, "t%d: %s", e->name, laze_tensor_error(tensor));
  if (self->at_once) look_at(self, e);
}

static entry *any(program *self) {
  return &self->entries[below(self, self->count)];
}

static void make_tensor(program *self) {
  static const laze_dtype dtypes[] = {LAZE_F32, LAZE_I32, LAZE_C64};
  const model_dtype dtype = test_random_one_in(&self->random, 3) ? (model_dtype)below(self, 3) : MODEL_F32;
  const int rank = (int)below(self, 4);
  int64_t sizes[MODEL_MAX_RANK];
  for (int i = 0; i < rank; i++) sizes[i] = test_random_one_in(&self->random, 12) ? 0 : 1 + below(self, 5);
  model_tensor model = model_create(dtype, rank, sizes);
  float data[2 * MODEL_MAX_ELEMENTS];
  int32_t integers[MODEL_MAX_ELEMENTS];
  for (int32_t i = 0; i < model.memory->count; i++) {
    self->next += dtype == MODEL_I32 ? 1 : 0.5;
    if (dtype == MODEL_I32) self->next = (double)(int64_t)self->next;
    model.memory->parts[i] = self->next;
    data[i] = (float)self->next;
    if (dtype == MODEL_I32) integers[i] = (int32_t)self->next;
  }
  const void *bytes = dtype == MODEL_I32 ? (const void *)integers : data;
  say(self, "\nnew %s", dtype == MODEL_F32 ? "f32" : dtype == MODEL_I32 ? "i32" : "c64");
  add_entry(self,
            laze_tensor_from_data(self->context, dtypes[dtype], (laze_ints){sizes, rank}, bytes,
                                  (size_t)model.memory->count * sizeof *data),
            model, true);
}

/* --- calls --- */

static laze_argument tensor_of(const entry *e) {
  return (laze_argument){.kind = LAZE_PASS_TENSOR, .value.tensor = e->tensor};
}
static laze_argument number(int64_t value) {
  return (laze_argument){.kind = LAZE_PASS_INTEGER, .value.integer = value};
}
static laze_argument list(const int64_t *items, int count) {
  return (laze_argument){.kind = LAZE_PASS_INTEGERS, .count = count, .value.integers = items};
}

static laze_tensor *call(program *self, const char *name, const laze_argument *arguments, int count) {
  laze_tensor *result = NULL;
  (void)laze_call_by_name(self->context, name, arguments, count, &result, 1);
  return result;
}
#define CALL(self, name, ...)                                                                                          \
  call(self, name, (laze_argument[]){__VA_ARGS__}, sizeof((laze_argument[]){__VA_ARGS__}) / sizeof(laze_argument))

/* --- views --- */

static bool is_too_large(const int64_t *sizes, int rank) {
  int64_t elements = 1;
  for (int i = 0; i < rank; i++) elements *= sizes[i];
  return elements > MODEL_MAX_ELEMENTS;
}

static void view_slice(program *self, const entry *e) {
  if (e->model.rank == 0) return;
  const int dim = (int)below(self, e->model.rank);
  const int64_t size = e->model.sizes[dim], start = below(self, size + 1), end = start + below(self, size - start + 1);
  const int64_t step = 1 + below(self, 3);
  say(self, "\nslice t%d %d %lld:%lld:%lld", e->name, dim, (long long)start, (long long)end, (long long)step);
  add_entry(self, CALL(self, "slice", tensor_of(e), number(dim), number(start), number(end), number(step)),
            model_slice(&e->model, dim, start, end, step), false);
}

static void view_permute(program *self, const entry *e) {
  int64_t dims[MODEL_MAX_RANK];
  for (int i = 0; i < e->model.rank; i++) {
    const int64_t place = below(self, i + 1);
    dims[i] = dims[place];
    dims[place] = i;
  }
  say(self, "\npermute t%d ", e->name);
  say_list(self, dims, e->model.rank);
  add_entry(self, CALL(self, "permute", tensor_of(e), list(dims, e->model.rank)), model_permute(&e->model, dims),
            false);
}

static void view_unsqueeze(program *self, const entry *e) {
  if (e->model.rank + 1 >= MODEL_MAX_RANK) return;
  const int dim = (int)below(self, e->model.rank + 1);
  say(self, "\nunsqueeze t%d %d", e->name, dim);
  add_entry(self, CALL(self, "unsqueeze", tensor_of(e), number(dim)), model_unsqueeze(&e->model, dim), false);
}

static void view_select(program *self, const entry *e) {
  const int dim = e->model.rank == 0 ? 0 : (int)below(self, e->model.rank);
  if (e->model.rank == 0 || e->model.sizes[dim] == 0) return;
  const int64_t index = below(self, e->model.sizes[dim]);
  say(self, "\nselect t%d %d %lld", e->name, dim, (long long)index);
  add_entry(self, CALL(self, "select", tensor_of(e), number(dim), number(index)), model_select(&e->model, dim, index),
            false);
}

static void view_expand(program *self, const entry *e) {
  const int added = e->model.rank + 1 < MODEL_MAX_RANK - 1 ? (int)below(self, 2) : 0;
  int64_t sizes[MODEL_MAX_RANK];
  for (int i = 0; i < added; i++) sizes[i] = 1 + below(self, 2);
  for (int i = 0; i < e->model.rank; i++)
    sizes[added + i] = e->model.sizes[i] == 1 ? 1 + below(self, 3) : e->model.sizes[i];
  if (is_too_large(sizes, added + e->model.rank)) return;
  say(self, "\nexpand t%d ", e->name);
  say_list(self, sizes, added + e->model.rank);
  add_entry(self, CALL(self, "expand", tensor_of(e), list(sizes, added + e->model.rank)),
            model_expand(&e->model, added + e->model.rank, sizes), false);
}

static void view_diagonal(program *self, const entry *e) {
  if (e->model.rank < 2) return;
  const int dim1 = (int)below(self, e->model.rank);
  const int dim2 = (dim1 + 1 + (int)below(self, e->model.rank - 1)) % e->model.rank;
  const int64_t offset = below(self, 5) - 2;
  say(self, "\ndiagonal t%d %lld %d %d", e->name, (long long)offset, dim1, dim2);
  add_entry(self, CALL(self, "diagonal", tensor_of(e), number(offset), number(dim1), number(dim2)),
            model_diagonal(&e->model, offset, dim1, dim2), false);
}

static void view_unfold(program *self, const entry *e) {
  if (e->model.rank == 0 || e->model.rank + 1 >= MODEL_MAX_RANK) return;
  const int dim = (int)below(self, e->model.rank);
  if (e->model.sizes[dim] == 0) return;
  const int64_t size = 1 + below(self, e->model.sizes[dim]), step = 1 + below(self, 3);
  if (model_elements(&e->model) * size > MODEL_MAX_ELEMENTS) return;
  say(self, "\nunfold t%d %d %lld %lld", e->name, dim, (long long)size, (long long)step);
  add_entry(self, CALL(self, "unfold", tensor_of(e), number(dim), number(size), number(step)),
            model_unfold(&e->model, dim, size, step), false);
}

/* Of the memory of a tensor that is there: of one that is gone, laze does not have it. */
static void view_as_strided(program *self, const entry *e) {
  bool found = false;
  for (int i = 0; i < self->count; i++)
    found |= self->entries[i].model.memory == e->model.memory && self->entries[i].whole &&
             self->entries[i].model.dtype == e->model.dtype;
  const int64_t elements = e->model.memory->count / model_parts(&e->model);
  if (!found || elements == 0) return;
  const int rank = (int)below(self, 4);
  int64_t sizes[3], strides[3], left = elements - 1;
  const int64_t offset = below(self, elements);
  left -= offset;
  for (int i = 0; i < rank; i++) {
    strides[i] = below(self, 5);
    sizes[i] = 1 + below(self, strides[i] == 0 ? 3 : left / strides[i] + 1);
    left -= (sizes[i] - 1) * strides[i];
  }
  if (is_too_large(sizes, rank)) return;
  say(self, "\nas_strided t%d ", e->name);
  say_list(self, sizes, rank);
  say_list(self, strides, rank);
  say(self, " %lld", (long long)offset);
  add_entry(self, CALL(self, "as_strided", tensor_of(e), list(sizes, rank), list(strides, rank), number(offset)),
            model_as_strided(&e->model, rank, sizes, strides, offset), false);
}

static void view_part(program *self, const entry *e) {
  if (e->model.dtype != MODEL_C64) return;
  const int which = (int)below(self, e->model.rank + 1 < MODEL_MAX_RANK ? 3 : 2);
  static const char *const names[] = {"real", "imag", "view_as_real"};
  say(self, "\n%s t%d", names[which], e->name);
  add_entry(self, CALL(self, names[which], tensor_of(e)),
            which == 2 ? model_view_as_real(&e->model) : model_part(&e->model, which), false);
}

/* Sizes with the same product: two neighbours joined, or one cut in two. */
static int other_sizes(program *self, const model_tensor *model, int64_t *sizes) {
  int rank = model->rank;
  memcpy(sizes, model->sizes, sizeof model->sizes);
  if (rank > 1 && test_random_one_in(&self->random, 2)) {
    const int dim = (int)below(self, rank - 1);
    sizes[dim] *= sizes[dim + 1];
    for (int i = dim + 1; i + 1 < rank; i++) sizes[i] = sizes[i + 1];
    return rank - 1;
  }
  if (rank == 0 || rank + 1 >= MODEL_MAX_RANK) return rank;
  const int dim = (int)below(self, rank);
  const int64_t first = 1 + below(self, sizes[dim] + 1), rest = sizes[dim] / first;
  if (first * rest != sizes[dim]) return rank;
  for (int i = rank; i > dim + 1; i--) sizes[i] = sizes[i - 1];
  sizes[dim] = first;
  sizes[dim + 1] = rest;
  return rank + 1;
}

/* reshape copies where view refuses. */
static void view_reshape(program *self, const entry *e) {
  int64_t sizes[MODEL_MAX_RANK];
  const int rank = other_sizes(self, &e->model, sizes);
  const char *name = test_random_one_in(&self->random, 2) ? "view" : "reshape";
  bool is_view;
  model_tensor model = model_reshape(&e->model, rank, sizes, &is_view);
  say(self, "\n%s t%d ", name, e->name);
  say_list(self, sizes, rank);
  laze_tensor *tensor = CALL(self, name, tensor_of(e), list(sizes, rank));
  if (is_view || name[0] == 'r') {
    add_entry(self, tensor, model, !is_view);
    return;
  }
  model_release(&model);
  if (laze_tensor_status(tensor) == LAZE_OK) blame(self, "view did not refuse what is a copy");
}

static void view_whole(program *self, const entry *e) {
  static const char *const names[] = {"alias", "contiguous", "detach", "clone"};
  const int which = (int)below(self, 4);
  const bool copies = which == 3 || (which == 1 && !model_is_contiguous(&e->model));
  model_tensor model = copies ? model_create(e->model.dtype, e->model.rank, e->model.sizes) : model_retain(&e->model);
  if (copies) model_write(&model, &e->model);
  say(self, "\n%s t%d", names[which], e->name);
  add_entry(self, which == 2 ? laze_detach(e->tensor) : CALL(self, names[which], tensor_of(e)), model, copies);
}

static void view_several(program *self, const entry *e) {
  const int dim = e->model.rank == 0 ? 0 : (int)below(self, e->model.rank);
  if (e->model.rank == 0 || e->model.sizes[dim] == 0) return;
  const int64_t size = e->model.sizes[dim], each = 1 + below(self, size), parts = (size + each - 1) / each;
  const model_tensor model = model_retain(&e->model); /* adding one may drop the entry */
  laze_tensor *results[MODEL_MAX_ELEMENTS];
  const bool unbinds = test_random_one_in(&self->random, 2);
  laze_argument arguments[] = {tensor_of(e), number(unbinds ? dim : each), number(dim)};
  say(self, "\n%s t%d %lld dim %d", unbinds ? "unbind" : "split", e->name, (long long)each, dim);
  const int32_t count = laze_call_by_name(self->context, unbinds ? "unbind" : "split", arguments, unbinds ? 2 : 3,
                                          results, MODEL_MAX_ELEMENTS);
  if (count != (unbinds ? size : parts)) blame(self, "there are %d parts", (int)count);
  for (int32_t i = 0; i < count && i < 3 && !self->fault[0]; i++) {
    const int64_t end = (i + 1) * each < size ? (i + 1) * each : size;
    add_entry(self, results[i], unbinds ? model_select(&model, dim, i) : model_slice(&model, dim, i * each, end, 1),
              false);
  }
  model_tensor held = model;
  model_release(&held);
}

/* --- values --- */

static void compute(program *self) {
  const entry *e = any(self);
  model_tensor model = model_create(e->model.dtype, e->model.rank, e->model.sizes);
  model_write(&model, &e->model);
  for (int32_t i = 0; i < model.memory->count; i++) model.memory->parts[i] = -model.memory->parts[i];
  say(self, "\nneg t%d", e->name);
  add_entry(self, CALL(self, "neg", tensor_of(e)), model, true);
}

/* What can be written to the destination: any tensor that broadcasts, and keeps its numbers. */
static const entry *find_source(program *self, const entry *to) {
  const int first = (int)below(self, self->count);
  for (int i = 0; i < self->count; i++) {
    const entry *from = &self->entries[(first + i) % self->count];
    const bool fits = from->model.dtype != MODEL_C64 || to->model.dtype == MODEL_C64;
    if (from != to && fits && model_broadcasts(&from->model, &to->model)) return from;
  }
  return NULL;
}

static bool same_type(const model_tensor *a, const model_tensor *b) {
  return a->dtype == b->dtype && a->rank == b->rank &&
         memcmp(a->sizes, b->sizes, (size_t)a->rank * sizeof *a->sizes) == 0;
}

static void write_somewhere(program *self) {
  const entry *to = any(self), *from = find_source(self, to);
  laze_error error;
  if (!from) return;
  const bool assigns = same_type(&to->model, &from->model) && test_random_one_in(&self->random, 4);
  say(self, "\n%s t%d to t%d", assigns ? "assign" : "write", from->name, to->name);
  const laze_status status = assigns ? laze_tensor_assign_error(to->tensor, from->tensor, &error)
                                     : laze_tensor_write(to->tensor, from->tensor, &error);
  const bool injective = model_is_injective(&to->model);
  if (status == LAZE_OK && !injective) blame(self, "a write to elements that share places was not refused");
  /* as_strided can have strides of which laze does not see that they share nothing */
  if (status != LAZE_OK && !strstr(error.message, "one place")) blame(self, "%s", error.message);
  if (status != LAZE_OK) say(self, " refused");
  if (status == LAZE_OK) model_write(&to->model, &from->model);
  for (int i = 0; i < self->count && self->at_once; i++) look_at(self, &self->entries[i]);
}

/* --- programs --- */

static void do_something(program *self) {
  static void (*const views[])(program * self, const entry *e) = {
      view_slice,  view_permute, view_unsqueeze,  view_select, view_expand, view_diagonal,
      view_unfold, view_reshape, view_as_strided, view_part,   view_whole,  view_several};
  enum { VIEWS = sizeof views / sizeof *views };
  const int64_t choice = below(self, 20);
  if (self->count == 0 || choice == 0)
    make_tensor(self);
  else if (choice < 11)
    views[below(self, VIEWS)](self, any(self));
  else if (choice < 18)
    write_somewhere(self);
  else if (choice == 18)
    compute(self);
  else if (test_random_one_in(&self->random, 3)) {
    say(self, "\nstep");
    if (laze_step_end(self->scope, NULL) != LAZE_OK) blame(self, "the step failed");
    self->scope = laze_scope_begin(self->context);
  } else {
    say(self, "\nrelease");
    const int index = (int)below(self, self->count);
    say(self, " t%d", self->entries[index].name);
    drop(self, index);
  }
}

static void run(program *self, uint64_t seed) {
  self->scope = laze_scope_begin(self->context);
  for (int i = 0; i < OPERATIONS && !self->fault[0]; i++) do_something(self);
  while (self->count > 0) {
    const int index = (int)test_random_below(&self->order, self->count);
    look_at(self, &self->entries[index]);
    drop(self, index);
  }
  (void)laze_scope_end(self->scope); /* views that were refused are its errors */
  ck_assert_msg(!self->fault[0], "seed %llu%s: %s\n%s", (unsigned long long)seed,
                self->at_once ? ", computed at once" : "", self->fault, self->log);
}

/* Runs programs on a backend; the context is the caller's. */
static laze_context *run_programs(const char *backend, int64_t programs) {
  const uint64_t first = (uint64_t)test_setting("LAZE_TEST_SEED", 20261129);
  laze_context_options options = {
      .struct_size = sizeof options, .backend = backend, .cache_directory = "", .threads = 1};
  program *self = calloc(1, sizeof *self);
  laze_context *context;
  ck_assert_int_eq(laze_context_create(&options, &context, NULL), LAZE_OK);
  for (int64_t i = 0; i < programs; i++) {
    const uint64_t seed = first + (uint64_t)i;
    for (int at_once = 0; at_once < 2; at_once++) {
      *self =
          (program){.context = context, .random = {.state = seed}, .order = {.state = ~seed}, .at_once = at_once == 1};
      run(self, seed);
    }
  }
  free(self);
  return context;
}

START_TEST(programs_of_views_agree_with_strides) {
  laze_context_release(run_programs("interp", test_count(10000)));
}
END_TEST

/* Kernels write a part of a value where it is if nobody else needs it, and of a copy otherwise: both has to be seen, or
 * the programs say nothing of which is right when. */
START_TEST(row_5_17_writes_to_what_earlier_graphs_computed_agree) {
  int64_t donated, copies;
  enum { FEWEST = 60 }; /* in which both are seen */
  const int64_t programs = test_count(200);
  laze_context *context = run_programs(laze_backend_at(_i)->name, programs > FEWEST ? programs : FEWEST);
  ck_assert_int_eq(laze_metric_read(context, "buffers_donated", &donated, NULL), LAZE_OK);
  ck_assert_int_eq(laze_metric_read(context, "write_copies", &copies, NULL), LAZE_OK);
  if (test_fuses(laze_backend_at(_i))) {
    ck_assert_int_gt(donated, 0);
    ck_assert_int_gt(copies, 0);
  }
  laze_context_release(context);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("views");
  TCase *group = tcase_create("views");
  tcase_set_timeout(group, 3600);
  tcase_add_test(group, programs_of_views_agree_with_strides);
  tcase_add_loop_test(group, row_5_17_writes_to_what_earlier_graphs_computed_agree, 0, test_backend_count());
  suite_add_tcase(suite, group);
  return test_run_suite(suite);
}

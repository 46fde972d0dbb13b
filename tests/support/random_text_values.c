/* Statements of random modules that go by way of something else than an f32[n]:
 *
 *   %v1m = masked_select %a, %v1c      f32[u], used here, later, and in regions
 *   %v1r = sum %v1m                    f32[]
 *   %v1 = add %b, %v1r                 f32[n] again
 */
#include "laze/opaque.h"
#include "tests/support/random_text_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a statement defines is called after its result: "%v7" and "%v7m". */
#define EMIT(...) (indent(w, depth), laze_text_format(&w->text, __VA_ARGS__))

static void define_ragged(writer *w, scope *s, const char *name, const char *suffix) {
  int at = s->ragged_count < MOST_RAGGED ? s->ragged_count++ : below(w, MOST_RAGGED);
  snprintf(s->ragged[at], NAME, "%.8s%s", name, suffix);
}

static void write_masked_select(writer *w, scope *s, const char *name, int depth) {
  static const char *const unary[] = {"neg", "abs", "relu", "ceil"};
  EMIT("%sc = lt %s, %s\n", name, any(w, s), any(w, s));
  EMIT("%sm = masked_select %s, %sc\n", name, any(w, s), name);
  EMIT("%su = %s %sm\n", name, unary[below(w, 4)], name);
  define_ragged(w, s, name, below(w, 2) ? "m" : "u");
  EMIT("%sr = sum %su\n", name, name);
  EMIT("%s = add %s, %sr\n", name, any(w, s), name);
}

static void write_nonzero(writer *w, scope *s, const char *name, int depth) {
  EMIT("%sz = nonzero %s\n", name, any(w, s));
  EMIT("%si = reshape %sz, shape=[-1]\n", name, name);
  if (below(w, 2))
    EMIT("%sg = index_select %s, %si, dim=0\n", name, any(w, s), name);
  else
    EMIT("%sg = index %s, [%si]\n", name, any(w, s), name);
  define_ragged(w, s, name, "g");
  EMIT("%sr = sum %sg, dim=[0], keepdim=true\n", name, name);
  EMIT("%s = sub %s, %sr\n", name, any(w, s), name);
}

/* A count as a size: by `size_from`, or in the place of the size. */
static void write_size(writer *w, scope *s, const char *name, int depth) {
  EMIT("%sc = gt %s, %s\n", name, any(w, s), any(w, s));
  EMIT("%sn = sum %sc\n", name, name);
  bool named = below(w, 2);
  char size[2 * NAME];
  snprintf(size, sizeof size, named ? "u_%s" : "%%%sn", name + 1);
  if (named) EMIT("%sd = size_from %sn, size=%s, low=0, high=%d\n", name, name, size, w->size);
  switch (below(w, 4)) {
  case 0: EMIT("%ss = slice %s, end=%s\n", name, any(w, s), size); break;
  case 1: EMIT("%ss = slice %s, start=%s\n", name, any(w, s), size); break;
  case 2: EMIT("%ss = full size=[%s], fill_value=0.5\n", name, size); break;
  default: EMIT("%ss = iota size=[%s], dtype=f32\n", name, size);
  }
  define_ragged(w, s, name, "s");
  EMIT("%sr = sum %ss\n", name, name);
  EMIT("%s = add %sr, %s\n", name, name, any(w, s));
}

/* Of one value of an unknown size, that another statement made. */
static void write_ragged(writer *w, scope *s, const char *name, int depth) {
  const char *ragged = s->ragged[below(w, s->ragged_count)];
  EMIT("%so = mul %s, %s\n", name, ragged, ragged);
  EMIT("%sr = sum %so\n", name, name);
  EMIT("%s = maximum %sr, %s\n", name, name, any(w, s));
}

/* A list of indices in which some are absent. */
static void write_index(writer *w, scope *s, const char *name, int depth) {
  EMIT("%si = iota size=[%d], dtype=i64\n", name, w->size);
  EMIT("%sj = neg %si\n", name, name); /* from the back */
  if (below(w, 2)) {
    EMIT("%se = unsqueeze %s, dim=0\n", name, any(w, s));
    EMIT("%sx = index %se, [none, %sj]\n", name, name, name);
    EMIT("%s = reshape %sx, shape=[-1]\n", name, name);
  } else {
    EMIT("%s = index_put %s, [%sj], %s\n", name, any(w, s), name, any(w, s));
  }
}

static void write_histogram(writer *w, scope *s, const char *name, int depth) {
  EMIT("%sk:2 = histogram %s, bins=%d, range=[-2.0, 2.0]\n", name, any(w, s), 1 + below(w, 4));
  EMIT("%sm = amax %sk#0\n", name, name);
  EMIT("%s = sub %s, %sm\n", name, any(w, s), name);
}

static void write_kernel(writer *w, scope *s, const char *name, int depth) {
  if (below(w, 2)) {
    EMIT("%s = opaque [%s], name=\"scale\", reals=[0.5], integers=[%d], strings=[\"a\"]\n", name, any(w, s),
         below(w, 3));
    return;
  }
  EMIT("%sk:2 = opaque [%s, %s], name=\"pair\"\n", name, any(w, s), any(w, s));
  EMIT("%s = neg %sk#0\n", name, name);
}

/* Of a function's two results one, and their sum. */
static void write_call(writer *w, scope *s, const char *name, int depth) {
  EMIT("%sk:2 = call @f%d %s, %s\n", name, below(w, w->functions), any(w, s), any(w, s));
  EMIT("%s = %s %sk#0, %sk#1\n", name, below(w, 2) ? "add" : "maximum", name, name);
}

void test_text_write_value(writer *w, scope *s, int depth) {
  typedef void (*write)(writer *, scope *, const char *, int);
  static const write of_sizes[] = {write_masked_select, write_nonzero, write_size};
  static const write others[] = {write_index, write_histogram, write_kernel};
  char name[NAME];
  snprintf(name, sizeof name, "%%v%d", w->next++);
  if (s->ragged_count > 0 && below(w, 4) == 0)
    write_ragged(w, s, name, depth);
  else if (w->functions > 0 && below(w, 4) == 0)
    write_call(w, s, name, depth);
  else if (below(w, 2) == 0)
    of_sizes[below(w, 3)](w, s, name, depth);
  else
    others[below(w, 3)](w, s, name, depth);
  test_text_define(s, name);
}

/* The first operand, times the first of the real numbers. */
static laze_status scale(void *self, const laze_opaque_call *call, laze_error *error) {
  const float *from = call->operands[0].data;
  float *to = call->results[0].data, factor = call->reals.count ? (float)call->reals.items[0] : 1;
  int64_t count = 1;
  (void)self, (void)error;
  for (int32_t i = 0; i < call->operands[0].rank; i++) count *= call->operands[0].sizes[i];
  for (int64_t i = 0; i < count; i++) to[i] = from[i] * factor;
  return LAZE_OK;
}

/* A result like the first operand, and an absent one. */
static laze_status infer_pair(void *self, const laze_opaque_call *call, laze_opaque_type *results, laze_error *error) {
  (void)self, (void)error;
  results[0].dtype = call->operands[0].dtype;
  results[0].rank = call->operands[0].rank;
  for (int32_t i = 0; i < results[0].rank; i++) results[0].sizes[i] = call->operands[0].sizes[i];
  results[1].dtype = LAZE_DTYPE_NONE;
  return LAZE_OK;
}

void test_register_kernels(laze_context *context) {
  laze_opaque_options one = {.struct_size = sizeof one, .name = "scale", .run = scale};
  laze_opaque_options two = {
      .struct_size = sizeof two, .name = "pair", .result_count = 2, .infer = infer_pair, .run = scale};
  laze_error error;
  if (laze_opaque_register(context, &one, &error) == LAZE_OK && laze_opaque_register(context, &two, &error) == LAZE_OK)
    return;
  fprintf(stderr, "kernels for tests: %s\n", error.message);
  exit(1);
}

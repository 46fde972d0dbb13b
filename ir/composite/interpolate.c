/* One name for all ways to another size: which operator it is, by the word and by how many dims there are.
 *
 *   interpolate x [n, c, h, w], scale_factor=[2.0], mode="bilinear"     upsample_bilinear2d.vec x, none, false, [2, 2]
 */
#include "ir/composite/resampling.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

#include <string.h>

typedef struct {
  const char *mode;
  bool aligns;                                    /* takes align_corners */
  laze_op ops[LAZE_MAX_WINDOW_DIMS], antialiased; /* by dims; LAZE_OP_NONE: there is none */
} way;

static const way ways[] = {
    {"nearest",
     false,
     {LAZE_OP_UPSAMPLE_NEAREST1D_VEC, LAZE_OP_UPSAMPLE_NEAREST2D_VEC, LAZE_OP_UPSAMPLE_NEAREST3D_VEC},
     LAZE_OP_NONE},
    {"nearest-exact",
     false,
     {LAZE_OP__UPSAMPLE_NEAREST_EXACT1D_VEC, LAZE_OP__UPSAMPLE_NEAREST_EXACT2D_VEC,
      LAZE_OP__UPSAMPLE_NEAREST_EXACT3D_VEC},
     LAZE_OP_NONE},
    {"linear", true, {LAZE_OP_UPSAMPLE_LINEAR1D_VEC, LAZE_OP_NONE, LAZE_OP_NONE}, LAZE_OP_NONE},
    {"bilinear",
     true,
     {LAZE_OP_NONE, LAZE_OP_UPSAMPLE_BILINEAR2D_VEC, LAZE_OP_NONE},
     LAZE_OP__UPSAMPLE_BILINEAR2D_AA_VEC},
    {"bicubic", true, {LAZE_OP_NONE, LAZE_OP_UPSAMPLE_BICUBIC2D_VEC, LAZE_OP_NONE}, LAZE_OP__UPSAMPLE_BICUBIC2D_AA_VEC},
    {"trilinear", true, {LAZE_OP_NONE, LAZE_OP_NONE, LAZE_OP_UPSAMPLE_TRILINEAR3D_VEC}, LAZE_OP_NONE},
    {"area",
     false,
     {LAZE_OP_ADAPTIVE_AVG_POOL1D, LAZE_OP_ADAPTIVE_AVG_POOL2D, LAZE_OP_ADAPTIVE_AVG_POOL3D},
     LAZE_OP_NONE},
};

typedef struct {
  laze_recorder *recorder;
  const laze_call *call;
  const way *chosen;
  laze_type input;
  int dims;
  laze_size sizes[LAZE_MAX_WINDOW_DIMS];
  double scales[LAZE_MAX_WINDOW_DIMS];
  laze_error *error;
} interpolation;

static bool is_set(const laze_attribute *attribute) {
  return attribute->present && attribute->value.integer != 0;
}

static laze_status refuse(const interpolation *p) {
  const laze_inference inference = {p->recorder->sizes, laze_compose_name(p->call), p->error};
  return laze_fail(p->error, LAZE_INVALID_ARGUMENT,
                   "%s: got %s, mode \"%s\"; expected 3 to 5 dims, of which the first two stay; a size or a scale for "
                   "each of the others, and not both (recompute_scale_factor: a scale); and mode "
                   "\"nearest\", \"nearest-exact\" or \"area\", or with align_corners if need be \"linear\" (3 dims), "
                   "\"bilinear\" or \"bicubic\" (4 dims, which may be with antialias) or \"trilinear\" (5 dims)",
                   inference.operator_name, laze_show(&inference, &p->input).text,
                   p->call->attributes[LAZE_INTERPOLATE_MODE].value.string);
}

static laze_op find_operator(interpolation *p) {
  const laze_attribute *attributes = p->call->attributes;
  for (size_t i = 0; i < sizeof ways / sizeof *ways && p->dims >= 1 && p->dims <= LAZE_MAX_WINDOW_DIMS; i++) {
    if (strcmp(ways[i].mode, attributes[LAZE_INTERPOLATE_MODE].value.string) != 0) continue;
    p->chosen = &ways[i];
    if (attributes[LAZE_INTERPOLATE_ALIGN_CORNERS].present && !p->chosen->aligns) return LAZE_OP_NONE;
    if (!is_set(&attributes[LAZE_INTERPOLATE_ANTIALIAS])) return p->chosen->ops[p->dims - 1];
    return p->dims == 2 ? p->chosen->antialiased : LAZE_OP_NONE;
  }
  return LAZE_OP_NONE;
}

/* Sizes or scales for each dim. *by_scale: what is to be passed on is scales. */
static laze_status read_sizes(interpolation *p, bool *by_scale) {
  const laze_attribute *size = &p->call->attributes[LAZE_INTERPOLATE_SIZE],
                       *scale = &p->call->attributes[LAZE_INTERPOLATE_SCALE_FACTOR];
  const laze_attribute *given = scale->present ? scale : size;
  const bool again = is_set(&p->call->attributes[LAZE_INTERPOLATE_RECOMPUTE_SCALE_FACTOR]);
  if (size->present == scale->present || given->count != p->dims || (again && size->present)) return refuse(p);
  *by_scale = scale->present && !again && strcmp(p->chosen->mode, "area") != 0;
  for (int i = 0; i < p->dims; i++) {
    if (scale->present) p->scales[i] = scale->value.reals[i];
    if (size->present) p->sizes[i] = size->value.items[i];
    if (scale->present && !*by_scale)
      LAZE_TRY(
          laze_compose_scaled_size(p->recorder, p->call, p->input.sizes[2 + i], p->scales[i], &p->sizes[i], p->error));
  }
  return LAZE_OK;
}

laze_status laze_composite_interpolate(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                       laze_error *error) {
  interpolation p = {
      .recorder = recorder, .call = call, .input = laze_compose_type(recorder, call->operands[0]), .error = error};
  laze_attribute attributes[3];
  bool by_scale = false;
  int count = 0;
  p.dims = p.input.rank - 2;
  const laze_op op = find_operator(&p);
  if (op == LAZE_OP_NONE) return refuse(&p);
  LAZE_TRY(read_sizes(&p, &by_scale));
  attributes[count] = laze_attribute_sizes(p.sizes, p.dims);
  if (op == LAZE_OP_ADAPTIVE_AVG_POOL1D) attributes[count] = laze_attribute_integers(p.sizes, p.dims);
  if (by_scale) attributes[count] = laze_attribute_absent(LAZE_ARGUMENT_SIZE_LIST);
  count++;
  if (p.chosen->aligns)
    attributes[count++] = laze_attribute_boolean(is_set(&call->attributes[LAZE_INTERPOLATE_ALIGN_CORNERS]));
  attributes[count] = laze_attribute_reals(p.scales, p.dims);
  if (!by_scale) attributes[count] = laze_attribute_absent(LAZE_ARGUMENT_FLOAT_LIST);
  return laze_record_call(recorder, op, call->operands, 1, attributes, results, error);
}

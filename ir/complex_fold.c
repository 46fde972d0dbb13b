/* Reductions and scans of complex numbers whose states are complex, too, as operators with a region, where a state is
 * two floats:
 *
 *   prod %z, dim=[1]   =>   %0:2 = reduce %z, [1, 0], dim=[1] (%a, %b, %e) {    %2 = complex %0#0, %0#1
 *                             %1 = mul (complex %a, %b), %e
 *                             return (real %1), (imag %1)
 *                           }
 *   cumprod %z, dim=1  =>   a scan along that axis, which is put in front, with states of the other axes
 *
 * The region is made of floats at once, as its block is expanded.
 */
#include "ir/builder.h"
#include "ir/op.gen.h"

#include <math.h>

enum { PARTS = 2 };

typedef struct {
  laze_builder *builder;
  const laze_op_info *info;
  laze_value self;                /* complex */
  laze_type type;                 /* of self */
  laze_size order[LAZE_MAX_RANK]; /* scans: the axes, the one that is gone along first */
  laze_value states[PARTS];       /* what they begin with */
  laze_error *error;
} folding;

static laze_status record(folding *f, laze_op op, laze_value value, const laze_attribute *attributes, laze_value *out) {
  return laze_record_call(&f->builder->recorder, op, &value, 1, attributes, out, f->error);
}

static const laze_attribute *attribute_of(const laze_call *call, const char *name) {
  const laze_argument_info *argument = laze_op_argument(laze_op_get(call->op), name);
  return argument ? &call->attributes[argument->position] : NULL;
}

/* self in the dtype of the result. */
static laze_status take_self(folding *f, const laze_call *call) {
  const laze_attribute *dtype = attribute_of(call, "dtype");
  f->self = call->operands[0];
  if (dtype && dtype->present) LAZE_TRY(record(f, laze_op_find("to.dtype"), f->self, dtype, &f->self));
  f->type = *laze_recorder_type(&f->builder->recorder, f->self);
  return LAZE_OK;
}

/* A complex number of which a dtype takes the real part alone. */
static laze_status record_real(folding *f, const laze_call *source, laze_value *out) {
  laze_call call = *source;
  call.operands = &f->self;
  return f->builder->recorder.record(&f->builder->recorder, &call, out, f->error);
}

static laze_status number_states(folding *f) {
  const double first[] = {[LAZE_INITIAL_ZERO] = 0,
                          [LAZE_INITIAL_ONE] = 1,
                          [LAZE_INITIAL_LOWEST] = -INFINITY,
                          [LAZE_INITIAL_HIGHEST] = INFINITY};
  laze_dtype part = laze_dtype_part(f->type.dtype);
  for (int i = 0; i < PARTS; i++)
    LAZE_TRY(laze_record_number(&f->builder->recorder, part, laze_scalar_real(i == 0 ? first[f->info->initial] : 0),
                                &f->states[i], f->error));
  return LAZE_OK;
}

static laze_status add_parameters(folding *f, laze_block *region, laze_value *out) {
  for (int i = 0; i <= PARTS; i++) {
    laze_type type = *laze_graph_type(f->builder->graph, f->states[i % PARTS]);
    if (i == PARTS) type.dtype = f->type.dtype;
    LAZE_TRY(laze_graph_add_parameter(f->builder->graph, region, NULL, &type, &out[i], f->error));
  }
  return LAZE_OK;
}

/* The region: the next state of one and an element, as often as the operator wants it. */
static laze_status make_region(folding *f, int times, laze_block **out) {
  laze_builder inner;
  laze_value values[PARTS + 1], results[2 * PARTS], pair[2];
  LAZE_TRY(laze_graph_add_region(f->builder->graph, f->builder->block, out, f->error));
  LAZE_TRY(add_parameters(f, *out, values));
  laze_builder_init(&inner, f->builder->graph, *out);
  inner.recorder.origin = f->builder->recorder.origin;
  inner.recorder.location = f->builder->recorder.location;
  inner.recorder.name = f->builder->recorder.name;
  inner.expand_late = true;
  inner.depth = f->builder->depth;
  LAZE_TRY(laze_record_call(&inner.recorder, laze_op_find("complex"), values, PARTS, NULL, &pair[0], f->error));
  pair[1] = values[PARTS];
  LAZE_TRY(laze_record_call(&inner.recorder, f->info->combine, pair, 2, NULL, &pair[0], f->error));
  LAZE_TRY(laze_record_call(&inner.recorder, laze_op_find("real"), pair, 1, NULL, &results[0], f->error));
  LAZE_TRY(laze_record_call(&inner.recorder, laze_op_find("imag"), pair, 1, NULL, &results[1], f->error));
  for (int i = PARTS; i < times * PARTS; i++) results[i] = results[i - PARTS];
  return laze_block_set_results(f->builder->graph, *out, results, times * (int64_t)PARTS, f->error);
}

/* Appends the operator with the region; *out is the complex number of the two results from `first` on. */
static laze_status append(folding *f, laze_call *call, laze_block *region, int32_t first, laze_value *out) {
  laze_value result, parts[PARTS];
  call->origin = f->builder->recorder.origin;
  call->location = f->builder->recorder.location;
  call->name = f->builder->recorder.name;
  LAZE_TRY(laze_graph_append_region_node(f->builder->graph, f->builder->block, call, &region, &result, f->error));
  for (int i = 0; i < PARTS; i++) parts[i] = (laze_value){result.node, first + i};
  return laze_record_call(&f->builder->recorder, laze_op_find("complex"), parts, PARTS, NULL, out, f->error);
}

/* *dims: those that are reduced, each by its number; *kept: the sizes of the result. */
static int32_t list_dims(const folding *f, const laze_call *call, laze_size *dims, laze_size *kept, int32_t *rank) {
  const laze_attribute *dim = attribute_of(call, "dim"), *keeps = attribute_of(call, "keepdim");
  bool reduced[LAZE_MAX_RANK] = {false}, all = !dim->present || dim->count == 0;
  int32_t count = 0;
  *rank = 0;
  for (int32_t i = 0; !all && f->type.rank > 0 && i < dim->count; i++)
    reduced[dim->value.items[i] < 0 ? dim->value.items[i] + f->type.rank : dim->value.items[i]] = true;
  for (int32_t axis = 0; axis < f->type.rank; axis++) {
    if (all || reduced[axis]) dims[count++] = axis;
    if (!(all || reduced[axis])) kept[(*rank)++] = f->type.sizes[axis];
    if ((all || reduced[axis]) && keeps->value.integer) kept[(*rank)++] = 1;
  }
  return count;
}

static laze_status reduce(folding *f, const laze_call *source, laze_value *out) {
  const int32_t segments[] = {1, PARTS};
  laze_size dims[LAZE_MAX_RANK], kept[LAZE_MAX_RANK];
  laze_block *region;
  int32_t rank, count = list_dims(f, source, dims, kept, &rank);
  LAZE_TRY(number_states(f));
  LAZE_TRY(make_region(f, 1, &region));
  const laze_value operands[] = {f->self, f->states[0], f->states[1]};
  const laze_attribute dim = laze_attribute_integers(dims, count), sizes = laze_attribute_sizes(kept, rank);
  laze_call call = {
      .op = LAZE_OP_REDUCE, .operands = operands, .operand_count = 1 + PARTS, .segments = segments, .attributes = &dim};
  LAZE_TRY(append(f, &call, region, 0, out));
  if (!attribute_of(source, "keepdim")->value.integer) return LAZE_OK;
  return record(f, laze_op_find("reshape"), *out, &sizes, out);
}

/* The axis in front, and states of the sizes behind it. */
static laze_status turn(folding *f, int64_t dim) {
  int32_t count = 0, axis = (int32_t)(dim < 0 ? dim + f->type.rank : dim);
  laze_attribute dims, sizes;
  f->order[count++] = axis;
  for (int32_t i = 0; i < f->type.rank; i++)
    if (i != axis) f->order[count++] = i;
  dims = laze_attribute_integers(f->order, count);
  LAZE_TRY(record(f, laze_op_find("permute"), f->self, &dims, &f->self));
  laze_type type = *laze_recorder_type(&f->builder->recorder, f->self);
  sizes = laze_attribute_sizes(type.sizes + 1, count - 1);
  LAZE_TRY(number_states(f));
  laze_attribute expand[] = {sizes, laze_attribute_boolean(false)};
  for (int i = 0; i < PARTS && count > 1; i++)
    LAZE_TRY(record(f, laze_op_find("expand"), f->states[i], expand, &f->states[i]));
  return LAZE_OK;
}

static laze_status turn_back(folding *f, laze_value *out) {
  laze_size back[LAZE_MAX_RANK];
  for (int32_t i = 0; i < f->type.rank; i++) back[f->order[i]] = i;
  const laze_attribute dims = laze_attribute_integers(back, f->type.rank);
  return record(f, laze_op_find("permute"), *out, &dims, out);
}

/* A number without axes is a line of one. */
static laze_status scan(folding *f, const laze_call *source, laze_value *out) {
  const int32_t segments[] = {PARTS, 1};
  const laze_size one = 1;
  const laze_attribute line = laze_attribute_sizes(&one, 1), none = laze_attribute_sizes(&one, 0);
  const bool is_number = f->type.rank == 0;
  laze_block *region;
  if (is_number) {
    LAZE_TRY(record(f, laze_op_find("reshape"), f->self, &line, &f->self));
    f->type = *laze_recorder_type(&f->builder->recorder, f->self);
  }
  LAZE_TRY(turn(f, is_number ? 0 : attribute_of(source, "dim")->value.integer));
  LAZE_TRY(make_region(f, 2, &region));
  const laze_value operands[] = {f->states[0], f->states[1], f->self};
  laze_call call = {.op = LAZE_OP_SCAN, .operands = operands, .operand_count = PARTS + 1, .segments = segments};
  LAZE_TRY(append(f, &call, region, PARTS, out));
  LAZE_TRY(turn_back(f, out));
  return is_number ? record(f, laze_op_find("reshape"), *out, &none, out) : LAZE_OK;
}

laze_status laze_builder_fold_complex(laze_builder *builder, const laze_call *call, laze_value *result,
                                      laze_error *error) {
  folding f = {.builder = builder, .info = laze_op_get(call->op), .error = error};
  LAZE_TRY(take_self(&f, call));
  if (!laze_dtype_is_complex(f.type.dtype)) return record_real(&f, call, result);
  return f.info->op_class == LAZE_CLASS_SCAN ? scan(&f, call, result) : reduce(&f, call, result);
}

/* The recorder interface: composites, gradient formulas and parsers record operators through it without knowing whether
 * a graph (ir/builder.h) or the lazy layer receives them. A recorder is used by one thread at a time. */
#ifndef LAZE_IR_RECORDER_H
#define LAZE_IR_RECORDER_H

#include "ir/op.h"

typedef struct laze_recorder laze_recorder;
struct laze_size_source; /* ir/defined_size.h */

struct laze_recorder {
  /* Records one call, expanding early composites; writes as many values as the call has results. */
  laze_status (*record)(laze_recorder *self, const laze_call *call, laze_value *results, laze_error *error);
  /* The type of a value that this recorder gave out; borrowed until the next record. */
  const laze_type *(*type_of)(laze_recorder *self, laze_value value);
  /* The call whose result the value is, for those who look through it; borrowed until the next record. False where it
   * is not known, as for inputs. NULL: none is. */
  bool (*call_of)(laze_recorder *self, laze_value value, laze_call *out);
  /* The symbol for a size that a value gives, for recorders that have their own names for these; `defined`: it stands
   * for that already, and needs no definer. NULL: a new one. */
  laze_status (*fresh_size)(laze_recorder *self, const struct laze_size_source *source, laze_size *out, bool *defined,
                            laze_error *error);
  laze_context *context;  /* borrowed */
  laze_size_table *sizes; /* NULL: every size is a constant */
  laze_op origin;         /* the outermost composite being expanded, LAZE_OP_NONE outside */
  laze_location location; /* of the user's call */
  const char *name;       /* of the call being expanded, as in laze_call */
};

static inline const laze_type *laze_recorder_type(laze_recorder *recorder, laze_value value) {
  return recorder->type_of(recorder, value);
}

/* Records a `constant` holding one number of `dtype`, 0-d. */
LAZE_MUST_USE laze_status laze_record_number(laze_recorder *recorder, laze_dtype dtype, laze_scalar value,
                                             laze_value *out, laze_error *error);

/* Records what a call that expands consists of (ir/composite/half.c); for recorders. */
LAZE_MUST_USE laze_status laze_call_expand(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                           laze_error *error);

/* Whether the call has a complex operand, or is told to give complex results. */
bool laze_call_is_complex(laze_recorder *recorder, const laze_call *call);
/* Whether it is recorded as what it is on real and imaginary parts, once expansions are asked for. */
bool laze_call_expands_complex(laze_recorder *recorder, const laze_call *call);
/* Records what such a call consists of (ir/composite/complex.c); for recorders. */
LAZE_MUST_USE laze_status laze_call_expand_complex(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                                   laze_error *error);

/* Short form for hand-written composites: operands and attributes in schema order. A tensor list takes the operands
 * that the other arguments leave; trailing optional operands may be left out; NULL attributes are the defaults. */
LAZE_MUST_USE laze_status laze_record_call(laze_recorder *recorder, laze_op op, const laze_value *operands,
                                           int32_t operand_count, const laze_attribute *attributes, laze_value *out,
                                           laze_error *error);

static inline laze_attribute laze_attribute_integer(int64_t value) {
  return (laze_attribute){.kind = LAZE_ARGUMENT_INT, .present = true, .value.integer = value};
}
static inline laze_attribute laze_attribute_boolean(bool value) {
  return (laze_attribute){.kind = LAZE_ARGUMENT_BOOL, .present = true, .value.integer = value};
}
static inline laze_attribute laze_attribute_dtype(laze_dtype value) {
  return (laze_attribute){.kind = LAZE_ARGUMENT_DTYPE, .present = true, .value.integer = value};
}
static inline laze_attribute laze_attribute_size(laze_size value) {
  return (laze_attribute){.kind = LAZE_ARGUMENT_SIZE, .present = true, .value.size = value};
}
/* `items` is borrowed. */
static inline laze_attribute laze_attribute_integers(const laze_size *items, int32_t count) {
  return (laze_attribute){.kind = LAZE_ARGUMENT_INT_LIST, .present = true, .count = count, .value.items = items};
}
static inline laze_attribute laze_attribute_sizes(const laze_size *items, int32_t count) {
  return (laze_attribute){.kind = LAZE_ARGUMENT_SIZE_LIST, .present = true, .count = count, .value.items = items};
}
static inline laze_attribute laze_attribute_absent(laze_argument_kind kind) {
  return (laze_attribute){.kind = (uint8_t)kind};
}

#endif

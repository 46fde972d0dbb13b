/* Operators as data: what the generated table (ir/op.gen.c) says about each, and the call that names one.
 *
 * An operator's schema has arguments of two kinds. *Operands* (tensors, optional tensors, tensor lists, and Scalars
 * that the caller passed) are values of the graph. *Attributes* (integers, sizes, lists, dtypes, strings, and Scalars
 * that the entry marks as attributes) are plain data in the node. In a list of optional tensors (Tensor?[]) an absent
 * one is LAZE_VALUE_NONE: only operators that expand when they are recorded have such lists, so that every operand of
 * a node is a value.
 */
#ifndef LAZE_IR_OP_H
#define LAZE_IR_OP_H

#include "base/overload.h"
#include "laze/argument.h"
#include "shape_inference/inference.h"

typedef uint16_t laze_op; /* an enumerator of ir/op.gen.h, LAZE_OP_...; never stored outside the process */
#define LAZE_OP_NONE ((laze_op)0)

/* LAZE_VALUE_NONE marks an absent one. */
static inline bool laze_value_is_none(laze_value value) {
  return value.node < 0;
}
static inline bool laze_value_equal(laze_value a, laze_value b) {
  return a.node == b.node && a.result == b.result;
}

/* The elements of a constant: row-major bytes, immutable. */
typedef struct laze_data {
  const void *bytes;
  int64_t size;
  struct laze_blob *blob; /* whose bytes they are (base/blob.h): graphs hold it and do not copy; NULL: they copy */
} laze_data;
static inline laze_data laze_data_of(const void *bytes, int64_t size) {
  return (laze_data){.bytes = bytes, .size = size};
}

/* An attribute's value. What pointers refer to lives as long as the node (its graph's arena). An absent optional has
 * `present` false and is otherwise zero. */
typedef struct laze_attribute {
  uint8_t kind; /* laze_argument_kind */
  bool present;
  int32_t count; /* of a list */
  union {
    int64_t integer; /* INT, BOOL (0 or 1), DTYPE */
    laze_size size;
    double real;
    const char *string;     /* STRING; STRING_LIST: `count` strings, each with its 0, behind each other */
    const laze_size *items; /* INT_LIST (all constants), SIZE_LIST */
    const double *reals;    /* FLOAT_LIST */
    laze_scalar literal;
    laze_data data;
  } value;
} laze_attribute;

/* Small, as there are thousands. */
typedef struct laze_argument_info {
  const char *name;
  laze_argument_kind kind : 8;
  bool optional;    /* may be absent ("Tensor?", "int[]?"), or, for a SCALAR, has a default used when absent */
  bool has_default; /* may be left out */
  bool keyword_only;
  int16_t position;             /* among the operand segments, or among the attributes */
  int16_t list_size;            /* int[N]: one integer stands for N; 0 otherwise */
  laze_attribute default_value; /* attributes; a SCALAR's default is a literal */
} laze_argument_info;

typedef enum {
  LAZE_CLASS_COMPOSITE, /* an expression over other operators */
  LAZE_CLASS_ELEMENTWISE,
  LAZE_CLASS_REDUCTION,
  LAZE_CLASS_SCAN,
  LAZE_CLASS_MOVEMENT,
  LAZE_CLASS_INDEXING,
  LAZE_CLASS_PRODUCT,
  LAZE_CLASS_CREATION,
  LAZE_CLASS_RANDOM,
  LAZE_CLASS_LIBRARY,
  LAZE_CLASS_CONTROL,   /* has regions */
  LAZE_CLASS_STRUCTURE, /* parameters of graphs and regions, sizes that values give, calls of functions */
} laze_op_class;

typedef enum { LAZE_EFFECT_NONE, LAZE_EFFECT_MAY_FAIL, LAZE_EFFECT_ORDERED } laze_effect;

/* In which dtype an elementwise operator computes, and what its result has. Operands are converted to it. */
typedef enum {
  LAZE_COMPUTE_NONE,     /* no elementwise operator */
  LAZE_COMPUTE_PROMOTED, /* promoted dtype; the result has it */
  LAZE_COMPUTE_FLOAT,    /* promoted, integers to f32; the result has it */
  LAZE_COMPUTE_COMPARE,  /* promoted; the result is bool */
  LAZE_COMPUTE_LOGICAL,  /* each operand is converted to bool; the result is bool */
  LAZE_COMPUTE_SELECT,   /* `where`: operand 0 is bool, the others are promoted; the result has that dtype */
  LAZE_COMPUTE_CONVERT,  /* `to`: the operand keeps its dtype; the result has the dtype attribute's */
  LAZE_COMPUTE_BITS,     /* operands keep their dtype, which the dtype rule has checked (random bits) */
  LAZE_COMPUTE_PART, /* promoted; the result has the dtype of that one's parts, which is another where it is complex */
  LAZE_COMPUTE_PAIR, /* promoted; the result is complex, of such parts */
} laze_compute;

/* What an operator does with complex operands. */
typedef enum {
  LAZE_COMPLEX_REFUSED,
  LAZE_COMPLEX_MOVED,  /* takes them as it takes others: elements are moved, or a composite is made of others */
  LAZE_COMPLEX_PARTS,  /* is applied to real parts and to imaginary parts */
  LAZE_COMPLEX_FOLDED, /* REDUCTION, SCAN: combines states that are complex, in a region (ir/complex_fold.c) */
  LAZE_COMPLEX_OTHER,  /* is `complex_op` */
} laze_complex_form;

/* What a reduction or a scan starts from. */
typedef enum { LAZE_INITIAL_ZERO, LAZE_INITIAL_ONE, LAZE_INITIAL_LOWEST, LAZE_INITIAL_HIGHEST } laze_initial;

/* Which dtype the states of a scan have: the result's, or f64 where that is a float. */
typedef enum { LAZE_STATE_RESULT, LAZE_STATE_DOUBLE } laze_state;

struct laze_call;
struct laze_content;
struct laze_recorder;

/* Computes the result types of a call from its operands' types (in the order of call->operands). */
typedef laze_status (*laze_infer_function)(laze_inference *inference, const struct laze_call *call,
                                           const laze_type *const *operand_types, laze_type *results);
/* Records a composite's expansion and gives the values of its results. Where these are a list (`Tensor[]`) there are at
 * most LAZE_MAX_LISTED of them, with LAZE_VALUE_NONE behind the last. */
#define LAZE_MAX_LISTED 1024
typedef laze_status (*laze_expand_function)(struct laze_recorder *recorder, const struct laze_call *call,
                                            laze_value *results, laze_error *error);

/* Small, as there are thousands. */
typedef struct laze_op_info {
  const char *name;                    /* "add.Tensor" */
  const char *base;                    /* "add" */
  const char *symbol;                  /* "add": the C function is laze_<symbol> */
  const char *schema;                  /* as written in the entry */
  const laze_argument_info *arguments; /* in schema order */
  laze_infer_function infer;           /* NULL: a composite that never is a node */
  laze_expand_function expand;         /* NULL: a primitive */
  /* What an element of an integer result is, for sizes that are given by values (ir/known_size.h). NULL: not known. */
  bool (*contents)(struct laze_recorder *recorder, const struct laze_call *call, const laze_type *type, int64_t index,
                   struct laze_content *out);
  /* For a primitive that expands in some forms (add with alpha): whether this call must be expanded. NULL:
   * laze_call_expands() says which do. */
  bool (*must_expand)(const struct laze_call *call);
  const struct laze_derivative *derivative; /* ir/derivative.h; NULL: none of its own */
  /* Elementwise: bit d is set where it can compute in dtype d; other compute dtypes are refused. */
  uint32_t compute_dtypes;
  laze_op combine;    /* REDUCTION, SCAN: the elementwise operator that combines two states */
  laze_op complex_op; /* LAZE_COMPLEX_OTHER: has the same arguments */
  uint16_t in_place;  /* where laze_in_place_names has the name of its form in place (laze_op_in_place); 0: none */
  laze_op_class op_class : 8;
  laze_effect effect : 8;
  laze_compute compute : 8; /* elementwise */
  laze_initial initial : 8; /* REDUCTION, SCAN */
  laze_state state : 8;     /* SCAN */
  laze_complex_form complex_form : 8;
  bool exact;         /* no rounding that could differ between two right implementations */
  bool late;          /* composite that stays one node until the expand pass */
  bool takes_numbers; /* in a call by name, numbers alone as well */
  bool keeps_dtype;   /* composite that floats of 16 bits go through as they are, and not as f32 */
  int8_t argument_count, segment_count, attribute_count;
  int8_t result_count; /* -1: as many as the regions, the called function or the call say (laze_call_result_count) */
  int8_t region_count;
  int8_t defines; /* the attribute with the size symbols that a node defines, counted from 1; 0: none */
  int8_t aliased; /* the segment of the operand whose memory the results are, as far as strides allow, counted from 1;
                     0: none. In the IR they are values as others are */
} laze_op_info;

/* The generated table; index 0 is LAZE_OP_NONE. */
extern const laze_op_info laze_op_infos[];
extern const laze_op laze_op_count;

static inline const laze_op_info *laze_op_get(laze_op op) {
  return &laze_op_infos[op];
}
/* The operator of that exact name ("add.Tensor"), or of that base name where only one overload has it, or
 * LAZE_OP_NONE. */
laze_op laze_op_find(const char *name);
/* The operators with that base name, in table order, and how many there are: overload resolution tries these. */
const laze_op *laze_op_overloads(const char *base, int32_t *count);
/* The index-th of them, or LAZE_OP_NONE. */
laze_op laze_op_overload(const char *base, int index);
/* Makes `name`, what the caller wrote, the operator that the message names: it takes the place of those in front, of
 * which a composite consists. `error` may be NULL. */
void laze_op_rename_error(laze_error *error, const char *name);
/* The argument of that name, or NULL. */
const laze_argument_info *laze_op_argument(const laze_op_info *info, const char *name);

/* The generated names of forms in place, each with a NUL behind it; one text, because pointers to them would be
 * longer. */
extern const char laze_in_place_names[];
/* "add_.Tensor": the form whose target, an argument, gets the result; NULL: the operator has none. */
static inline const char *laze_op_in_place(const laze_op_info *info) {
  return info->in_place ? laze_in_place_names + info->in_place : NULL;
}
/* The index of that argument: that of "self", or else the first. */
int32_t laze_op_target(const laze_op_info *info);

/* Where a node comes from. */
typedef struct laze_location {
  const char *file; /* NULL: unknown. Lives as long as the node, or static */
  int32_t line;     /* 0: `file` is a place in a front end's words ("model.onnx:12"), which the text form keeps */
  int32_t node;     /* in the graph that was compiled, its number from 1 (runtime/site.h); 0 before that */
} laze_location;
static inline bool laze_location_is_known(laze_location location) {
  return location.file || location.node > 0;
}

/* One call of an operator, not yet a node: borrowed arrays, valid during the call that receives it.
 * `segments[i]` is the number of operands of the i-th operand argument, -1 for an absent optional; NULL when every
 * segment is 1. `attributes` has info->attribute_count entries, defaults filled in. */
typedef struct laze_call {
  laze_op op;
  int32_t operand_count;
  const laze_value *operands;
  const int32_t *segments;
  const laze_attribute *attributes;
  laze_location location;
  laze_op origin;   /* the composite this call expands, LAZE_OP_NONE if none */
  const char *name; /* what a front end calls it ("dense/MatMul"), as long-lived as location.file; NULL: nothing */
} laze_call;

/* Whether a call is recorded as what it expands to, and not as a node: every composite but late ones, and a primitive
 * in the forms that its entry names. */
static inline bool laze_call_expands(const laze_call *call) {
  const laze_op_info *info = laze_op_get(call->op);
  if (!info->expand) return false;
  return info->must_expand ? info->must_expand(call) : info->op_class == LAZE_CLASS_COMPOSITE && !info->late;
}

/* Whether the operator expands to as many values as its operands' types say (`split`). */
static inline bool laze_op_lists_results(const laze_op_info *info) {
  return info->result_count < 0 && info->op_class == LAZE_CLASS_COMPOSITE;
}
/* How many results such an operator gave. */
static inline int32_t laze_count_listed(const laze_value *results) {
  int32_t count = 0;
  while (!laze_value_is_none(results[count])) count++;
  return count;
}

/* How many results the call of an operator without regions has; -1 where it does not say. */
int32_t laze_call_result_count(const laze_call *call);

/* The operands of segment `position`: first operand's index in *first; returns the count, -1 if absent. */
int32_t laze_call_segment(const laze_call *call, int32_t position, int32_t *first);

/* Whether segments and attributes fit the operator's schema: counts, kinds, and nothing absent that is required. */
LAZE_MUST_USE laze_status laze_call_check(const laze_call *call, laze_error *error);

/* The dtype in which operand `index` of an elementwise call enters the computation, given all operands' types: f32 for
 * floats of 16 bits, to which the result is rounded, but for `where` and `to`. The one place that knows LAZE_COMPUTE_*.
 * `is_number` per operand follows from the schema. */
laze_dtype laze_call_compute_dtype(const laze_call *call, const laze_type *const *operand_types, int32_t index);

/* The rule of elementwise operators that name no shape rule, for generated adaptors: broadcasts all operands; the dtype
 * follows from info->compute. Refuses a compute dtype that info->compute_dtypes lacks. */
LAZE_MUST_USE laze_status laze_infer_elementwise(laze_inference *inference, const laze_call *call,
                                                 const laze_type *const *operand_types, laze_type *results);

#endif

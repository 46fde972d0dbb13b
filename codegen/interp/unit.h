/* What the interpreter runs: one node of a graph with the blocks of its regions, flattened into arrays of values and
 * nodes that refer to each other by number.
 *
 * A unit is generic in sizes. Wherever a size is needed (of a value, or as an attribute) it holds an index into
 * `sizes`, a list of expressions; a call gets their values in the same order. Values 0 ... outside_count - 1 are the
 * root node's operands and results, whose memory the caller gives; the rest live inside regions.
 */
#ifndef LAZE_CODEGEN_INTERP_UNIT_H
#define LAZE_CODEGEN_INTERP_UNIT_H

#include "codegen/interp/eval.h"
#include "ir/graph.h"
#include "ir/opaque.h"
#include "runtime/kernel.h"
#include "runtime/site.h"

/* Regions within regions, at most: bounds the executor's stack. */
#define INTERP_MAX_DEPTH 64

typedef struct interp_node interp_node;
typedef struct interp_run interp_run;

typedef struct interp_value {
  laze_dtype dtype;
  int rank;
  int64_t first_size;
} interp_value;

typedef struct interp_block {
  int32_t parameter_count, node_count, result_count;
  const int32_t *parameters, *results; /* values */
  interp_node *nodes;
} interp_block;

/* What a node that calls a registered kernel has of it. */
typedef struct interp_opaque {
  struct interp_opaque *next; /* of the unit's */
  laze_opaque_kernel *kernel; /* retained */
  laze_opaque_call call;      /* without tensors: what each call is made of; threads may run the step at once */
  const char *strings[];      /* its strings */
} interp_opaque;

struct interp_node {
  const laze_op_info *info;
  laze_op op;
  int32_t operand_count, result_count;
  int32_t first_count;               /* operands of the first argument: a list's, where it is one */
  int32_t check;                     /* of a node that may fail: its number among those of the unit */
  const int32_t *operands, *results; /* values */
  const laze_attribute *attributes;  /* a SIZE's value is an index into the sizes; a SIZE_LIST's items are the graph's,
                                        for what they say is in the results' sizes */
  void (*execute)(const interp_run *run, const interp_node *node); /* NULL: control */
  laze_eval_function eval;   /* elementwise: of one element; reduction, scan: of combining two states */
  const laze_dtype *compute; /* elementwise: the dtype that each operand is converted to */
  laze_dtype computed;       /* elementwise: the dtype of what eval gives, which is converted to the result's */
  interp_opaque *opaque;     /* of a call of a registered kernel */
  interp_block *regions;
};

typedef struct interp_unit {
  laze_arena arena; /* holds what follows but values and sizes; begins in `storage` */
  interp_value *values;
  laze_size *sizes; /* in the graph's table */
  int64_t value_count, value_capacity, size_count, size_capacity;
  int32_t outside_count;
  laze_origin *checked; /* nodes that may fail, by `check`: the root or those in its regions */
  int64_t check_count, check_capacity;
  interp_opaque *opaques;
  interp_node root;
  int64_t storage_size;
  _Alignas(16) char storage[];
} interp_unit;

/* Flattens a node. The unit keeps nothing of the graph but size words. */
LAZE_MUST_USE laze_status interp_unit_create(const laze_graph *graph, const laze_node *node, interp_unit **out,
                                             laze_error *error);
void interp_unit_destroy(void *unit); /* NULL is ignored */
/* Bytes it takes. */
int64_t interp_unit_bytes(const interp_unit *unit);

/* One execution. */
struct interp_run {
  const interp_unit *unit;
  const int64_t *sizes;          /* values of unit->sizes */
  void *const *data;             /* of each value */
  laze_kernel_failure *failures; /* by check */
  laze_error *reason;            /* where a kernel says why it failed; NULL: nothing may fail */
  laze_error *stopped;           /* why a loop was stopped; NULL: none is watched */
};

/* Runs the root node. `data` has unit->value_count entries. */
void interp_run_unit(const interp_run *run);

/* A value as loops see it: row-major elements. */
typedef struct interp_tensor {
  laze_dtype dtype;
  int rank;
  const int64_t *dims;
  char *data;
} interp_tensor;

static inline interp_tensor interp_get(const interp_run *run, int32_t value) {
  const interp_value *entry = &run->unit->values[value];
  return (interp_tensor){entry->dtype, entry->rank, run->sizes + entry->first_size, run->data[value]};
}
static inline interp_tensor interp_operand(const interp_run *run, const interp_node *node, int32_t index) {
  return interp_get(run, node->operands[index]);
}
static inline interp_tensor interp_result(const interp_run *run, const interp_node *node, int32_t index) {
  return interp_get(run, node->results[index]);
}
static inline int64_t interp_elements(const interp_tensor *tensor) {
  uint64_t count = 1; /* may wrap before it meets a size of 0 */
  for (int i = 0; i < tensor->rank; i++) count *= (uint64_t)tensor->dims[i];
  return (int64_t)count;
}
static inline int64_t interp_bytes(const interp_tensor *tensor) {
  return interp_elements(tensor) * laze_dtype_size(tensor->dtype);
}
/* The value of a SIZE attribute that is present. */
static inline int64_t interp_size(const interp_run *run, const interp_node *node, int32_t attribute) {
  return run->sizes[node->attributes[attribute].value.size];
}
/* An axis attribute, wrapped to [0, rank). */
static inline int interp_axis(const interp_node *node, int32_t attribute, int rank) {
  int64_t axis = node->attributes[attribute].value.integer;
  return (int)(axis < 0 && rank > 0 ? axis + rank : axis < 0 ? 0 : axis);
}

typedef void (*interp_execute)(const interp_run *run, const interp_node *node);
/* Operators with regions: what starts one, and what follows the end of a region. */
typedef struct interp_frame interp_frame;
typedef struct interp_control {
  void (*begin)(const interp_run *run, interp_frame *top);
  void (*end)(const interp_run *run, interp_frame *top);
} interp_control;

/* NULL for composites and structure, and for control in the first, for all others in the second. Generated: entries
 * name these functions (`interpret: slice` is interp_execute_slice, `interpret: while` interp_control_while). */
interp_execute interp_find_execute(laze_op op);
const interp_control *interp_find_control(laze_op op);

/* Finds the kernel that a node calls (opaque.c); the unit keeps it. */
LAZE_MUST_USE laze_status interp_find_opaque(interp_unit *unit, interp_node *node, laze_error *error);

/* One file per class. */
void interp_execute_opaque(const interp_run *run, const interp_node *node);
void interp_execute_elementwise(const interp_run *run, const interp_node *node);
void interp_execute_reduction(const interp_run *run, const interp_node *node);
void interp_execute_scan(const interp_run *run, const interp_node *node);
void interp_execute_expand(const interp_run *run, const interp_node *node);
void interp_execute_permute(const interp_run *run, const interp_node *node);
void interp_execute_flip(const interp_run *run, const interp_node *node);
void interp_execute_reshape(const interp_run *run, const interp_node *node);
void interp_execute_bitcast(const interp_run *run, const interp_node *node);
void interp_execute_slice(const interp_run *run, const interp_node *node);
void interp_execute_window(const interp_run *run, const interp_node *node);
void interp_execute_pad(const interp_run *run, const interp_node *node);
void interp_execute_cat(const interp_run *run, const interp_node *node);
void interp_execute_gather(const interp_run *run, const interp_node *node);
void interp_execute_index_select(const interp_run *run, const interp_node *node);
void interp_execute_dynamic_slice(const interp_run *run, const interp_node *node);
void interp_execute_dynamic_update(const interp_run *run, const interp_node *node);
void interp_execute_matrix_product(const interp_run *run, const interp_node *node); /* mm and bmm */
void interp_execute_scatter(const interp_run *run, const interp_node *node);
void interp_execute_index_update(const interp_run *run, const interp_node *node);
void interp_execute_sort(const interp_run *run, const interp_node *node);
void interp_execute_sorted_head(const interp_run *run, const interp_node *node);
void interp_execute_linalg(const interp_run *run, const interp_node *node); /* everything that LAPACK does */
void interp_execute_fft(const interp_run *run, const interp_node *node);    /* and FFTW */
void interp_execute_constant(const interp_run *run, const interp_node *node);
void interp_execute_iota(const interp_run *run, const interp_node *node);
void interp_execute_size_tensor(const interp_run *run, const interp_node *node);
extern const interp_control interp_control_if, interp_control_while, interp_control_scan, interp_control_reduce;
/* Runs a node with regions and everything in them. */
void interp_execute_control(const interp_run *run, const interp_node *node);

#endif

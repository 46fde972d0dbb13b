/* Kernels that programs register (laze/opaque.h): by name and version, in the context. A kernel is refcounted and
 * immutable; the registry has one reference, and whatever calls it has others, so that unregistering takes a name back
 * and nothing else. Thread-safe. */
#ifndef LAZE_IR_OPAQUE_H
#define LAZE_IR_OPAQUE_H

#include "ir/op.h"
#include "laze/opaque.h"

typedef struct laze_opaque_kernel {
  _Atomic int64_t references;
  laze_context *context; /* borrowed */
  char *name;
  int32_t version, result_count;
  laze_opaque_infer infer; /* NULL: results are like the first operand */
  laze_opaque_run run;
  void *self;
  void (*release)(void *self);
} laze_opaque_kernel;

/* The kernel of that name, which must have that version (0: any), retained. LAZE_NOT_FOUND otherwise. */
LAZE_MUST_USE laze_status laze_opaque_find(laze_context *context, const char *name, int64_t version,
                                           laze_opaque_kernel **out, laze_error *error);
void laze_opaque_kernel_retain(laze_opaque_kernel *kernel);
void laze_opaque_kernel_release(laze_opaque_kernel *kernel); /* NULL is ignored */

/* What a call's attributes pass to the kernel. `strings` has room for as many pointers as the list has. */
void laze_opaque_fill_lists(const laze_attribute *attributes, const char **strings, laze_opaque_call *out);

/* Whether a kernel says what its results are: by its rule, or else by its first operand, whose type they have. */
LAZE_MUST_USE laze_status laze_opaque_check_rule(const laze_opaque_kernel *kernel, int32_t operand_count,
                                                 laze_error *error);
/* The types of a call's results; errors say which kernel it was. */
LAZE_MUST_USE laze_status laze_opaque_find_types(const laze_opaque_kernel *kernel, const laze_opaque_call *call,
                                                 laze_opaque_type *results, laze_error *error);
/* Runs it, where its results have the types that it gives for these operands. */
LAZE_MUST_USE laze_status laze_opaque_kernel_run(const laze_opaque_kernel *kernel, const laze_opaque_call *call,
                                                 laze_error *error);

#endif

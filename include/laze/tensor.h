/* Lazy tensors: operations record, reads compute.
 *
 * A `laze_tensor *` is a handle. Every handle belongs to the scope that was current on the thread that made it, and is
 * released when that scope ends, unless it was retained. (A handle made where no scope is open stays until its thread
 * ends or its context goes, and does not keep the context: a program that runs for long opens scopes.) Functions that
 * take tensors never return NULL: a failed call returns an error handle that further calls pass on, a read of one
 * reports the first error, and so does the end of the scope. Messages name the C function that was called. NULL stands
 * for an absent optional tensor.
 *
 * A handle is a number that laze looks up, not an address; do not follow it. No two tensors of a process ever have the
 * same one. So using a handle after its release is an error that is reported (LAZE_INVALID_ARGUMENT, or an error
 * handle), however many tensors were made since, and also after its context has gone; and so is a pointer that never
 * was a handle, unless its bits happen to be those of a live one: less than 1 in 2^32 for a pointer into memory. Where
 * such a handle is the only one that names a context, the default context's scope notes the error. (Uses while another
 * thread releases the last reference of a context are not covered.)
 *
 * Handles may be used from any thread, one thread at a time per handle; different threads may use different handles
 * that share values. A thread that ends releases what it did not retain. Join threads that used a context before you
 * release its last reference. The child of a fork() may go on with everything its parent had, if no other thread was
 * inside laze at that moment. exit() may be called while other threads use laze: it waits for what they are compiling,
 * and what would have to be compiled from then on fails with LAZE_FAILED_PRECONDITION.
 */
#ifndef LAZE_TENSOR_H
#define LAZE_TENSOR_H

#include "laze/argument.h"
#include "laze/context.h"
#include "laze/dlpack.h"
#include "laze/safetensors.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct laze_scope laze_scope;

/* Opens a scope of the context on this thread, inside the current one. NULL: the default context. Never NULL unless
 * memory is out. Like a tensor, a scope is a number that laze looks up and that no other scope of the process ever has:
 * ending one twice, or asking for its error once it has ended, is noticed, also when its context has gone. */
LAZE_API laze_scope *laze_scope_begin(laze_context *context);
/* Ends the innermost scope: releases its handles that were not retained. Returns the first error in it that no read has
 * reported, and its message in `error` (may be NULL). Ending a scope that has ended, or that is
 * not the innermost one of its context on this thread, is LAZE_FAILED_PRECONDITION and ends nothing. (Scopes of
 * different contexts do not know of each other.) */
LAZE_API laze_status laze_scope_end_error(laze_scope *scope, laze_error *error);
LAZE_API laze_status laze_scope_end(laze_scope *scope);
/* Ends the scope and materialises, in one graph, all held values that this thread recorded: those of retained and
 * assigned tensors and of handles of outer scopes. Returns the first unread error of the scope. A value that fails, and
 * what depends on it, are errors from then on, which no later step reports again; all others are stored (in a graph
 * with regions, none of them is: docs/semantics.md). Where memory was out or no code could be made, that is returned,
 * and the values concerned are still pending. */
LAZE_API laze_status laze_step_end(laze_scope *scope, laze_error *error);
/* The message of the first error in the scope, "" if none or if it has ended. Borrowed until the scope ends. */
LAZE_API const char *laze_scope_error(laze_scope *scope);

/* A tensor with a copy of `data` (row-major, `size` bytes, which must be exactly what shape and dtype need; the bytes
 * of a bool are 0 or 1). */
LAZE_API laze_tensor *laze_tensor_from_data(laze_context *context, laze_dtype dtype, laze_ints shape, const void *data,
                                            size_t size);
/* The same without a copy: `data`, aligned to the dtype's size, must stay unchanged until `release` (may be NULL) is
 * called, once, on any thread; when the call fails, that is before it returns. No lock is held then, so that
 * it may use laze. */
LAZE_API laze_tensor *laze_tensor_borrow(laze_context *context, laze_dtype dtype, laze_ints shape, const void *data,
                                         size_t size, void (*release)(void *self), void *self);
/* A 0-d tensor that is a run-time input of what is recorded from it. */
LAZE_API laze_tensor *laze_tensor_from_scalar(laze_context *context, laze_dtype dtype, laze_scalar value);

/* Keeps a handle, and its context, beyond its scope; returns it. Each retain needs a laze_tensor_release(). A retained
 * tensor is *held*: laze_step_end and reads store its value. An error handle may be retained as well. */
LAZE_API laze_tensor *laze_tensor_retain(laze_tensor *tensor);
/* Gives a retained handle back. NULL is ignored. */
LAZE_API void laze_tensor_release(laze_tensor *tensor);
/* Takes the tensor out of its scope and retains it: from now on it belongs to the caller alone, and
 * laze_tensor_release() frees it also where its scope is still open. For whoever keeps tensors as objects of another
 * language. Returns it. Costs a step for each tensor that was made in the scope after it. */
LAZE_API laze_tensor *laze_tensor_take(laze_tensor *tensor);
/* Keeps `value` in a variable in the place of what was kept there: retains it (NULL: nothing) and releases the old one
 * (NULL: there was none). For values whose shape changes from step to step, such as a cache that grows, which
 * laze_tensor_assign() refuses. */
LAZE_API void laze_tensor_replace(laze_tensor **place, laze_tensor *value);
/* Makes the held tensor `destination` have the value of `source` from now on (parameters updated each step). Shapes and
 * dtypes must be equal, and sizes that follow from values are found to be compared (laze_tensor_size); on failure the
 * destination is unchanged, and the error is the scope's. A destination whose value failed when it ran can be given
 * another. Views of the destination have the new value, too; one that is a view itself is written to
 * (laze_tensor_write). */
LAZE_API laze_status laze_tensor_assign(laze_tensor *destination, laze_tensor *source);
/* The same, with the message in `error`, which is then not the scope's (NULL: as laze_tensor_assign). */
LAZE_API laze_status laze_tensor_assign_error(laze_tensor *destination, laze_tensor *source, laze_error *error);
/* Has the tensor leave its memory for that of the source, which both share from then on; shape and dtype are the
 * source's, histories are not shared. Views of the tensor stay with the memory that it leaves. A leaf that requires a
 * gradient stays one and begins anew: it has no gradient and no hooks, and passes over what was computed from it before
 * reach it no more. LAZE_FAILED_PRECONDITION: the tensor requires a gradient, and gradients are recorded
 * (laze/autograd.h). Errors as for laze_tensor_assign_error(). */
LAZE_API laze_status laze_tensor_set(laze_tensor *tensor, laze_tensor *source, laze_error *error);
/* The same, but that the tensor keeps its own history, whether gradients are recorded or not: a leaf its gradient and
 * its hooks. What is no leaf and requires a gradient keeps its shape and dtype, too (LAZE_INVALID_ARGUMENT). */
LAZE_API laze_status laze_tensor_set_data(laze_tensor *tensor, laze_tensor *source, laze_error *error);

/* Writes the value of `source` to `destination` in place: it is broadcast to the destination's shape and converted to
 * its dtype, which both stay. A view (what laze_select(), laze_reshape() and other operators give that only move
 * elements) shares memory: its base and the base's other views have the new elements as well. What was recorded from
 * any of them before has the old value still. While gradients are recorded, the destination follows from the source
 * from now on. LAZE_FAILED_PRECONDITION: a leaf that requires a gradient, a view of one, one of several views that a
 * call gave, or a view that was made where none are recorded, while they are; a view whose sizes follow from values.
 * LAZE_INVALID_ARGUMENT: a source that does not broadcast; an expanded view. On failure the destination is unchanged,
 * and the message is in `error`; NULL: the error is the scope's. */
LAZE_API laze_status laze_tensor_write(laze_tensor *destination, laze_tensor *source, laze_error *error);

/* Computes the tensor and copies its elements, row-major and converted to `dtype`, into `data` of exactly `size` bytes.
 * 0 on success; otherwise laze_tensor_error() has the message. A value that failed when it ran (an index out of range)
 * is an error for good, and so is what depends on it; where there was no memory, a later read tries again. */
LAZE_API laze_status laze_tensor_read(laze_tensor *tensor, laze_dtype dtype, void *data, size_t size);
/* Reads a tensor of one element as a number: its value as a double, or NaN and the error is noted in the scope (for
 * NULL, that of the default context) as well as in the handle. Integers beyond 2^53 are rounded: laze_tensor_read()
 * gives them whole. */
LAZE_API double laze_tensor_item(laze_tensor *tensor);
/* Computes the tensor now, without reading it. */
LAZE_API laze_status laze_tensor_materialise(laze_tensor *tensor);
/* Computes several tensors of one context now, in one graph, so that what they share is computed once. The first error
 * among them, with its message in `error`; the others are computed all the same. */
LAZE_API LAZE_MUST_USE laze_status laze_tensors_materialise(laze_tensor *const *tensors, int32_t count,
                                                            laze_error *error);
/* The message of the error this handle stands for or its last failed read; "" if none. The text lives as long as the
 * tensor: until its release, or the end of its scope if it is not retained. */
LAZE_API const char *laze_tensor_error(laze_tensor *tensor);
/* The status that laze_tensor_error() explains: LAZE_OK where there is no error (so far: nothing is computed). An error
 * that was asked for counts as read: the scope does not report it again. */
LAZE_API laze_status laze_tensor_status(laze_tensor *tensor);

/* A computed tensor's elements, without a copy. */
typedef struct laze_export {
  const void *data; /* row-major, read-only; not NULL, also where there are no elements */
  int64_t size;     /* bytes */
  laze_dtype dtype;
  int32_t rank;
  const int64_t *sizes; /* `rank` */
  void *owner;          /* laze's own */
} laze_export;
/* Computes the tensor and lends its memory, which stays as it is until laze_export_release(), whatever happens to the
 * tensor (an assignment gives the tensor other memory). Read-only: other values may share it. The export keeps the
 * context. On failure *out is empty, and the message is in `error` as well as the handle's. */
LAZE_API LAZE_MUST_USE laze_status laze_tensor_export(laze_tensor *tensor, laze_export *out, laze_error *error);
/* Gives the memory back and empties the structure; an empty one (all zero) or NULL is ignored. On any thread. */
LAZE_API void laze_export_release(laze_export *out);

/* Exchange with other libraries (laze/dlpack.h): `version` is LAZE_DLPACK_VERSIONED or LAZE_DLPACK_UNVERSIONED.
 * Computes the tensor and makes *managed of it, on the CPU, without a copy; a versioned one says that it is read-only.
 * It keeps the context. Whoever takes it calls its deleter, once, on any thread. On failure *managed is NULL. */
LAZE_API LAZE_MUST_USE laze_status laze_tensor_to_dlpack(laze_tensor *tensor, int32_t version, void **managed,
                                                         laze_error *error);
/* A tensor of `managed`, which is laze's from now on, also on failure: its deleter is called once, when the memory is
 * not needed any more, on any thread. Row-major memory of the CPU, aligned to its elements, is not copied, and must
 * stay unchanged; other strides are copied, and bools of other bytes than 0 and 1, which become true. A dtype that laze
 * does not have (LAZE_UNSUPPORTED), or another device, gives an error handle. (Of another `version` nobody knows the
 * deleter: it is not called.) */
LAZE_API laze_tensor *laze_tensor_from_dlpack(laze_context *context, int32_t version, void *managed);

/* Writes the tensor's value as text into `text` of `size` bytes, NUL-terminated and cut where it does not fit; *needed
 * (may be NULL) gets the bytes of the whole text without NUL: with size 0, text may be NULL. Computes it. As NumPy lays
 * it out: nested brackets, columns aligned, floats in the fewest digits that read back equal in their dtype, "true" and
 * "false"; of more than 1000 elements the first and last three of each long axis. The decimal point is a point in every
 * locale. On failure the text is empty, and the message is in `error` as well as the handle's. */
LAZE_API LAZE_MUST_USE laze_status laze_tensor_format(laze_tensor *tensor, char *text, size_t size, size_t *needed,
                                                      laze_error *error);

/* Prints the tensor for people: "f32[3] [1.0 2.0 3.0]", rows below their type, and a newline; or "error: " and why
 * there is no value. Computes it. Returns its status, or LAZE_IO_ERROR where the stream takes no more. */
LAZE_API laze_status laze_tensor_print(laze_tensor *tensor, FILE *stream);

/* NumPy's .npy files (laze/npy.h). The tensor in a file, or an error handle whose message names the file. */
LAZE_API laze_tensor *laze_tensor_load(laze_context *context, const char *path);
/* Computes the tensor and writes it to a file, which appears whole or not at all. Fails as laze_tensor_export() and
 * laze_npy_write() do. */
LAZE_API LAZE_MUST_USE laze_status laze_tensor_save(laze_tensor *tensor, const char *path, laze_error *error);

/* A tensor with a name, of a checkpoint. */
typedef struct laze_named_tensor {
  const char *name;
  laze_tensor *tensor;
} laze_named_tensor;
/* Files of the format safetensors (laze/safetensors.h). The tensor of that name, whose memory is the file's mapping
 * where the file aligned it to its dtype (as laze does), and a copy otherwise; or an error handle. */
LAZE_API laze_tensor *laze_tensor_from_safetensors(laze_context *context, laze_safetensors *file, const char *name);
/* Computes tensors of one context, in one graph, and writes them to a file with metadata (NULL if there is none). Fails
 * as laze_tensors_materialise() and laze_safetensors_write() do. */
LAZE_API LAZE_MUST_USE laze_status laze_tensors_save(laze_context *context, const laze_named_tensor *tensors,
                                                     int32_t count, const laze_safetensors_note *notes,
                                                     int32_t note_count, const char *path, laze_error *error);

/* Metadata. Dtype and rank are known without computing, and so are sizes, but for those that follow from values (of a
 * masked selection, of a slice to where a tensor says): asking for one computes the numbers that it follows from, and
 * nothing else, which size_syncs counts. The handle of a failed call has dtype LAZE_DTYPE_NONE and rank -1; a value
 * that failed when it ran keeps what it has. */
LAZE_API laze_dtype laze_tensor_dtype(laze_tensor *tensor);
LAZE_API int32_t laze_tensor_rank(laze_tensor *tensor);
/* Size of axis `axis` (negative counts from the end); -1 when there is none, or it could not be computed: then the
 * tensor has the error, or the scope. */
LAZE_API int64_t laze_tensor_size(laze_tensor *tensor, int32_t axis);
/* 0 where asking for that size would compute something, 1 otherwise. */
LAZE_API int32_t laze_tensor_knows_size(laze_tensor *tensor, int32_t axis);
/* Whether its elements lie one after the other in row-major order: 0 for a view whose strides say otherwise, such as a
 * transposed one, and for one of sizes that follow from values; laze_contiguous() gives a copy of these. Computes
 * nothing. */
LAZE_API int32_t laze_tensor_is_contiguous(laze_tensor *tensor);
/* 1 for a view: a tensor that has its elements in the memory of another, which a write to either changes for both; 0
 * for one that has memory of its own, be there views of it or not. Computes nothing. */
LAZE_API int32_t laze_tensor_is_view(laze_tensor *tensor);
/* 1 where the size of an axis is certainly that of another tensor's axis, be it known or not; 0 where it is another, or
 * where only computing both would tell. Computes nothing. */
LAZE_API int32_t laze_tensor_has_size_of(laze_tensor *tensor, int32_t axis, laze_tensor *other, int32_t other_axis);
/* Elements in all; 1 for a 0-d tensor, -1 for an error handle. */
LAZE_API int64_t laze_tensor_elements(laze_tensor *tensor);

/* Calls an operator by name ("add.Tensor" or "add"), for plugins and tools; laze/schema.h lists them, and
 * laze/argument.h has what is passed. Where several operators share a name, what is passed decides, as in graph text
 * (docs/ir.md): "sum" of (x, LAZE_PASS_INTEGERS) is sum.dim_IntList. A number where a tensor is wanted becomes one
 * without dimensions. A tensor of integers where a SymInt is wanted is the size itself: 0-d for one, 1-d, or several
 * 0-d ones, for a list; it is not computed by the call.
 *
 * "add_" (or "add_.Tensor") changes its tensor in place, and an argument `out`, a tensor or a list with one for each
 * result, gets the results of any operator ("add", "add.Tensor", and so called "add.out", "add.Tensor_out"): what
 * laze_results_give_at() of laze/call.h says of tensors that get results. They are the results then.
 *
 * "_foreach_add" (or "_foreach_add_") is "add" of each element of lists, for operators that have a form in place: the
 * first argument is a list of tensors, others that are lists (of tensors or numbers) are as long, and what is no list
 * is the same for each. Each element has a result, and a history, of its own.
 *
 * Writes the operator's results (`capacity` of them at least) and returns how many; an unknown name or wrong arguments
 * give one error handle, whose message lists the schemas of that name. Arguments that the schema has a default for, or
 * that are optional, may be left out. Everything passed is borrowed for the call. 0: there is no room for a result
 * (`results` NULL or `capacity` 0), and nothing was called. */
LAZE_API int32_t laze_call_by_name(laze_context *context, const char *name, const laze_argument *arguments,
                                   int32_t argument_count, laze_tensor **results, int32_t capacity);
/* The same, saying where the call stands (`file` NULL: unknown): messages name it. `file` is kept: it must live as long
 * as the context. */
LAZE_API int32_t laze_call_by_name_at(laze_context *context, const char *name, const laze_argument *arguments,
                                      int32_t argument_count, laze_tensor **results, int32_t capacity, const char *file,
                                      int32_t line);

/* The same of an operator by its number (laze_operator_number()), for calls that are made again and again: neither its
 * name nor overloads are looked for, and there is no form in place, no `out` and no "_foreach_". A number that is no
 * operator's gives one error handle. */
LAZE_API int32_t laze_call_by_number(laze_context *context, int32_t number, const laze_argument *arguments,
                                     int32_t argument_count, laze_tensor **results, int32_t capacity);
LAZE_API int32_t laze_call_by_number_at(laze_context *context, int32_t number, const laze_argument *arguments,
                                        int32_t argument_count, laze_tensor **results, int32_t capacity,
                                        const char *file, int32_t line);

/* Whether such a call would find an operator, without calling it: by names and kinds alone. LAZE_NOT_FOUND: there is
 * none of that name; LAZE_INVALID_ARGUMENT: none takes these arguments, and the message says what each lacks. So a
 * front end tells calls that are wrong in themselves from those that refuse their values. With `positions_end` 1,
 * positions stand only for arguments before the "*" of a schema, as in Python. */
LAZE_API LAZE_MUST_USE laze_status laze_call_match(const char *name, const laze_argument *arguments,
                                                   int32_t argument_count, int32_t positions_end, laze_error *error);

/* Limits of what may be pending on a thread before a graph is cut (counted in budget_cuts, logged as a warning). A cut
 * for nodes stores held values and what was recorded last, or what is smaller among the values it is made from. A cut
 * for bytes (of the pending results) stores held values, or what is smaller among those they are made from, and only
 * where that frees at least as many bytes as it takes: it never raises memory. What is kept for gradients is held, too.
 * Nodes 0 or bytes 0: no limit. Defaults: 100,000 nodes, no limit of bytes. */
LAZE_API void laze_set_budget(laze_context *context, int64_t nodes, int64_t bytes);

/* What computes, saying where the call stands (`file` NULL: unknown), for whoever saves graphs with the line that
 * forced them (docs/debugging.md). In C the macros of laze/call.h say it. `file` is borrowed for the call. */
LAZE_API laze_status laze_tensor_read_at(laze_tensor *tensor, laze_dtype dtype, void *data, size_t size,
                                         const char *file, int32_t line);
LAZE_API double laze_tensor_item_at(laze_tensor *tensor, const char *file, int32_t line);
LAZE_API laze_status laze_tensor_materialise_at(laze_tensor *tensor, const char *file, int32_t line);
LAZE_API LAZE_MUST_USE laze_status laze_tensors_materialise_at(laze_tensor *const *tensors, int32_t count,
                                                               laze_error *error, const char *file, int32_t line);
LAZE_API LAZE_MUST_USE laze_status laze_tensor_export_at(laze_tensor *tensor, laze_export *out, laze_error *error,
                                                         const char *file, int32_t line);
LAZE_API LAZE_MUST_USE laze_status laze_tensor_format_at(laze_tensor *tensor, char *text, size_t size, size_t *needed,
                                                         laze_error *error, const char *file, int32_t line);
LAZE_API laze_status laze_tensor_print_at(laze_tensor *tensor, FILE *stream, const char *file, int32_t line);
LAZE_API laze_status laze_step_end_at(laze_scope *scope, laze_error *error, const char *file, int32_t line);

#ifdef __cplusplus
}
#endif
#endif

/* From loop IR to LLVM IR, one function a kernel:
 *
 *   kernel.c         the walk: one handler an instruction code
 *   kernel_index.c   index arithmetic, and turning values into lanes
 *   kernel_loop.c    loops: serial, in lanes (main part, masked rest), blocks of a named order
 *   kernel_memory.c  loads, stores, checks
 *   kernel_reduce.c  accumulators
 *   kernel_matrix.c  products of blocks, with kernel_panel.c, kernel_tile.c and kernel_row.c (kernel_product.h)
 *
 * Inside a LANES loop a value takes one of three forms. Index arithmetic on the induction variable stays *affine*
 * (lane l holds value + l * stride), which is how a load learns that it is contiguous; what the lanes share is
 * *uniform*, a scalar; the rest is *in lanes*, a vector of 16. Short bodies run several strips of 16 in lockstep
 * (`copies`): two, so that the loads of both stand before the arithmetic, or up to eight around a loop that goes down
 * their columns, so that it reads rows in long pieces.
 */
#ifndef LAZE_CODEGEN_LLVM_KERNEL_H
#define LAZE_CODEGEN_LLVM_KERNEL_H

#include "codegen/llvm/emitter.h"
#include "codegen/llvm/generator.h"
#include "codegen/loop/loop.h"

#define LAZE_MAX_COPIES 8

typedef struct laze_lane_value {
  LLVMValueRef value;  /* affine: an i64 scalar, of lane 0 */
  LLVMValueRef stride; /* i64; NULL unless affine */
} laze_lane_value;

/* The running state of an accumulator, or what a variable holds: scalars, or vectors where it stands in lanes or its
 * order is lanes16. */
typedef struct laze_accumulator_state {
  LLVMValueRef block[LAZE_MAX_COPIES]; /* of the elements since the last fold; of a variable its value */
  LLVMValueRef levels;                 /* address on the stack: level k has the totals of 2^k blocks, of all copies */
  int copies;                          /* how many it has: one for each strip in lockstep, or one for all of them */
  int32_t loop;                        /* the loop that updates it in blocks; -1: none */
} laze_accumulator_state;

/* Where a loop that updates accumulators stands in their blocks; the same for all of them. */
typedef struct laze_block_clock {
  LLVMValueRef folded; /* blocks in the levels: level k is in use where bit k is set */
  LLVMValueRef left;   /* places left in the block */
} laze_block_clock;

typedef struct laze_llvm_kernel {
  laze_llvm_emitter e;
  const laze_loop_kernel *kernel;
  laze_vector_unit unit;
  laze_arena *arena;
  LLVMValueRef function, failure, begin, end;
  LLVMValueRef zero_slot;             /* zeros for all lanes on the stack; NULL until a guarded load needs them */
  LLVMValueRef partial, runs, places; /* room on the stack for matrix products; NULL until used */
  LLVMValueRef *buffers, *sizes;      /* loaded on entry */
  laze_lane_value (*values)[LAZE_MAX_COPIES]; /* by instruction */
  laze_accumulator_state *accumulators;       /* by instruction */
  laze_block_clock *clocks;                   /* by instruction: BEGIN */
  int32_t *ends;                              /* BEGIN: its END */
  bool *hoisted;                              /* already emitted before the LANES loop that holds it */
  bool in_lanes;
  int copies;                           /* strips in lockstep */
  LLVMValueRef active[LAZE_MAX_COPIES]; /* of each, the lanes that run, as a mask; NULL: all */
  bool down_columns;                    /* in a serial loop inside one in lanes */
  LLVMValueRef hoisted_guard; /* while emitting ahead of a loop: whether it has an iteration; NULL otherwise */
  laze_error *error;
} laze_llvm_kernel;

/* Adds `kernel` to the module as the function `symbol`. `emitter`'s builder is moved. */
LAZE_MUST_USE laze_status laze_llvm_add_kernel(const laze_llvm_emitter *emitter, laze_vector_unit unit,
                                               const laze_loop_kernel *kernel, const char *symbol, laze_arena *arena,
                                               laze_error *error);

/* kernel.c */
static inline int32_t laze_llvm_operand(const laze_llvm_kernel *l, const laze_loop_instruction *i, int32_t k) {
  return l->kernel->operands[i->first + k];
}
static inline const laze_loop_instruction *laze_llvm_instruction_at(const laze_llvm_kernel *l, int32_t index) {
  return &l->kernel->instructions[index];
}
/* Lowers instructions [first, last). */
LAZE_MUST_USE laze_status laze_llvm_span(laze_llvm_kernel *l, int32_t first, int32_t last);
/* Lowers one instruction that is no BEGIN. */
LAZE_MUST_USE laze_status laze_llvm_instruction(laze_llvm_kernel *l, int32_t index);
LLVMBasicBlockRef laze_llvm_add_block(laze_llvm_kernel *l);
/* Room on the stack for `count` of a type, from the kernel's entry on, aligned to a vector register. */
LLVMValueRef laze_llvm_stack(laze_llvm_kernel *l, LLVMTypeRef type, uint64_t count);

/* kernel_index.c */
LLVMTypeRef laze_llvm_i64_type(const laze_llvm_kernel *l);
LLVMValueRef laze_llvm_i64_constant(const laze_llvm_kernel *l, int64_t value);
bool laze_llvm_is_uniform(laze_lane_value value);
/* Whether lane l + 1 is lane l plus one. */
bool laze_llvm_is_contiguous(laze_lane_value value);
LLVMValueRef laze_llvm_splat(laze_llvm_kernel *l, LLVMValueRef scalar);
/* The value as a vector of lanes. */
LLVMValueRef laze_llvm_lanes(laze_llvm_kernel *l, laze_lane_value value);
/* Index arithmetic of operand values a and b. */
laze_lane_value laze_llvm_index(laze_llvm_kernel *l, laze_loop_code code, laze_lane_value a, laze_lane_value b);
/* The mask of lanes below `remaining` (i64). */
LLVMValueRef laze_llvm_mask_below(laze_llvm_kernel *l, LLVMValueRef remaining);
/* a & b where NULL stands for all. */
LLVMValueRef laze_llvm_mask_and(laze_llvm_kernel *l, LLVMValueRef a, LLVMValueRef b);

/* kernel_loop.c */
LAZE_MUST_USE laze_status laze_llvm_loop(laze_llvm_kernel *l, int32_t begin);
/* A loop with a counter and values that it carries from one iteration to the next as phis: begin, enter (which
 * laze_counted_loop_open does with `counter < to`), emit the body, close. After it the values are those of the last
 * header. */
typedef struct laze_counted_loop {
  LLVMValueRef **slots; /* where the carried values are kept */
  int32_t slot_count;
  LLVMBasicBlockRef header, exit;
  LLVMValueRef counter, *phis;
} laze_counted_loop;
LAZE_MUST_USE laze_status laze_counted_loop_begin(laze_llvm_kernel *l, laze_counted_loop *loop, LLVMValueRef from);
void laze_counted_loop_enter(laze_llvm_kernel *l, laze_counted_loop *loop, LLVMValueRef condition);
LAZE_MUST_USE laze_status laze_counted_loop_open(laze_llvm_kernel *l, laze_counted_loop *loop, LLVMValueRef from,
                                                 LLVMValueRef to);
void laze_counted_loop_close(laze_llvm_kernel *l, laze_counted_loop *loop, LLVMValueRef step);

/* kernel_memory.c */
LLVMTypeRef laze_llvm_memory_type(const laze_llvm_kernel *l, laze_dtype dtype);
LLVMValueRef laze_llvm_pointer(laze_llvm_kernel *l, int64_t buffer, LLVMValueRef offset);
laze_lane_value laze_llvm_load(laze_llvm_kernel *l, const laze_loop_instruction *i, int copy);
void laze_llvm_store(laze_llvm_kernel *l, const laze_loop_instruction *i, int copy);
laze_lane_value laze_llvm_check(laze_llvm_kernel *l, const laze_loop_instruction *i, int copy);
/* Contiguous vectors of any length; `mask` NULL: all lanes; lanes off read as 0. */
LLVMValueRef laze_llvm_vector_load(laze_llvm_kernel *l, LLVMTypeRef vector, LLVMValueRef pointer, LLVMValueRef mask,
                                   int64_t alignment);
void laze_llvm_vector_store(laze_llvm_kernel *l, LLVMValueRef value, LLVMValueRef pointer, LLVMValueRef mask,
                            int64_t alignment);
/* Asks for memory ahead of its use; never faults, so it may lie past the end of what there is. */
typedef enum {
  LAZE_PREFETCH_SOON,     /* to read, among what comes next */
  LAZE_PREFETCH_LATER,    /* to read, behind much else: into the second cache */
  LAZE_PREFETCH_TO_WRITE, /* likewise, to write */
} laze_prefetch;
void laze_llvm_prefetch(laze_llvm_kernel *l, LLVMValueRef pointer, laze_prefetch what);
LLVMValueRef laze_llvm_gather(laze_llvm_kernel *l, LLVMTypeRef vector, LLVMValueRef pointers, LLVMValueRef mask,
                              int64_t alignment);

/* kernel_reduce.c */
void laze_llvm_accumulator(laze_llvm_kernel *l, int32_t index);
/* Places in a block of the order that a loop's accumulators have. */
LLVMValueRef laze_llvm_block_length(const laze_llvm_kernel *l, int32_t begin);
LAZE_MUST_USE laze_status laze_llvm_update(laze_llvm_kernel *l, const laze_loop_instruction *i, int copy);
/* Where the states of an accumulator's blocks are kept: how many, at most LAZE_MAX_COPIES, with the places in `slots`.
 */
int laze_llvm_states(laze_llvm_kernel *l, int32_t accumulator, LLVMValueRef **slots);
/* Puts a finished block of each of a loop's accumulators into its levels and starts the next. */
LAZE_MUST_USE laze_status laze_llvm_fold(laze_llvm_kernel *l, const int32_t *accumulators, int32_t count);
/* For all copies. */
LAZE_MUST_USE laze_status laze_llvm_result(laze_llvm_kernel *l, const laze_loop_instruction *i,
                                           laze_lane_value *results);
LAZE_MUST_USE laze_status laze_llvm_operation(laze_llvm_kernel *l, laze_op op, laze_dtype compute,
                                              const LLVMValueRef *operands, LLVMValueRef *result);

/* kernel_matrix.c */
LAZE_MUST_USE laze_status laze_llvm_matrix(laze_llvm_kernel *l, const laze_loop_instruction *i);

#endif

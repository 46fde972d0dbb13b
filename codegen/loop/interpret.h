/* An interpreter of loop IR, which tells a wrong schedule from a wrong lowering. For tests: built with them alone. */
#ifndef LAZE_CODEGEN_LOOP_INTERPRET_H
#define LAZE_CODEGEN_LOOP_INTERPRET_H

#include "codegen/loop/loop.h"

/* Runs the kernel one scalar iteration at a time. `arguments` as native code gets them (runtime/kernel.h). */
struct laze_kernel_arguments;
LAZE_MUST_USE laze_status laze_loop_interpret(const laze_loop_kernel *kernel, laze_context *context,
                                              const struct laze_kernel_arguments *arguments, int64_t begin, int64_t end,
                                              laze_error *error);

#endif

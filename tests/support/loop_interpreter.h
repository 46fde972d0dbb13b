/* An interpreter of loop IR, which tells a wrong schedule from a wrong lowering. */
#ifndef LAZE_TESTS_SUPPORT_LOOP_INTERPRETER_H
#define LAZE_TESTS_SUPPORT_LOOP_INTERPRETER_H

#include "codegen/loop/loop.h"

/* Runs the kernel one scalar iteration at a time. `arguments` as native code gets them (runtime/kernel.h). */
struct laze_kernel_arguments;
LAZE_MUST_USE laze_status test_interpret_loop(const laze_loop_kernel *kernel, laze_context *context,
                                              const struct laze_kernel_arguments *arguments, int64_t begin, int64_t end,
                                              laze_error *error);

#endif

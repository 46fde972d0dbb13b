/* What differs between LLVM 19 and the versions up to 22: the rest of the folder does not ask for a version. */
#ifndef LAZE_CODEGEN_LLVM_LLVM_VERSIONS_H
#define LAZE_CODEGEN_LLVM_LLVM_VERSIONS_H

#include <llvm-c/Core.h>
#include <llvm/Config/llvm-config.h>

/* Until LLVM 21 masked loads, stores, gathers and scatters take their alignment as an operand behind the pointers;
 * since then it is an attribute of the pointer operand. */
#define LAZE_MASKED_ALIGNMENT_IS_OPERAND (LLVM_VERSION_MAJOR < 22)

#endif

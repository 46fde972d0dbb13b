/* The native backend: graphs through groups and loop IR to machine code made by LLVM. */
#ifndef LAZE_CODEGEN_NATIVE_NATIVE_H
#define LAZE_CODEGEN_NATIVE_NATIVE_H

#include "runtime/backend.h"

extern const laze_backend laze_backend_llvm;

#endif

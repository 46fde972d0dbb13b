/* The machine that code is generated for, found without LLVM, so that a warm process can look into the disk cache. */
#ifndef LAZE_CODEGEN_NATIVE_TARGET_H
#define LAZE_CODEGEN_NATIVE_TARGET_H

#include "base/text.h"

/* Appends a description that differs between any two x86-64 processors for which LLVM could generate different code
 * (vendor, model and raw feature words); the machine's name on others. Thread-safe; a failure shows in `text`. */
void laze_target_describe(laze_text *text);

#endif

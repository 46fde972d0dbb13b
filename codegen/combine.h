/* How operators that write at computed places join an element with the one that is there. */
#ifndef LAZE_CODEGEN_COMBINE_H
#define LAZE_CODEGEN_COMBINE_H

#include "ir/op.h"

/* The operator of a way that their rule takes ("sum", ...); LAZE_OP_NONE: the element takes the other's place. */
laze_op laze_combine_operator(const char *reduce);

#endif

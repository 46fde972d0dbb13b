/* Everything that a program which records tensor operations needs. */
#ifndef LAZE_LAZE_H
#define LAZE_LAZE_H

#include "laze/autograd.h"
#include "laze/call.h"
#include "laze/context.h"
#include "laze/dtype.h"
#include "laze/functions.h" /* generated from the operator tables */
#include "laze/gradient_node.h"
#include "laze/library.h"
#include "laze/npy.h"
#include "laze/opaque.h"
#include "laze/optim.h"
#include "laze/safetensors.h"
#include "laze/status.h"
#include "laze/tensor.h"

#endif

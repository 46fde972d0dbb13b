/* Graphs of operators: how they are made, read, compared and rewritten.
 *
 *   builder.h   records calls into a graph (recorder.h is the interface, for composites and the lazy layer too)
 *   graph.h     nodes, blocks, values; equality and key; symbolic sizes
 *   text/       prints and parses (docs/ir.md)
 *   pass.h      rewrites graphs: fold, branches, simplify, common nodes, dead nodes, expand
 *   walk.h      visits nodes in order, into regions
 *   module.h    graphs, and functions that they call
 *   control.h   what `if`, `while` and `reduce` demand of their regions
 *   op.h        operators as data (generated from ops/)
 */
#ifndef LAZE_IR_IR_H
#define LAZE_IR_IR_H

#include "ir/builder.h"
#include "ir/control.h"
#include "ir/graph.h"
#include "ir/module.h"
#include "ir/op.h"
#include "ir/pass.h"
#include "ir/recorder.h"
#include "ir/text/text.h"
#include "ir/walk.h"

#endif

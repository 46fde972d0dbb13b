/* A backend for tests: schedules as the native one does, but runs each group's loop IR on the interpreter of loop IR
 * instead of compiling it. Cheap enough for thousands of graphs, and it tells a wrong schedule (differs from the
 * reference interpreter) from a wrong lowering (differs from native code). Calls are cut into several ranges, as
 * threads would. */
#ifndef LAZE_TESTS_SUPPORT_LOOP_BACKEND_H
#define LAZE_TESTS_SUPPORT_LOOP_BACKEND_H

#include "runtime/backend.h"

extern const laze_backend test_backend_loop;

#endif

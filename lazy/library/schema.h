/* Schemas of operators that programs declare: "mine::scale(Tensor x, float by) -> Tensor". Immutable once read. */
#ifndef LAZE_LAZY_LIBRARY_SCHEMA_H
#define LAZE_LAZY_LIBRARY_SCHEMA_H

#include "base/arena.h"
#include "base/status.h"
#include "ir/argument.h"
#include "laze/opaque.h"

typedef struct laze_library_schema {
  const char *text, *name; /* "mine::scale", "mine::scale.overload" */
  int32_t argument_count;
  const laze_argument_info *arguments;
  int32_t result_count;
  int32_t results[LAZE_OPAQUE_MAX_RESULTS]; /* the argument that a result is; -1: a value of its own */
  int32_t write_count;
  int32_t writes[LAZE_OPAQUE_MAX_RESULTS]; /* arguments that are written to */
  bool is_view;                            /* the first result is in the memory of the first argument */
} laze_library_schema;

/* Reads one; what it consists of is in the arena. */
LAZE_MUST_USE laze_status laze_library_schema_parse(laze_arena *arena, const char *text, laze_library_schema *out,
                                                    laze_error *error);
/* Whether it writes to an argument or shares memory with one. */
static inline bool laze_library_schema_aliases(const laze_library_schema *schema) {
  return schema->is_view || schema->write_count > 0;
}
bool laze_library_schema_writes(const laze_library_schema *schema, int32_t argument);
/* How many results are values of their own. Behind them a kernel's call gives what is written, in the order of
 * `writes`. */
int32_t laze_library_schema_own_results(const laze_library_schema *schema);

#endif

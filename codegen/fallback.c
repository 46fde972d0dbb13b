/* The settings of laze/compile.h for operators that the interpreter runs in native programs; base/fallback.h keeps
 * them, and knows no operator. */
#include "base/fallback.h"

#include "base/context.h"
#include "ir/op.gen.h"
#include "laze/compile.h"

int32_t laze_set_strict(laze_context *context, int32_t strict) {
  if (!context) context = laze_context_default();
  return context ? laze_fallbacks_set_strict(laze_context_fallbacks(context), strict != 0) : 0;
}

/* What is never a node that could be left to the interpreter. */
static const char *find_refusal(const laze_op_info *info, laze_op op) {
  if (info->op_class == LAZE_CLASS_COMPOSITE) return "a composite, which is run as its parts; force one of those";
  if (info->op_class == LAZE_CLASS_STRUCTURE || op == LAZE_OP_CONSTANT) return "part of the structure of graphs";
  return op == LAZE_OP_OPAQUE ? "the call of a kernel that is no native code anyway" : NULL;
}

laze_status laze_force_fallback(laze_context *context, const char *name, int32_t forced, laze_error *error) {
  if (!context) context = laze_context_default();
  if (!context) return laze_fail_memory(error, "the default context", -1);
  const laze_op op = name ? laze_op_find(name) : LAZE_OP_NONE;
  if (op == LAZE_OP_NONE)
    return laze_fail(error, LAZE_NOT_FOUND,
                     "laze_force_fallback: there is no operator '%.64s', or several of that name; say which, as in "
                     "add.Tensor",
                     name ? name : "");
  const laze_op_info *info = laze_op_get(op);
  const char *refusal = find_refusal(info, op);
  if (refusal) return laze_fail(error, LAZE_UNSUPPORTED, "laze_force_fallback: %s is %s", info->name, refusal);
  return laze_fallbacks_force(laze_context_fallbacks(context), info->name, forced != 0, error);
}

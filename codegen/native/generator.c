/* Opening the code generator, and going into it:
 *
 *   path (generator_path.c) ─ dlopen ─> exported function ─> table ─ compile ─┐ between entering and leaving the gate
 *                                                                             v
 *                                                                    object, LLVM IR or assembly
 */
#include "codegen/native/generator.h"

#include "codegen/native/compile_gate.h"
#include "ir/op.gen.h"

#include <dlfcn.h>
#include <string.h>

void laze_generator_init(laze_generator *generator) {
  generator->table = NULL;
  generator->is_identified = false;
  pthread_mutex_init(&generator->lock, NULL);
}

void laze_generator_deinit(laze_generator *generator) {
  pthread_mutex_destroy(&generator->lock);
}

/* Under the lock. */
static laze_status open_table(laze_generator *generator, laze_error *error) {
  char buffer[4096];
  const char *path = laze_generator_path(buffer, sizeof buffer);
  if (!path)
    return laze_fail(error, LAZE_UNSUPPORTED,
                     "the LLVM code generator is not installed beside this library; install it, or use backend interp");
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!handle) return laze_fail(error, LAZE_UNSUPPORTED, "the LLVM code generator cannot be opened: %s", dlerror());
  void *symbol = dlsym(handle, LAZE_LLVM_GENERATOR_SYMBOL);
  laze_llvm_generator_function function;
  if (!symbol) return laze_fail(error, LAZE_UNSUPPORTED, "%s is not laze's code generator", path);
  memcpy(&function, &symbol, sizeof function); /* ISO C has no conversion between the two kinds of pointer */
  const laze_llvm_generator *table = function();
  if (table->version != LAZE_LLVM_GENERATOR_VERSION)
    return laze_fail(error, LAZE_UNSUPPORTED, "%s is of another version (%d, expected %d): install both from one build",
                     path, (int)table->version, LAZE_LLVM_GENERATOR_VERSION);
  if (table->operators != LAZE_OP_NUMBERING)
    return laze_fail(error, LAZE_UNSUPPORTED, "%s numbers operators otherwise: install both from one build", path);
  generator->table = table;
  generator->is_identified = laze_generator_names_llvm(table->llvm_file());
  laze_compile_gate_arm(); /* before the exit handlers of an LLVM that is a shared library */
  return LAZE_OK;
}

laze_status laze_generator_open(laze_generator *generator, laze_error *error) {
  laze_compile_gate_stay stay;
  pthread_mutex_lock(&generator->lock); /* first: nobody waits for it inside the gate */
  laze_status status = laze_compile_gate_enter(&stay, error);
  if (status == LAZE_OK) {
    if (!generator->table) status = open_table(generator, error);
    laze_compile_gate_leave(&stay);
  }
  pthread_mutex_unlock(&generator->lock);
  return status;
}

laze_status laze_generator_run(const laze_generator *generator, laze_context *context, const laze_llvm_request *request,
                               laze_text *out, laze_error *error) {
  laze_compile_gate_stay stay;
  LAZE_TRY(laze_compile_gate_enter(&stay, error));
  laze_status status = generator->table->compile(context, request, out, error);
  laze_compile_gate_leave(&stay);
  return status;
}

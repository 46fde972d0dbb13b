/* What the generator's code is, told from files that stay closed, so that a process which finds all its kernels on disk
 * loads neither the generator nor LLVM:
 *
 *   static LLVM   build id of the generator
 *   shared LLVM   build id of the generator, and of the library that it was linked with
 *
 * and how operators are numbered, which kernels name by number: a library may have been built anew without the
 * generator.
 */
#include "codegen/native/generator.h"

#include "ir/op.gen.h"
#include "runtime/build_id.h"

#include <inttypes.h>
#include <string.h>

/* The file that is to hold LLVM; NULL: there is no generator. */
static const char *named_file(char *buffer, int64_t size) {
  return *LAZE_LLVM_FILE ? LAZE_LLVM_FILE : laze_generator_path(buffer, size);
}

laze_status laze_generator_identity(laze_text *out, laze_error *error) {
  char buffer[4096], id[LAZE_BUILD_ID_SIZE];
  const char *path = laze_generator_path(buffer, sizeof buffer);
  if (!path) return laze_fail(error, LAZE_NOT_FOUND, "the LLVM code generator is not installed beside this library");
  LAZE_TRY(laze_build_id_read(path, id, error));
  laze_text_format(out, "%s operators %016" PRIx64, id, LAZE_OP_NUMBERING);
  if (*LAZE_LLVM_FILE) {
    LAZE_TRY(laze_build_id_read(LAZE_LLVM_FILE, id, error));
    laze_text_format(out, " llvm %s", id);
  }
  return laze_text_check(out, error);
}

bool laze_generator_names_llvm(const char *file) {
  char buffer[4096], named[LAZE_BUILD_ID_SIZE], found[LAZE_BUILD_ID_SIZE];
  const char *path = named_file(buffer, sizeof buffer);
  return path && file && laze_build_id_read(path, named, NULL) == LAZE_OK &&
         laze_build_id_read(file, found, NULL) == LAZE_OK && strcmp(named, found) == 0;
}

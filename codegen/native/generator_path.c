/* Where the code generator lies. Code in the build folder takes the one of that build; installed code takes the one
 * beside its library, or, for programs that contain the library, the one in the install folder. Taking the other's
 * would run kernels of another build's generator.
 */
#include "codegen/native/generator.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_readable(const char *path) {
  return access(path, R_OK) == 0;
}

/* The absolute path of the library or program that holds this code. For a program dladdr gives what argv[0] is, which
 * found through PATH, or changed, is no path; its link map has an empty name. */
static bool find_own_path(char out[PATH_MAX]) {
  static const char anchor = 0;
  Dl_info here;
  struct link_map *map = NULL;
  if (!dladdr1(&anchor, &here, (void **)&map, RTLD_DL_LINKMAP) || !map) return false;
  return realpath(*map->l_name ? map->l_name : "/proc/self/exe", out) != NULL;
}

/* `folder` of a path's folder, joined with the generator's name. */
static bool join_beside(const char *own, const char *folder, char *buffer, int64_t size) {
  int written =
      snprintf(buffer, (size_t)size, "%.*s/%s%s", (int)(strrchr(own, '/') - own), own, folder, LAZE_GENERATOR_FILE);
  return written > 0 && written < size && is_readable(buffer);
}

const char *laze_generator_path(char *buffer, int64_t size) {
  char own[PATH_MAX], root[PATH_MAX];
  if (find_own_path(own)) {
    size_t length = realpath(LAZE_BUILD_ROOT, root) ? strlen(root) : 0;
    bool in_build = length > 0 && strncmp(own, root, length) == 0 && own[length] == '/';
    if (in_build && is_readable(LAZE_GENERATOR_BUILD_PATH)) return LAZE_GENERATOR_BUILD_PATH;
    if (join_beside(own, "laze/", buffer, size) || join_beside(own, "", buffer, size)) return buffer;
  }
  return is_readable(LAZE_GENERATOR_INSTALL_PATH) ? LAZE_GENERATOR_INSTALL_PATH : NULL;
}

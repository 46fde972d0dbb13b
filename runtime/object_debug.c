/* GDB looks in every loaded file for a descriptor of the name below and stops at the function of the name below
 * whenever the list behind the descriptor changed; the names and structures are GDB's ("JIT Compilation Interface").
 *
 * Two things follow. The list is process-wide: it is the one mutable global of this folder, because the interface says
 * so, and it has a lock. And other libraries of the process (LLVM, other JITs) define the same names: ours are hidden,
 * so that the dynamic linker never merges the two lists, each of which has a lock of its own. GDB finds hidden names
 * through the symbol table, from version 11 on in each file separately; a stripped library needs its separate debug
 * file. They are weak too, so that linking statically with such a library does not fail.
 */
#include "runtime/object_debug.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct jit_entry {
  struct jit_entry *next, *previous;
  const char *object;
  uint64_t size;
} jit_entry;

enum { JIT_NO_ACTION, JIT_REGISTER, JIT_UNREGISTER };

typedef struct {
  uint32_t version;
  uint32_t action;
  jit_entry *relevant;
  jit_entry *first;
} jit_descriptor;

#define JIT_INTERFACE __attribute__((weak, used, visibility("hidden")))

extern jit_descriptor __jit_debug_descriptor;
void __jit_debug_register_code(void);

JIT_INTERFACE jit_descriptor __jit_debug_descriptor = {1, JIT_NO_ACTION, NULL, NULL};

/* GDB's breakpoint. The barrier keeps calls from being optimised away, and stores before them from moving. */
JIT_INTERFACE __attribute__((noinline)) void __jit_debug_register_code(void) {
  __asm__ volatile("" ::: "memory");
}

static pthread_mutex_t jit_lock = PTHREAD_MUTEX_INITIALIZER;

struct laze_object_debug {
  jit_entry entry;
  uint8_t object[];
};

static void notify_locked(uint32_t action, jit_entry *entry) {
  __jit_debug_descriptor.action = action;
  __jit_debug_descriptor.relevant = entry;
  __jit_debug_register_code();
  __jit_debug_descriptor.action = JIT_NO_ACTION;
  __jit_debug_descriptor.relevant = NULL;
}

laze_object_debug *laze_object_debug_register(laze_context *context, const laze_elf *elf, const uint64_t *addresses) {
  laze_object_debug *debug = laze_alloc_zero(context, (int64_t)sizeof *debug + elf->size);
  if (!debug) return NULL;
  memcpy(debug->object, elf->bytes, (size_t)elf->size);
  Elf64_Ehdr header;
  memcpy(&header, elf->bytes, sizeof header);
  for (int i = 0; i < elf->section_count; i++) {
    Elf64_Shdr section = elf->sections[i];
    section.sh_addr = addresses[i];
    memcpy(debug->object + header.e_shoff + (uint64_t)i * sizeof section, &section, sizeof section);
  }
  debug->entry.object = (const char *)debug->object;
  debug->entry.size = (uint64_t)elf->size;
  pthread_mutex_lock(&jit_lock);
  debug->entry.next = __jit_debug_descriptor.first;
  if (debug->entry.next) debug->entry.next->previous = &debug->entry;
  __jit_debug_descriptor.first = &debug->entry;
  notify_locked(JIT_REGISTER, &debug->entry);
  pthread_mutex_unlock(&jit_lock);
  return debug;
}

void laze_object_debug_unregister(laze_context *context, laze_object_debug *debug) {
  if (!debug) return;
  jit_entry *entry = &debug->entry;
  pthread_mutex_lock(&jit_lock);
  if (entry->previous)
    entry->previous->next = entry->next;
  else
    __jit_debug_descriptor.first = entry->next;
  if (entry->next) entry->next->previous = entry->previous;
  notify_locked(JIT_UNREGISTER, entry);
  pthread_mutex_unlock(&jit_lock);
  laze_free(context, debug);
}

int laze_perf_map_open(void) {
  char path[64];
  snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
  /* /tmp is everybody's: what somebody else put there under this name (a link, a pipe that nobody reads, a file of
   * theirs, or another name of a file of ours) is neither followed nor waited for nor written. */
  int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  struct stat info;
  if (file < 0) return -1;
  if (fstat(file, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() && info.st_nlink == 1) return file;
  close(file);
  errno = EPERM;
  return -1;
}

void laze_perf_map_append(int file, const void *address, uint64_t size, const char *name) {
  for (const char *c = name; *c; c++) {
    if ((unsigned char)*c <= ' ' || *c == 0x7f) return;
  }
  /* One write a line: appends of several threads do not mix. */
  if (file >= 0 && *name)
    dprintf(file, "%llx %llx %s\n", (unsigned long long)(uintptr_t)address, (unsigned long long)size, name);
}

void laze_perf_map_close(int file) {
  if (file >= 0) close(file);
}

/* Reserves as regions of address space (reserve.h). A region is listed once a piece of it was given, and until its last
 * piece has come back, which may be long after it was closed:
 *
 *   base         cursor                                  end
 *   |header block|header block| ... never touched ...    |     given[class]: blocks that came back, by size
 */
#include "codegen/llvm/reserve.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
  REGIONS = 64,               /* reserves that LLVM has pieces of at once */
  STATIC_BYTES = 1 << 20,     /* for LLVM's static constructors; measured: 0.15 MiB */
  STACK_BYTES = 512 << 10,    /* measured: 0.26 MiB, with what calls LLVM; see touch_stack() */
  STACK_KEPT_FREE = 64 << 10, /* of the stack's own limit */
  STACK_MOST = 8 << 20,       /* further down than this it is another stack */
  BLOCK_ALIGNMENT = 16,
  CLASSES = 48 /* block sizes: powers of two */
};

/* Before each block. */
typedef struct {
  _Alignas(BLOCK_ALIGNMENT) size_t size; /* asked for */
  int32_t class;                         /* -1: not used again */
} block_header;

/* A reserve that has been used. */
typedef struct {
  char *base, *cursor, *end; /* base NULL: a free entry */
  int64_t live;              /* blocks */
  bool open;
  void *given[CLASSES]; /* blocks to be used again; each begins with a pointer to the next */
} region;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the regions */
static region regions[REGIONS];
static _Atomic uintptr_t lowest = UINTPTR_MAX, highest = 0; /* of all regions there ever were */
static _Atomic bool escaped;
static char static_memory[STATIC_BYTES];
static int static_region = -1;

/* Part of the block of thread-local storage that every thread has: asking for it allocates nothing, and neither does
 * LLVM's own, which is in the same block. */
static _Thread_local laze_reserve *current __attribute__((tls_model("initial-exec")));

static size_t page_size(void) {
  return (size_t)sysconf(_SC_PAGESIZE);
}

/* Where the stack of the main thread begins, in glibc. */
extern char *__libc_stack_end __attribute__((weak));

/* Not inlined: a caller must not have this frame, which may be larger than its stack. */
static __attribute__((noinline)) void use_stack(char value) {
  char area[STACK_BYTES];
  for (size_t i = STACK_BYTES; i >= 4096; i -= 4096) *(volatile char *)&area[i - 1] = value;
}

/* The main thread's stack grows when it is used, which ends the process where there is no address space left for it.
 * Makes it grow as far as LLVM needs while there is. Other stacks are mapped whole. */
static void touch_stack(void) {
  volatile char here = 0;
  struct rlimit limit;
  if (!&__libc_stack_end || getrlimit(RLIMIT_STACK, &limit) != 0) return;
  uintptr_t used = (uintptr_t)__libc_stack_end - (uintptr_t)&here;
  uintptr_t most = limit.rlim_cur < STACK_MOST ? (uintptr_t)limit.rlim_cur : STACK_MOST;
  if (used > most || most - used < STACK_BYTES + STACK_KEPT_FREE) return; /* another one, or little left */
  use_stack(here);
}

laze_status laze_reserve_open(laze_reserve *reserve, size_t bytes, laze_error *error) {
  if (atomic_load(&escaped))
    return laze_fail(error, LAZE_UNSUPPORTED,
                     "the code generator had to be left half way before and cannot be used in this process any more; "
                     "use the backend \"interp\"");
  size_t page = page_size();
  bytes = (bytes + page - 1) / page * page;
  char *base =
      mmap(NULL, bytes + STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED)
    return laze_fail(error, LAZE_OUT_OF_MEMORY,
                     "compiling needs up to %zu MiB of address space, and there is no such piece; raise the limit, or "
                     "use the backend \"interp\"",
                     (bytes + STACK_BYTES) >> 20);
  munmap(base + bytes, STACK_BYTES);
  touch_stack();
  *reserve = (laze_reserve){.outer = current, .base = base, .end = base + bytes, .region = -1};
  current = reserve;
  return LAZE_OK;
}

/* Under the lock: a region that nobody needs any more goes. */
static void drop_if_unused(region *r) {
  if (r->open || r->live > 0) return;
  munmap(r->base, (size_t)(r->end - r->base));
  *r = (region){0};
}

void laze_reserve_close(laze_reserve *reserve) {
  current = reserve->outer;
  if (reserve->region < 0) {
    munmap(reserve->base, (size_t)(reserve->end - reserve->base));
    return;
  }
  pthread_mutex_lock(&lock);
  region *r = &regions[reserve->region];
  size_t page = page_size(), used = ((size_t)(r->cursor - r->base) + page - 1) / page * page;
  if (r->base + used < r->end) munmap(r->base + used, (size_t)(r->end - r->base) - used);
  r->end = r->base + used;
  r->open = false;
  drop_if_unused(r);
  pthread_mutex_unlock(&lock);
}

void laze_reserve_escape(laze_status status, const char *reason) {
  laze_reserve *reserve = current;
  if (!reserve) return;
  atomic_store(&escaped, true);
  reserve->status = status;
  snprintf(reserve->reason, sizeof reserve->reason, "%s", reason);
  siglongjmp(reserve->escape, 1);
}

/* Lists a piece of memory, under the lock; -1 when the list is full. */
static int list_region(char *base, char *end) {
  for (int i = 0; i < REGIONS; i++) {
    if (regions[i].base) continue;
    regions[i] = (region){.base = base, .cursor = base, .end = end, .open = true};
    if ((uintptr_t)base < atomic_load(&lowest)) atomic_store(&lowest, (uintptr_t)base);
    if ((uintptr_t)end > atomic_load(&highest)) atomic_store(&highest, (uintptr_t)end);
    return i;
  }
  return -1;
}

static block_header *header_of(void *block) {
  return (block_header *)block - 1;
}

/* A new block at the cursor; NULL when there is no room. */
static void *cut_from(region *r, size_t size, size_t alignment) {
  uintptr_t start = ((uintptr_t)r->cursor + sizeof(block_header) + alignment - 1) & -alignment;
  if (start > (uintptr_t)r->end || size > (uintptr_t)r->end - start) return NULL;
  r->cursor = r->base + (start - (uintptr_t)r->base) + size;
  return r->cursor - size;
}

static void *take_from(region *r, size_t size, size_t alignment) {
  int32_t class = 4;
  while (class < CLASSES && (size_t)1 << class < size) class ++;
  if (class == CLASSES) return NULL;
  bool usual = alignment == BLOCK_ALIGNMENT;
  void *block = usual ? r->given[class] : NULL;
  if (block)
    r->given[class] = *(void **)block;
  else
    block = cut_from(r, (size_t)1 << class, alignment);
  if (!block) return NULL;
  *header_of(block) = (block_header){.size = size, .class = usual ? class : -1};
  r->live++;
  return block;
}

static void give_to(region *r, void *block) {
  r->live--;
  int32_t class = header_of(block)->class;
  if (class < 0) return;
  *(void **)block = r->given[class];
  r->given[class] = block;
}

void *laze_reserve_take(size_t size, size_t alignment) {
  laze_reserve *reserve = current;
  if (alignment < BLOCK_ALIGNMENT) alignment = BLOCK_ALIGNMENT;
  pthread_mutex_lock(&lock);
  int *listed = reserve ? &reserve->region : &static_region;
  if (*listed < 0)
    *listed = reserve ? list_region(reserve->base, reserve->end)
                      : list_region(static_memory, static_memory + sizeof static_memory);
  void *block = *listed < 0 ? NULL : take_from(&regions[*listed], size, alignment);
  pthread_mutex_unlock(&lock);
  if (!block)
    laze_reserve_escape(LAZE_OUT_OF_MEMORY, "memory is out, and so is what was reserved for the code generator");
  return block;
}

/* Under the lock. */
static region *region_of(const void *memory) {
  for (int i = 0; i < REGIONS; i++)
    if ((const char *)memory >= regions[i].base && (const char *)memory < regions[i].end) return &regions[i];
  return NULL;
}

bool laze_reserve_owns(const void *memory) {
  uintptr_t address = (uintptr_t)memory;
  if (address < atomic_load_explicit(&lowest, memory_order_relaxed) ||
      address >= atomic_load_explicit(&highest, memory_order_relaxed))
    return false;
  pthread_mutex_lock(&lock);
  bool found = region_of(memory) != NULL;
  pthread_mutex_unlock(&lock);
  return found;
}

void laze_reserve_give(void *memory) {
  pthread_mutex_lock(&lock);
  region *r = region_of(memory);
  give_to(r, memory);
  drop_if_unused(r);
  pthread_mutex_unlock(&lock);
}

size_t laze_reserve_size(const void *memory) {
  return ((const block_header *)memory)[-1].size;
}

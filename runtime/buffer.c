/* Tensor memory. From 64 KiB on blocks are mapped, and those given back wait on a list for the next of about their
 * size; smaller ones are the C library's, and wait as runtime/small_blocks.h says:
 *
 *   create         the tightest block of the list; else mapped anew, within what the process can hope for
 *   last release   onto the list; the oldest are unmapped beyond 64 entries or 256 MiB
 */
#include "runtime/buffer.h"

#include "base/checked.h"
#include "runtime/runtime.h"
#include "runtime/small_blocks.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#define IDLE_MAX 64                      /* entries of the free list */
#define MAP_UNIT (INT64_C(4096))         /* mapped blocks are rounded up to this, larger ones to 1/16 (size_class) */
#define ADDRESS_SPACE (INT64_C(1) << 47) /* what a process can address at most; sums of two fit */
#define HUGE_PAGE_MINIMUM (INT64_C(4) << 20) /* from here on 2 MiB pages save more faults than they waste */

typedef struct {
  void *data;
  int64_t capacity;
} idle_block;

struct laze_buffer_pool {
  laze_context *context;       /* borrowed: the pool is part of it */
  _Atomic int64_t references;  /* one of the context, one of each buffer */
  _Atomic int64_t owned_bytes; /* in buffers, without the free list */
  int64_t memory_limit;        /* bytes this process can hope for */
  pthread_mutex_t lock;        /* guards what follows */
  bool closed;                 /* the context is going: recycle nothing any more */
  int idle_count;
  int64_t idle_bytes;
  idle_block idle[IDLE_MAX]; /* oldest first */
  laze_small_blocks small;
};

/* Reads a limit from a control-group file; INT64_MAX when there is none ("max", or no such file). */
static int64_t read_group_limit(const char *path) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return INT64_MAX;
  char text[32] = {0};
  ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  if (length <= 0 || text[0] < '0' || text[0] > '9') return INT64_MAX;
  long long value = strtoll(text, NULL, 10);
  return value > 0 ? value : INT64_MAX;
}

/* The most memory a process can get here. The system itself promises more than it has (over-commit) and kills the
 * process on use, so that a size out of proportion has to be refused before it is mapped. */
static int64_t find_memory_limit(void) {
  int64_t limit = ADDRESS_SPACE;
  struct sysinfo info;
  if (sysinfo(&info) == 0) {
    int64_t total;
    if (!laze_mul_overflows((int64_t)(info.totalram + info.totalswap), (int64_t)info.mem_unit, &total) && total < limit)
      limit = total;
  }
  static const char *const files[] = {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
  for (int i = 0; i < 2; i++) {
    int64_t group = read_group_limit(files[i]);
    if (group < limit) limit = group;
  }
  return limit;
}

/* The same now, when the process may have limited its address space meanwhile. */
static int64_t current_limit(const laze_buffer_pool *pool) {
  struct rlimit space;
  if (getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur >= (rlim_t)pool->memory_limit) return pool->memory_limit;
  return (int64_t)space.rlim_cur;
}

laze_status laze_buffer_pool_create(laze_context *context, laze_buffer_pool **out, laze_error *error) {
  laze_buffer_pool *pool = laze_alloc_zero(context, sizeof *pool);
  if (!pool) return laze_fail_memory(error, "the buffer pool", sizeof *pool);
  pool->context = context;
  pool->references = 1;
  pool->memory_limit = find_memory_limit();
  pthread_mutex_init(&pool->lock, NULL);
  *out = pool;
  return LAZE_OK;
}

static void pool_release(laze_buffer_pool *pool) {
  if (atomic_fetch_sub_explicit(&pool->references, 1, memory_order_acq_rel) != 1) return;
  pthread_mutex_destroy(&pool->lock);
  laze_free(pool->context, pool);
}

static void count_idle(laze_buffer_pool *pool, int64_t bytes) {
  laze_metrics_add(laze_context_metrics(pool->context), LAZE_METRIC_IDLE_BYTES, bytes);
}

static void idle_remove(laze_buffer_pool *pool, int index) {
  pool->idle_bytes -= pool->idle[index].capacity;
  count_idle(pool, -pool->idle[index].capacity);
  pool->idle_count--;
  for (int i = index; i < pool->idle_count; i++) pool->idle[i] = pool->idle[i + 1];
}

/* Unmaps the oldest idle blocks until at most `bytes` in at most `count` blocks are left. */
static void shrink_locked(laze_buffer_pool *pool, int64_t bytes, int count) {
  while (pool->idle_count > 0 && (pool->idle_bytes > bytes || pool->idle_count > count)) {
    munmap(pool->idle[0].data, (size_t)pool->idle[0].capacity);
    idle_remove(pool, 0);
  }
}

static void clear_locked(laze_buffer_pool *pool) {
  shrink_locked(pool, 0, 0);
  count_idle(pool, -pool->small.bytes);
  laze_small_clear(&pool->small);
}

void laze_buffer_pool_trim(laze_buffer_pool *pool) {
  pthread_mutex_lock(&pool->lock);
  clear_locked(pool);
  pthread_mutex_unlock(&pool->lock);
}

void laze_buffer_pool_destroy(laze_buffer_pool *pool) {
  if (!pool) return;
  pthread_mutex_lock(&pool->lock);
  pool->closed = true;
  clear_locked(pool);
  pthread_mutex_unlock(&pool->lock);
  pool_release(pool);
}

int64_t laze_buffer_pool_idle_bytes(laze_buffer_pool *pool) {
  pthread_mutex_lock(&pool->lock);
  int64_t bytes = pool->idle_bytes + pool->small.bytes;
  pthread_mutex_unlock(&pool->lock);
  return bytes;
}

/* Takes the tightest idle block of at least `capacity` bytes, the most recent among equals (it is the warmest).
 * Blocks more than 1/16 too large are left alone, so that recycling cannot raise the peak noticeably. */
static void *idle_take(laze_buffer_pool *pool, int64_t *capacity) {
  void *data = NULL;
  pthread_mutex_lock(&pool->lock);
  int best = -1;
  for (int i = pool->idle_count - 1; i >= 0; i--) {
    int64_t size = pool->idle[i].capacity;
    if (size < *capacity || size - *capacity > *capacity / 16) continue;
    if (best < 0 || size < pool->idle[best].capacity) best = i;
  }
  if (best >= 0) {
    data = pool->idle[best].data;
    *capacity = pool->idle[best].capacity;
    idle_remove(pool, best);
  }
  pthread_mutex_unlock(&pool->lock);
  return data;
}

static void idle_give(laze_buffer_pool *pool, void *data, int64_t capacity) {
  pthread_mutex_lock(&pool->lock);
  bool keep = !pool->closed && capacity <= LAZE_BUFFER_RECYCLE_LIMIT;
  if (keep) {
    shrink_locked(pool, LAZE_BUFFER_RECYCLE_LIMIT - capacity, IDLE_MAX - 1);
    pool->idle[pool->idle_count++] = (idle_block){data, capacity};
    pool->idle_bytes += capacity;
    count_idle(pool, capacity);
  }
  pthread_mutex_unlock(&pool->lock);
  if (!keep) munmap(data, (size_t)capacity);
}

static void *map_fresh(int64_t capacity) {
  void *data = mmap(NULL, (size_t)capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return NULL;
  if (capacity >= HUGE_PAGE_MINIMUM) (void)madvise(data, (size_t)capacity, MADV_HUGEPAGE); /* a hint, may be refused */
  return data;
}

/* Rounds up to one of sixteen sizes between two powers of two, so that a buffer a little larger than the last one (a
 * growing batch) finds its block on the free list: at most 1/16 is wasted, and a fresh mapping costs a fault a page. */
static int64_t size_class(int64_t capacity) {
  int64_t unit = MAP_UNIT;
  while (unit < capacity / 32) unit *= 2;
  return (capacity + unit - 1) & -unit;
}

static void *take_small(laze_buffer_pool *pool, int64_t size) {
  pthread_mutex_lock(&pool->lock);
  void *block = laze_small_take(&pool->small, size);
  if (block) count_idle(pool, -size);
  pthread_mutex_unlock(&pool->lock);
  return block ? block : aligned_alloc(LAZE_BUFFER_ALIGNMENT, (size_t)size);
}

static void give_small(laze_buffer_pool *pool, void *block, int64_t size) {
  pthread_mutex_lock(&pool->lock);
  const bool kept = !pool->closed && laze_small_give(&pool->small, block, size);
  if (kept) count_idle(pool, size);
  pthread_mutex_unlock(&pool->lock);
  if (!kept) free(block);
}

/* Memory of at least *capacity bytes; updates *capacity to what was taken. NULL when there is none. */
static void *take_memory(laze_buffer_pool *pool, int64_t *capacity) {
  if (*capacity < LAZE_BUFFER_RECYCLE_MINIMUM) *capacity = laze_small_size(*capacity);
  if (*capacity < LAZE_BUFFER_RECYCLE_MINIMUM) return take_small(pool, *capacity);
  *capacity = size_class(*capacity);
  void *data = idle_take(pool, capacity);
  if (data) return data;
  data = map_fresh(*capacity);
  if (data) return data;
  laze_buffer_pool_trim(pool);
  return map_fresh(*capacity);
}

static void give_memory(laze_buffer_pool *pool, void *data, int64_t capacity) {
  if (capacity < LAZE_BUFFER_RECYCLE_MINIMUM)
    give_small(pool, data, capacity);
  else
    idle_give(pool, data, capacity);
}

/* A buffer structure with one reference, holding the pool; everything else zero. */
static laze_status create_header(laze_context *context, laze_buffer **out, laze_error *error) {
  laze_runtime *runtime;
  LAZE_TRY(laze_runtime_get(context, &runtime, error));
  laze_buffer *buffer = laze_alloc_zero(context, sizeof *buffer);
  if (!buffer) return laze_fail_memory(error, "a buffer", sizeof *buffer);
  buffer->references = 1;
  buffer->pool = runtime->buffers;
  atomic_fetch_add_explicit(&buffer->pool->references, 1, memory_order_relaxed);
  *out = buffer;
  return LAZE_OK;
}

static void destroy_header(laze_buffer *buffer) {
  laze_buffer_pool *pool = buffer->pool;
  laze_free(pool->context, buffer);
  pool_release(pool);
}

/* Reserves `size` bytes of what this process can have; false when they are not there. */
static bool reserve(laze_buffer_pool *pool, int64_t size) {
  if (size > pool->memory_limit) return false;
  int64_t held = atomic_fetch_add_explicit(&pool->owned_bytes, size, memory_order_relaxed);
  if (size <= pool->memory_limit - held) return true;
  atomic_fetch_sub_explicit(&pool->owned_bytes, size, memory_order_relaxed);
  return false;
}

/* Puts owned memory under a header; on failure the header is left for the caller to destroy. */
static laze_status fill_owned(laze_buffer *buffer, int64_t size, laze_error *error) {
  laze_buffer_pool *pool = buffer->pool;
  if (reserve(pool, size)) {
    int64_t capacity =
        size ? (size + LAZE_BUFFER_ALIGNMENT - 1) & -(int64_t)LAZE_BUFFER_ALIGNMENT : LAZE_BUFFER_ALIGNMENT;
    buffer->data = take_memory(pool, &capacity);
    if (buffer->data) {
      buffer->size = size;
      buffer->capacity = capacity;
      laze_metrics_bytes(laze_context_metrics(pool->context), size);
      return LAZE_OK;
    }
    atomic_fetch_sub_explicit(&pool->owned_bytes, size, memory_order_relaxed);
  }
  int64_t held = atomic_load_explicit(&pool->owned_bytes, memory_order_relaxed);
  return laze_fail(error, LAZE_OUT_OF_MEMORY,
                   "no memory for a tensor buffer of %lld bytes: tensors already hold %lld bytes of the %lld this "
                   "process can have; use smaller tensors or release some",
                   (long long)size, (long long)held, (long long)current_limit(pool));
}

laze_status laze_buffer_create(laze_context *context, int64_t size, laze_buffer **out, laze_error *error) {
  if (size < 0)
    return laze_fail(error, LAZE_OUT_OF_RANGE, "a tensor buffer of %lld bytes was asked for: a size cannot be negative",
                     (long long)size);
  laze_buffer *buffer = NULL;
  LAZE_TRY(create_header(context, &buffer, error));
  laze_status status = fill_owned(buffer, size, error);
  if (status != LAZE_OK) {
    destroy_header(buffer);
    return status;
  }
  *out = buffer;
  return LAZE_OK;
}

laze_status laze_buffer_borrow(laze_context *context, void *data, int64_t size, laze_buffer_release_function release,
                               void *self, laze_buffer **out, laze_error *error) {
  if (size < 0 || (size > 0 && !data))
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "borrowed tensor memory is %s with %lld bytes: expected memory and a size that is not negative",
                     data ? "given" : "NULL", (long long)size);
  LAZE_TRY(create_header(context, out, error));
  laze_buffer *buffer = *out;
  buffer->data = data;
  buffer->size = size;
  buffer->release = release;
  buffer->release_self = self;
  return LAZE_OK;
}

/* What a lent buffer calls when it goes. */
typedef struct {
  laze_context *context;
  void (*release)(void *self);
  void *self;
} lender;

static void release_lent(void *self, void *data) {
  (void)data;
  lender *owner = self;
  owner->release(owner->self);
  laze_free(owner->context, owner);
}

laze_status laze_buffer_lend(laze_context *context, void *data, int64_t size, void (*release)(void *self), void *self,
                             laze_buffer **out, laze_error *error) {
  lender *owner = NULL;
  if (release) {
    owner = laze_alloc(context, sizeof *owner);
    if (!owner) return laze_fail_memory(error, "borrowed memory", sizeof *owner);
    *owner = (lender){context, release, self};
  }
  laze_status status = laze_buffer_borrow(context, data, size, release ? release_lent : NULL, owner, out, error);
  if (status != LAZE_OK) laze_free(context, owner);
  return status;
}

void laze_buffer_init_lent(laze_buffer *buffer, void *data, int64_t size) {
  *buffer = (laze_buffer){.data = data, .size = size, .references = 1};
}

void laze_buffer_retain(laze_buffer *buffer) {
  atomic_fetch_add_explicit(&buffer->references, 1, memory_order_relaxed);
}

void laze_buffer_release(laze_buffer *buffer) {
  if (!buffer || atomic_fetch_sub_explicit(&buffer->references, 1, memory_order_acq_rel) != 1) return;
  if (laze_buffer_is_borrowed(buffer)) {
    if (buffer->release) buffer->release(buffer->release_self, buffer->data);
  } else {
    laze_metrics_bytes(laze_context_metrics(buffer->pool->context), -buffer->size);
    atomic_fetch_sub_explicit(&buffer->pool->owned_bytes, buffer->size, memory_order_relaxed);
    give_memory(buffer->pool, buffer->data, buffer->capacity);
  }
  destroy_header(buffer);
}

bool laze_buffer_is_exclusive(const laze_buffer *buffer) {
  return !laze_buffer_is_borrowed(buffer) && atomic_load_explicit(&buffer->references, memory_order_acquire) == 1;
}

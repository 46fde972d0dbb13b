/* How a loop passes between the caller and the workers. Everything hangs on one 32-bit word, the gate:
 *
 *     31            12 | 11   | 10      | 9      0
 *     loop number      | open | waiting | joined
 *
 *   caller: writes the loop into the team, sets gate = {next number, open}, wakes sleepers, takes chunks;
 *           when none is left clears `open` (nobody joins any more) and waits until `joined` is 0
 *   worker: sees an open gate with a number it has not served, adds 1 to `joined`, takes chunks, subtracts 1;
 *           the last one to leave wakes the caller when `waiting` is set
 *
 * The gate is also the futex on which both sleep, with different bits of the wait set. While it is closed and `joined`
 * is 0, only the caller that holds `busy` writes it or the loop. The number wraps after a million loops; a worker that
 * slept through exactly that many misses one loop, which is allowed: joining is optional.
 */
#include "runtime/thread_pool.h"

#include <fenv.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#define JOINED_MASK 0x3ffu
#define WAITING (1u << 10)
#define OPEN (1u << 11)
#define NUMBER_SHIFT 12
_Static_assert(LAZE_THREAD_POOL_MAX <= JOINED_MASK, "every worker fits into the count of the gate");

/* Turns of the waiting loop before sleeping: 20 to 40 microseconds where a pause takes 40 to 140 cycles. Long enough
 * for the next loop of a running program, short enough to leave the processor to others. */
#define SPIN_TURNS 1000
#define WAKE_WORKERS 1u
#define WAKE_CALLER 2u

typedef struct team team;

typedef struct {
  team *team;
  int number;
  pthread_t thread;
} worker;

/* The workers of one process. A child of fork() makes its own; the parent's stays allocated behind `previous`, because
 * other threads of the child may still look at it. */
struct team {
  team *previous;
  pid_t process;
  atomic_flag busy;
  _Atomic bool stop;
  int worker_count; /* guarded by busy, like what follows */
  int failed_count; /* threads that could not be started when so many were asked for; 0: none */
  laze_thread_loop loop;
  int64_t chunks;
  _Atomic int threads; /* of the loop: workers with higher numbers pass it by */
  _Alignas(64) _Atomic uint32_t gate;
  _Alignas(64) _Atomic int sleepers;
  _Alignas(64) _Atomic int64_t next_chunk;
  _Alignas(64) worker workers[LAZE_THREAD_POOL_MAX - 1];
};

struct laze_thread_pool {
  laze_context *context; /* borrowed */
  _Atomic(team *) current;
};

static void futex_wait(_Atomic uint32_t *word, uint32_t expected, uint32_t bits) {
  syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, expected, NULL, NULL, bits);
}

static void futex_wake(_Atomic uint32_t *word, int count, uint32_t bits) {
  syscall(SYS_futex, word, FUTEX_WAKE_BITSET_PRIVATE, count, NULL, NULL, bits);
}

static void relax(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb");
#endif
}

static void take_chunks(team *group, int number) {
  for (;;) {
    int64_t chunk = atomic_fetch_add_explicit(&group->next_chunk, 1, memory_order_relaxed);
    if (chunk >= group->chunks) return;
    const laze_thread_loop *loop = &group->loop;
    int64_t begin = loop->begin + chunk * loop->grain;
    int64_t end = loop->end - begin > loop->grain ? begin + loop->grain : loop->end;
    loop->function(loop->self, number, begin, end);
  }
}

static bool has_work(uint32_t gate, uint32_t served) {
  return (gate & OPEN) && gate >> NUMBER_SHIFT != served;
}

/* Waits for an open gate whose number is not `served`, or for the end; returns the gate's value. The end has to be
 * noticed by a worker that slept while the numbers went round, too. */
static uint32_t wait_for_work(team *group, uint32_t served) {
  uint32_t gate;
  for (int turn = 0; turn < SPIN_TURNS; turn++) {
    gate = atomic_load_explicit(&group->gate, memory_order_acquire);
    if (has_work(gate, served)) return gate;
    relax();
  }
  /* Sequentially consistent with the caller's store to the gate and its read of `sleepers`: either the caller sees the
   * sleeper, or the kernel sees the new gate and does not put this thread to sleep. */
  atomic_fetch_add(&group->sleepers, 1);
  for (;;) {
    gate = atomic_load(&group->gate);
    if (has_work(gate, served) || atomic_load_explicit(&group->stop, memory_order_relaxed)) break;
    futex_wait(&group->gate, gate, WAKE_WORKERS);
  }
  atomic_fetch_sub(&group->sleepers, 1);
  return gate;
}

static void leave(team *group) {
  uint32_t before = atomic_fetch_sub_explicit(&group->gate, 1, memory_order_acq_rel);
  if ((before & JOINED_MASK) == 1 && (before & WAITING)) futex_wake(&group->gate, 1, WAKE_CALLER);
}

static void *worker_main(void *argument) {
  worker *me = argument;
  team *group = me->team;
  fesetenv(FE_DFL_ENV); /* a new thread inherits the control word of the one that started it */
  uint32_t served = 0;
  for (;;) {
    uint32_t gate = wait_for_work(group, served);
    /* Set before the gate of the end was opened, while no loop runs. */
    if (atomic_load_explicit(&group->stop, memory_order_relaxed)) return NULL;
    /* Written before the gate was opened; should the gate be a later one by now, joining fails. */
    if (me->number >= atomic_load_explicit(&group->threads, memory_order_relaxed)) {
      served = gate >> NUMBER_SHIFT;
      continue;
    }
    if (!atomic_compare_exchange_strong_explicit(&group->gate, &gate, gate + 1, memory_order_acq_rel,
                                                 memory_order_relaxed))
      continue; /* closed meanwhile, or another worker joined */
    served = gate >> NUMBER_SHIFT;
    take_chunks(group, me->number);
    leave(group);
  }
}

/* Starts what the loop has more of than all before. What the system refused once is not asked for again. */
static void start_workers(laze_thread_pool *pool, team *group, int threads) {
  if (group->worker_count >= threads - 1 || (group->failed_count > 0 && threads >= group->failed_count)) return;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int code = 0;
  while (group->worker_count < threads - 1) {
    worker *next = &group->workers[group->worker_count];
    next->team = group;
    next->number = group->worker_count + 1;
    code = pthread_create(&next->thread, NULL, worker_main, next);
    if (code != 0) break;
    pthread_setname_np(next->thread, "laze-worker");
    group->worker_count++;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (code == 0) return;
  group->failed_count = threads;
  laze_log_message(pool->context, LAZE_LOG_WARNING,
                   "only %d of %d worker threads could be started (error %d): loops run on these", group->worker_count,
                   threads - 1, code);
}

static uint32_t next_gate(const team *group) {
  uint32_t number = (atomic_load_explicit(&group->gate, memory_order_relaxed) >> NUMBER_SHIFT) + 1;
  number &= UINT32_MAX >> NUMBER_SHIFT;
  if (number == 0) number = 1; /* a new worker has served 0 */
  return number << NUMBER_SHIFT | OPEN;
}

/* Waits until no worker is left in a closed gate. */
static void wait_for_workers(team *group) {
  uint32_t gate;
  for (int turn = 0; turn < SPIN_TURNS; turn++) {
    gate = atomic_load_explicit(&group->gate, memory_order_acquire);
    if ((gate & JOINED_MASK) == 0) return;
    relax();
  }
  gate = atomic_fetch_or_explicit(&group->gate, WAITING, memory_order_acq_rel) | WAITING;
  while ((gate & JOINED_MASK) != 0) {
    futex_wait(&group->gate, gate, WAKE_CALLER);
    gate = atomic_load_explicit(&group->gate, memory_order_acquire);
  }
}

/* Runs the loop that was written into the team; the caller holds `busy`. */
static void run_loop(team *group) {
  atomic_store_explicit(&group->next_chunk, 0, memory_order_relaxed);
  atomic_store(&group->gate, next_gate(group));
  if (atomic_load(&group->sleepers) > 0) {
    /* Which of them wake is not known: all, where some would pass the loop by. */
    int64_t useful = group->worker_count < group->loop.threads ? group->chunks - 1 : INT_MAX;
    futex_wake(&group->gate, useful < INT_MAX ? (int)useful : INT_MAX, WAKE_WORKERS);
  }
  take_chunks(group, 0);
  atomic_fetch_and_explicit(&group->gate, ~OPEN, memory_order_acq_rel);
  wait_for_workers(group);
}

/* The team of this process, made when there is none; NULL when memory is out. */
static team *find_team(laze_thread_pool *pool) {
  team *group = atomic_load_explicit(&pool->current, memory_order_acquire);
  pid_t process = getpid();
  if (group && group->process == process) return group;
  /* malloc'ed memory is aligned to 16 bytes; the team's lines want 64. */
  char *memory = laze_alloc_zero(pool->context, (int64_t)sizeof *group + 64 + (int64_t)sizeof(void *));
  if (!memory) return NULL;
  team *made = (team *)(((uintptr_t)memory + sizeof(void *) + 63) & ~(uintptr_t)63);
  ((void **)made)[-1] = memory;
  made->previous = group;
  made->process = process;
  atomic_flag_clear(&made->busy);
  if (atomic_compare_exchange_strong(&pool->current, &group, made)) return made;
  laze_free(pool->context, memory);
  return group->process == process ? group : NULL;
}

static void run_alone(const laze_thread_loop *loop) {
  loop->function(loop->self, 0, loop->begin, loop->end);
}

void laze_thread_pool_run(laze_thread_pool *pool, const laze_thread_loop *loop) {
  if (loop->end <= loop->begin) return;
  int64_t grain = loop->grain < 1 ? 1 : loop->grain;
  int threads = laze_thread_pool_limit(loop->threads);
  /* Unsigned: the length of any range fits. */
  uint64_t length = (uint64_t)loop->end - (uint64_t)loop->begin;
  bool worthwhile = threads > 1 && length > (uint64_t)grain && length <= INT64_MAX;
  team *group = worthwhile ? find_team(pool) : NULL;
  if (!group || atomic_flag_test_and_set_explicit(&group->busy, memory_order_acquire)) {
    run_alone(loop);
    return;
  }
  start_workers(pool, group, threads);
  if (group->worker_count == 0) {
    run_alone(loop);
  } else {
    group->loop = *loop;
    group->loop.grain = grain;
    group->loop.threads = threads;
    group->chunks = (int64_t)((length - 1) / (uint64_t)grain) + 1;
    atomic_store_explicit(&group->threads, threads, memory_order_relaxed);
    run_loop(group);
  }
  atomic_flag_clear_explicit(&group->busy, memory_order_release);
}

laze_status laze_thread_pool_create(laze_context *context, laze_thread_pool **out, laze_error *error) {
  laze_thread_pool *pool = laze_alloc_zero(context, sizeof *pool);
  if (!pool) return laze_fail_memory(error, "a thread pool", sizeof *pool);
  pool->context = context;
  *out = pool;
  return LAZE_OK;
}

int laze_thread_pool_limit(int threads) {
  return threads < 1 ? 1 : threads > LAZE_THREAD_POOL_MAX ? LAZE_THREAD_POOL_MAX : threads;
}

static void stop_workers(team *group) {
  atomic_store_explicit(&group->stop, true, memory_order_relaxed);
  atomic_store(&group->gate, next_gate(group));
  futex_wake(&group->gate, INT_MAX, WAKE_WORKERS);
  for (int i = 0; i < group->worker_count; i++) pthread_join(group->workers[i].thread, NULL);
}

void laze_thread_pool_destroy(laze_thread_pool *pool) {
  if (!pool) return;
  team *group = atomic_load_explicit(&pool->current, memory_order_acquire);
  if (group && group->process == getpid()) stop_workers(group); /* the workers of a parent do not exist here */
  while (group) {
    team *previous = group->previous;
    laze_free(pool->context, ((void **)group)[-1]);
    group = previous;
  }
  laze_free(pool->context, pool);
}

/* The context: what the caller chose (allocator, log, switches, directories), read once when it is made, and one
 * object for each folder that keeps something for it. base/ knows those by a number and a destructor alone; they are
 * made on first use and go, the last made first, with the last reference. */
#include "base/context.h"

#include "base/checked.h"
#include "base/counters.h"
#include "base/fallback.h"
#include "base/watch.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_THREADS = 1024 };

typedef struct {
  void *_Atomic object; /* NULL: not made yet; read without the lock */
  void (*destroy)(void *object);
} owned_object;

/* What goes to standard error where there is no callback and no debug switch: LAZE_LOG. */
typedef enum { LOG_ONCE, LOG_OFF, LOG_ALL } log_level;
static const char *const log_levels[] = {[LOG_ONCE] = "once", [LOG_OFF] = "off", [LOG_ALL] = "all"};

struct laze_context {
  _Atomic int64_t references;
  laze_allocator allocator;
  laze_log_function log;
  void *log_self;
  char *backend, *cache_directory, *save_directory;
  bool saves[LAZE_SAVE_COUNT];
  _Atomic int64_t saved;
  _Atomic int threads;
  bool debug[LAZE_DEBUG_COUNT];
  bool any_debug;
  log_level level;
  _Atomic bool advised[LAZE_ADVICE_COUNT]; /* on standard error */
  laze_metrics metrics;
  laze_counters counters;
  laze_fallbacks fallbacks;
  laze_watch watch;
  pthread_mutex_t lock; /* recursive: creating one object may need another */
  owned_object objects[LAZE_CONTEXT_OBJECT_COUNT];
  int created[LAZE_CONTEXT_OBJECT_COUNT], created_count;
};

static const struct {
  const char *name, *description;
} debug_switches[LAZE_DEBUG_COUNT] = {
    [LAZE_DEBUG_GRAPH] = {"graph", "print each graph before it is compiled"},
    [LAZE_DEBUG_PASSES] = {"passes", "print the graph after each pass that changed it, with the pass's time"},
    [LAZE_DEBUG_SCHEDULE] = {"schedule", "print the kernels of each graph, with bytes, operations and why they split"},
    [LAZE_DEBUG_LOOP] = {"loop", "print the loop IR of each kernel"},
    [LAZE_DEBUG_LLVM] = {"llvm", "print the LLVM IR of each module that is compiled"},
    [LAZE_DEBUG_ASM] = {"asm", "print the assembly of each module that is compiled"},
    [LAZE_DEBUG_VERIFY] = {"verify", "verify graphs after each pass, schedules and kernels before they are lowered"},
    [LAZE_DEBUG_ROUND_TRIP] = {"roundtrip", "print and parse each graph after each pass and compare"},
    [LAZE_DEBUG_MISS] = {"miss", "log each trace-cache miss with its first difference from the nearest cached graph"},
    [LAZE_DEBUG_CACHE] = {"cache", "log what the disk cache finds, stores and refuses"},
    [LAZE_DEBUG_RUN] = {"run", "log each launch of a kernel with its time"},
    [LAZE_DEBUG_NO_FUSION] = {"nofusion", "give each node a kernel of its own"},
    [LAZE_DEBUG_NO_ARENAS] = {"noarenas",
                              "take memory for each request to an arena alone, for tools that check memory"},
};

const char *laze_debug_name(laze_debug_switch which) {
  return debug_switches[which].name;
}

static void *default_allocate(void *self, size_t size) {
  (void)self;
  return malloc(size);
}
static void default_release(void *self, void *memory) {
  (void)self;
  free(memory);
}

static void log_help(laze_context *context) {
  laze_log_message(context, LAZE_LOG_INFO, "LAZE_DEBUG takes these switches, separated by commas:");
  for (int i = 0; i < LAZE_DEBUG_COUNT; i++)
    laze_log_message(context, LAZE_LOG_INFO, "  %-10s %s", debug_switches[i].name, debug_switches[i].description);
  laze_log_message(context, LAZE_LOG_INFO, "  %-10s %s", "help", "print this list");
}

/* `from`: where the list is from. */
static laze_status parse_debug(laze_context *context, const char *from, const char *list, laze_error *error) {
  while (list && *list) {
    size_t length = strcspn(list, ",");
    int found = -1;
    for (int i = 0; i < LAZE_DEBUG_COUNT; i++)
      if (strlen(debug_switches[i].name) == length && memcmp(list, debug_switches[i].name, length) == 0) found = i;
    bool help = length == 4 && memcmp(list, "help", 4) == 0;
    context->any_debug = context->any_debug || length > 0;
    if (found >= 0) context->debug[found] = true;
    if (help) log_help(context);
    if (found < 0 && !help && length > 0)
      return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: unknown switch '%.*s'; LAZE_DEBUG=help lists them", from,
                       (int)length, list);
    list += length + (list[length] == ',');
  }
  return LAZE_OK;
}

static char *resolve_cache_directory(laze_context *context, const char *given) {
  const char *chosen = given ? given : getenv("LAZE_CACHE_DIR");
  if (chosen) return *chosen ? laze_copy_string(context, chosen) : NULL;
  const char *base = getenv("XDG_CACHE_HOME"), *below = "/laze";
  if (!base || !*base) base = getenv("HOME"), below = "/.cache/laze";
  if (!base || !*base) return NULL;
  size_t size = strlen(base) + strlen(below) + 1;
  char *path = laze_alloc(context, (int64_t)size);
  if (path) snprintf(path, size, "%s%s", base, below);
  return path;
}

static laze_status resolve_threads(int32_t given, int *out, laze_error *error) {
  long threads = given;
  const char *text = getenv("LAZE_NUM_THREADS");
  if (threads == 0 && text && *text) {
    char *end;
    threads = strtol(text, &end, 10);
    if (*end || threads < 1 || threads > MAX_THREADS)
      return laze_fail(error, LAZE_INVALID_ARGUMENT, "LAZE_NUM_THREADS=%s: expected a number from 1 to %d", text,
                       MAX_THREADS);
  }
  if (threads < 0 || threads > MAX_THREADS)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "threads=%ld: expected a number from 1 to %d, or 0 for the default",
                     threads, MAX_THREADS);
  if (threads == 0) threads = sysconf(_SC_NPROCESSORS_ONLN); /* -1 where it is not known */
  *out = threads < 1 ? 1 : threads > MAX_THREADS ? MAX_THREADS : (int)threads;
  return LAZE_OK;
}

static const char *const save_forms[LAZE_SAVE_COUNT] = {
    [LAZE_SAVE_TEXT] = "text", [LAZE_SAVE_DOT] = "dot",      [LAZE_SAVE_SCHEDULE] = "schedule",
    [LAZE_SAVE_LLVM] = "llvm", [LAZE_SAVE_ASSEMBLY] = "asm",
};

/* The folder that new graphs are saved in, and as what. */
static laze_status resolve_saving(laze_context *context, laze_error *error) {
  const char *folder = getenv("LAZE_SAVE_GRAPHS"), *list = getenv("LAZE_SAVE_FORMS");
  if (!folder || !*folder) return LAZE_OK;
  if (!list || !*list) list = save_forms[LAZE_SAVE_TEXT];
  while (*list) {
    const size_t length = strcspn(list, ",");
    int found = -1;
    for (int i = 0; i < LAZE_SAVE_COUNT; i++)
      if (strlen(save_forms[i]) == length && memcmp(list, save_forms[i], length) == 0) found = i;
    if (found < 0)
      return laze_fail(error, LAZE_INVALID_ARGUMENT,
                       "LAZE_SAVE_FORMS: '%.*s' is no form; expected text, dot, schedule, llvm or asm, separated by "
                       "commas",
                       (int)length, list);
    context->saves[found] = true;
    list += length + (list[length] == ',');
  }
  context->save_directory = laze_copy_string(context, folder);
  return context->save_directory ? LAZE_OK : laze_fail_memory(error, "the context", (int64_t)strlen(folder));
}

static laze_status resolve_log(log_level *out, laze_error *error) {
  const char *text = getenv("LAZE_LOG");
  *out = LOG_ONCE;
  if (!text || !*text) return LAZE_OK;
  for (size_t i = 0; i < sizeof log_levels / sizeof *log_levels; i++) {
    *out = (log_level)i;
    if (strcmp(log_levels[i], text) == 0) return LAZE_OK;
  }
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "LAZE_LOG=%s: expected once, off or all", text);
}

static laze_status resolve_strict(laze_context *context, laze_error *error) {
  const char *text = getenv("LAZE_STRICT");
  if (!text || !*text || strcmp(text, "0") == 0) return LAZE_OK;
  if (strcmp(text, "1") != 0) return laze_fail(error, LAZE_INVALID_ARGUMENT, "LAZE_STRICT=%s: expected 0 or 1", text);
  (void)laze_fallbacks_set_strict(&context->fallbacks, true);
  return LAZE_OK;
}

static laze_status configure(laze_context *context, const laze_context_options *options, laze_error *error) {
  const char *backend = options->backend ? options->backend : getenv("LAZE_BACKEND");
  if (backend && *backend) {
    context->backend = laze_copy_string(context, backend);
    if (!context->backend) return laze_fail_memory(error, "the context", (int64_t)strlen(backend));
  }
  context->cache_directory = resolve_cache_directory(context, options->cache_directory);
  int threads;
  LAZE_TRY(resolve_threads(options->threads, &threads, error));
  atomic_init(&context->threads, threads);
  LAZE_TRY(resolve_log(&context->level, error));
  LAZE_TRY(resolve_saving(context, error));
  LAZE_TRY(resolve_strict(context, error));
  return options->debug ? parse_debug(context, "option debug", options->debug, error)
                        : parse_debug(context, "LAZE_DEBUG", getenv("LAZE_DEBUG"), error);
}

laze_status laze_context_create(const laze_context_options *given, laze_context **out, laze_error *error) {
  laze_context_options options = {0};
  if (!out) return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_context_create: out is NULL");
  *out = NULL;
  if (given && given->struct_size < sizeof given->struct_size)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_context_create: struct_size is %zu; set it to sizeof options",
                     given->struct_size);
  /* An older caller's shorter struct leaves the new fields at their defaults. */
  if (given) memcpy(&options, given, given->struct_size < sizeof options ? given->struct_size : sizeof options);
  laze_allocator allocator = {default_allocate, default_release, NULL};
  if (options.allocator) allocator = *options.allocator;
  laze_context *context = allocator.allocate(allocator.self, sizeof *context);
  if (!context) return laze_fail_memory(error, "the context", sizeof *context);
  memset(context, 0, sizeof *context);
  context->references = 1;
  context->allocator = allocator;
  context->log = options.log;
  context->log_self = options.log_self;
  laze_watch_init(&context->watch);
  laze_counters_init(&context->counters, context);
  laze_fallbacks_init(&context->fallbacks, context);
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&context->lock, &attributes);
  pthread_mutexattr_destroy(&attributes);
  laze_status status = configure(context, &options, error);
  if (status != LAZE_OK)
    laze_context_release(context);
  else
    *out = context;
  return status;
}

void laze_context_retain(laze_context *context) {
  if (context) atomic_fetch_add(&context->references, 1);
}

void laze_context_release(laze_context *context) {
  if (!context || atomic_fetch_sub(&context->references, 1) != 1) return;
  for (int i = context->created_count; i-- > 0;) {
    owned_object *entry = &context->objects[context->created[i]];
    entry->destroy(entry->object);
  }
  laze_free(context, context->backend);
  laze_free(context, context->cache_directory);
  laze_free(context, context->save_directory);
  laze_watch_deinit(&context->watch);
  laze_counters_deinit(&context->counters);
  laze_fallbacks_deinit(&context->fallbacks);
  pthread_mutex_destroy(&context->lock);
  context->allocator.release(context->allocator.self, context);
}

/* The one process-wide object: callers who never make a context share it. */
static laze_context *default_context;
static pthread_once_t default_once = PTHREAD_ONCE_INIT;

static void create_default(void) {
  laze_error error;
  if (laze_context_create(NULL, &default_context, &error) == LAZE_OK) return;
  /* A wrong environment variable must not take the library down: say so and go on without the environment. */
  laze_context_options options = {.struct_size = sizeof options, .backend = "", .debug = "", .threads = 1};
  fprintf(stderr, "laze: %s (ignored)\n", error.message);
  if (laze_context_create(&options, &default_context, NULL) != LAZE_OK) default_context = NULL;
}

laze_context *laze_context_default(void) {
  pthread_once(&default_once, create_default);
  return default_context;
}

laze_metrics *laze_context_metrics(laze_context *context) {
  return &context->metrics;
}

struct laze_counters *laze_context_counters(laze_context *context) {
  return &context->counters;
}

struct laze_fallbacks *laze_context_fallbacks(laze_context *context) {
  return &context->fallbacks;
}
laze_watch *laze_context_get_watch(laze_context *context) {
  return &context->watch;
}
bool laze_context_debug(const laze_context *context, laze_debug_switch which) {
  return context->debug[which];
}
const char *laze_context_backend_name(const laze_context *context) {
  return context->backend;
}
const char *laze_context_cache_directory(const laze_context *context) {
  return context->cache_directory;
}
const char *laze_context_save_directory(const laze_context *context) {
  return context->save_directory;
}
bool laze_context_saves(const laze_context *context, laze_save_form form) {
  return context->saves[form];
}
int64_t laze_context_next_saved(laze_context *context) {
  return atomic_fetch_add_explicit(&context->saved, 1, memory_order_relaxed) + 1;
}

int32_t laze_get_threads(laze_context *context) {
  if (!context) context = laze_context_default();
  return context ? atomic_load_explicit(&context->threads, memory_order_relaxed) : 1;
}

laze_status laze_set_threads(laze_context *context, int32_t threads, laze_error *error) {
  int resolved;
  if (!context) context = laze_context_default();
  if (!context) return laze_fail_memory(error, "the default context", -1);
  laze_status status = resolve_threads(threads, &resolved, error);
  if (status != LAZE_OK) return laze_error_prefix(error, "laze_set_threads");
  atomic_store_explicit(&context->threads, resolved, memory_order_relaxed);
  return LAZE_OK;
}

static laze_status create_object(laze_context *context, const laze_context_object_class *class, void **out,
                                 laze_error *error) {
  owned_object *entry = &context->objects[class->id];
  *out = atomic_load_explicit(&entry->object, memory_order_relaxed);
  if (*out) return LAZE_OK; /* another thread was faster */
  LAZE_TRY(class->create(context, out, error));
  entry->destroy = class->destroy;
  context->created[context->created_count++] = class->id;
  atomic_store_explicit(&entry->object, *out, memory_order_release);
  return LAZE_OK;
}

laze_status laze_context_object(laze_context *context, const laze_context_object_class *class, void **out,
                                laze_error *error) {
  *out = atomic_load_explicit(&context->objects[class->id].object, memory_order_acquire);
  if (*out) return LAZE_OK;
  pthread_mutex_lock(&context->lock);
  laze_status status = create_object(context, class, out, error);
  pthread_mutex_unlock(&context->lock);
  if (status != LAZE_OK) *out = NULL;
  return status;
}

void *laze_alloc(laze_context *context, int64_t size) {
  if (size < 0) return NULL;
  return context->allocator.allocate(context->allocator.self, size ? (size_t)size : 1);
}

void *laze_alloc_zero(laze_context *context, int64_t size) {
  void *memory = laze_alloc(context, size);
  if (memory && size > 0) memset(memory, 0, (size_t)size);
  return memory;
}

void *laze_alloc_array(laze_context *context, int64_t count, int64_t element_size) {
  int64_t size;
  if (count < 0 || laze_mul_overflows(count, element_size, &size)) return NULL;
  return laze_alloc(context, size);
}

laze_status laze_grow_array(laze_context *context, void **array, int64_t *capacity, int64_t needed,
                            int64_t element_size, laze_error *error) {
  int64_t wanted = *capacity < 8 ? 8 : *capacity;
  while (wanted < needed) {
    if (laze_mul_overflows(wanted, 2, &wanted)) return laze_fail_memory(error, "a growing array", needed);
  }
  void *grown = laze_alloc_array(context, wanted, element_size);
  if (!grown) return laze_fail_memory(error, "a growing array", wanted);
  if (*array) memcpy(grown, *array, (size_t)(*capacity * element_size));
  laze_free(context, *array);
  *array = grown;
  *capacity = wanted;
  return LAZE_OK;
}

void laze_trim(laze_context *context, void **array, int64_t *capacity, int64_t count, int64_t element_size) {
  if (count == *capacity || !*array) return;
  void *copy = laze_alloc_array(context, count, element_size);
  if (!copy) return;
  if (count > 0) memcpy(copy, *array, (size_t)(count * element_size));
  laze_free(context, *array);
  *array = copy;
  *capacity = count;
}

void laze_free(laze_context *context, void *memory) {
  if (memory) context->allocator.release(context->allocator.self, memory);
}

char *laze_copy_string(laze_context *context, const char *text) {
  int64_t size = (int64_t)strlen(text) + 1;
  char *copy = laze_alloc(context, size);
  if (copy) memcpy(copy, text, (size_t)size);
  return copy;
}

static bool prints(const laze_context *context) {
  return context->any_debug || context->level == LOG_ALL;
}

void laze_log_text(laze_context *context, int32_t severity, const char *title, const char *text) {
  if (context->log) {
    context->log(context->log_self, severity, title);
    if (*text) context->log(context->log_self, severity, text);
  } else if (prints(context)) {
    fprintf(stderr, *text ? "laze: %s\n%s\n" : "laze: %s%s\n", title, text);
  }
}

void laze_log_message(laze_context *context, int32_t severity, const char *format, ...) {
  if (!context->log && !prints(context)) return;
  char message[2048];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  laze_log_text(context, severity, message, "");
}

void laze_log_advice(laze_context *context, laze_advice kind, const char *format, ...) {
  bool once = !context->log && !prints(context);
  if (once && (context->level == LOG_OFF || atomic_exchange(&context->advised[kind], true))) return;
  char message[2048];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  if (once)
    fprintf(stderr, "laze: warning: %s (said once; LAZE_LOG=off silences it)\n", message);
  else
    laze_log_text(context, LAZE_LOG_WARNING, message, "");
}

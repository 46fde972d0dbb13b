/* The first result of a new process, as whole-process times: compiled, and from a warm disk cache. */
#include "bench/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 25
#define ENVIRONMENT_MOST 512

laze_status bench_find_program(const char *name, char *path, size_t size, laze_error *error) {
  char self[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (length < 0) return bench_fail(error, "cannot find where this program lies: %s", strerror(errno));
  self[length] = '\0';
  *strrchr(self, '/') = '\0';
  if ((size_t)snprintf(path, size, "%s/%s", self, name) >= size)
    return bench_fail(error, "the path of %s is too long", name);
  return LAZE_OK;
}

/* This process's environment with LAZE_CACHE_DIR set to `directory`; `variable` holds the text. */
static void make_environment(char **out, const char *directory, char *variable, size_t size) {
  int count = 0;
  snprintf(variable, size, "LAZE_CACHE_DIR=%s", directory);
  for (char **entry = environ; *entry != NULL && count < ENVIRONMENT_MOST - 2; entry++)
    if (strncmp(*entry, "LAZE_CACHE_DIR=", 15) != 0) out[count++] = *entry;
  out[count++] = variable;
  out[count] = NULL;
}

/* Seconds of a process: from start to end, and of processors' work, which other programs disturb less. */
typedef struct process_time {
  double wall, work;
} process_time;

static double seconds(struct timeval time) {
  return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

/* Runs a program to its end, its output thrown away. */
static laze_status run_process(const char *path, const char *directory, process_time *time, laze_error *error) {
  char variable[PATH_MAX + 32], *environment[ENVIRONMENT_MOST], *arguments[] = {(char *)path, NULL};
  posix_spawn_file_actions_t actions;
  struct rusage usage = {0};
  pid_t process;
  int status = 0;
  make_environment(environment, directory, variable, sizeof variable);
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  const double start = measure_now();
  const int code = posix_spawn(&process, path, &actions, NULL, arguments, environment);
  if (code == 0) wait4(process, &status, 0, &usage);
  *time = (process_time){measure_now() - start, seconds(usage.ru_utime) + seconds(usage.ru_stime)};
  posix_spawn_file_actions_destroy(&actions);
  if (code != 0) return bench_fail(error, "cannot run %s: %s", path, strerror(code));
  if (status != 0) return bench_fail(error, "%s failed (status %d)", path, status);
  return LAZE_OK;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *where) {
  (void)info, (void)kind, (void)where;
  return remove(path);
}

void bench_remove_directory(const char *path) {
  nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

laze_status bench_make_directory(char *path, size_t size, laze_error *error) {
  const char *parent = getenv("TMPDIR");
  snprintf(path, size, "%s/laze-bench-XXXXXX", parent == NULL ? "/tmp" : parent);
  if (mkdtemp(path) == NULL) return bench_fail(error, "cannot make a folder %s: %s", path, strerror(errno));
  return LAZE_OK;
}

static laze_status run_cold(const char *path, process_time *time, laze_error *error) {
  char directory[PATH_MAX];
  laze_status status = bench_make_directory(directory, sizeof directory, error);
  if (status != LAZE_OK) return status;
  status = run_process(path, directory, time, error);
  bench_remove_directory(directory);
  return status;
}

typedef struct bench_programs {
  char empty[PATH_MAX], first[PATH_MAX], cache[PATH_MAX];
} bench_programs;

typedef struct process_samples {
  bench_samples wall, work; /* milliseconds */
} process_samples;

static void add_time(process_samples *samples, process_time time) {
  samples_add(&samples->wall, 1e3 * time.wall);
  samples_add(&samples->work, 1e3 * time.work);
}

static void report_process(bench_report *report, const char *name, const process_samples *samples, double most) {
  report_add(report,
             (bench_row){name, "ms", samples_summary(&samples->wall), most > 0 ? TARGET_AT_MOST : TARGET_NONE, most});
  report_add(report,
             (bench_row){.name = "  processor time of it", .unit = "ms", .value = samples_summary(&samples->work)});
}

static laze_status measure_rounds(bench_report *report, const bench_programs *programs, laze_error *error) {
  static process_samples empty, cold, warm;
  process_time time;
  laze_status status = run_process(programs->first, programs->cache, &time, error); /* fills the cache */
  for (int i = 0; i < ROUNDS && status == LAZE_OK; i++) {
    status = run_process(programs->empty, programs->cache, &time, error);
    add_time(&empty, time);
    if (status == LAZE_OK) status = run_cold(programs->first, &time, error);
    add_time(&cold, time);
    if (status == LAZE_OK) status = run_process(programs->first, programs->cache, &time, error);
    add_time(&warm, time);
  }
  if (status != LAZE_OK) return status;
  report_process(report, "an empty program", &empty, 0);
  report_process(report, "first result, nothing cached", &cold, 60);
  report_process(report, "first result, warm disk cache", &warm, 15);
  return LAZE_OK;
}

laze_status bench_first(bench_report *report, laze_error *error) {
  bench_programs programs;
  laze_status status = bench_find_program("empty", programs.empty, sizeof programs.empty, error);
  if (status == LAZE_OK) status = bench_find_program("first_result", programs.first, sizeof programs.first, error);
  if (status == LAZE_OK) status = bench_make_directory(programs.cache, sizeof programs.cache, error);
  if (status != LAZE_OK) return status;
  status = measure_rounds(report, &programs, error);
  bench_remove_directory(programs.cache);
  return status;
}

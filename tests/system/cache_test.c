/* Processes that share a disk cache: a warm one needs no LLVM, damage costs a recompile and nothing else, and several
 * may fill the cache at once. */
#include "tests/support/suite.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[64];

static void set_up(void) {
  snprintf(directory, sizeof directory, "/tmp/laze-system-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(directory));
  ck_assert_int_eq(setenv("LAZE_CACHE_DIR", directory, 1), 0);
  ck_assert_int_eq(setenv("LAZE_BACKEND", "llvm", 1), 0);
  ck_assert_int_eq(unsetenv("LAZE_DEBUG"), 0);
}

static void tear_down(void) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", directory);
  ck_assert_int_eq(system(command), 0);
}

typedef struct {
  double value;
  long long compiled, hits;
  int mapped;
} outcome;

static FILE *start(int links) {
  char command[512];
  snprintf(command, sizeof command, "%s %d", COMPILING_PROGRAM, links);
  FILE *process = popen(command, "r");
  ck_assert_ptr_nonnull(process);
  return process;
}

static outcome finish(FILE *process) {
  outcome out;
  int fields = fscanf(process, "result %lf kernels_compiled %lld disk_cache_hits %lld llvm_mapped %d", &out.value,
                      &out.compiled, &out.hits, &out.mapped);
  int status = pclose(process);
  ck_assert_int_eq(fields, 4);
  ck_assert_int_eq(status, 0);
  return out;
}

START_TEST(a_warm_process_compiles_nothing_and_maps_no_llvm) {
  outcome cold = finish(start(2)), warm = finish(start(2));
  ck_assert_int_gt(cold.compiled, 0);
  ck_assert_int_eq(cold.mapped, 1);
  ck_assert_int_eq(warm.compiled, 0);
  ck_assert_int_gt(warm.hits, 0);
  ck_assert_int_eq(warm.mapped, 0);
  ck_assert_double_eq(cold.value, warm.value);
}
END_TEST

/* Only what is new in a graph is compiled. */
START_TEST(a_longer_program_reuses_what_is_there) {
  outcome first = finish(start(1)), second = finish(start(3));
  ck_assert_int_gt(first.compiled, 0);
  ck_assert_int_gt(second.hits, 0);
}
END_TEST

typedef void (*damage)(const char *path, off_t size);

static void cut_in_half(const char *path, off_t size) {
  ck_assert_int_eq(truncate(path, size / 2), 0);
}
static void empty(const char *path, off_t size) {
  (void)size;
  ck_assert_int_eq(truncate(path, 0), 0);
}
static void flip(const char *path, off_t at) {
  char byte;
  int file = open(path, O_RDWR);
  ck_assert_int_ge(file, 0);
  ck_assert_int_eq(pread(file, &byte, 1, at), 1);
  byte = (char)(byte ^ 0x10);
  ck_assert_int_eq(pwrite(file, &byte, 1, at), 1);
  close(file);
}
static void flip_at_start(const char *path, off_t size) {
  (void)size;
  flip(path, 0);
}
static void flip_in_the_middle(const char *path, off_t size) {
  flip(path, size / 2);
}
static void flip_at_end(const char *path, off_t size) {
  flip(path, size - 1);
}
static void add_rubbish(const char *path, off_t size) {
  (void)size;
  FILE *file = fopen(path, "a");
  ck_assert_ptr_nonnull(file);
  fputs("rubbish", file);
  fclose(file);
}

/* Damages every module below the cache directory; returns how many there are. */
static int damage_modules(damage how) {
  int count = 0;
  DIR *top = opendir(directory);
  ck_assert_ptr_nonnull(top);
  for (struct dirent *entry; (entry = readdir(top));) {
    char below[512];
    snprintf(below, sizeof below, "%s/%s", directory, entry->d_name);
    DIR *identity = entry->d_name[0] == '.' ? NULL : opendir(below);
    for (struct dirent *file; identity && (file = readdir(identity));) {
      char path[1024];
      struct stat status;
      snprintf(path, sizeof path, "%s/%s", below, file->d_name);
      if (strncmp(file->d_name, "m-", 2) || stat(path, &status)) continue;
      how(path, status.st_size);
      count++;
    }
    if (identity) closedir(identity);
  }
  closedir(top);
  return count;
}

START_TEST(damaged_modules_are_compiled_again) {
  static const damage ways[] = {cut_in_half, empty, flip_at_start, flip_in_the_middle, flip_at_end, add_rubbish};
  outcome cold = finish(start(2));
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    ck_assert_int_gt(damage_modules(ways[i]), 0);
    outcome again = finish(start(2)), warm = finish(start(2));
    ck_assert_double_eq(again.value, cold.value);
    ck_assert_int_eq(again.compiled, cold.compiled);
    ck_assert_int_eq(warm.compiled, 0);
    ck_assert_double_eq(warm.value, cold.value);
  }
}
END_TEST

START_TEST(several_processes_fill_one_cache) {
  enum { PROCESSES = 4 };
  FILE *processes[PROCESSES];
  double value = 0;
  for (int i = 0; i < PROCESSES; i++) processes[i] = start(2);
  for (int i = 0; i < PROCESSES; i++) {
    outcome each = finish(processes[i]);
    if (i > 0) ck_assert_double_eq(each.value, value);
    value = each.value;
  }
  outcome warm = finish(start(2));
  ck_assert_int_eq(warm.compiled, 0);
  ck_assert_double_eq(warm.value, value);
}
END_TEST

/* A cache that cannot be written is no cache, not an error. */
START_TEST(an_unusable_directory_is_no_error) {
  ck_assert_int_eq(setenv("LAZE_CACHE_DIR", "/proc/none", 1), 0);
  outcome first = finish(start(1)), second = finish(start(1));
  ck_assert_int_gt(first.compiled, 0);
  ck_assert_int_eq(second.compiled, first.compiled);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("cache");
  TCase *tests = tcase_create("processes");
  tcase_set_timeout(tests, 0);
  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_test(tests, a_warm_process_compiles_nothing_and_maps_no_llvm);
  tcase_add_test(tests, a_longer_program_reuses_what_is_there);
  tcase_add_test(tests, damaged_modules_are_compiled_again);
  tcase_add_test(tests, several_processes_fill_one_cache);
  tcase_add_test(tests, an_unusable_directory_is_no_error);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}

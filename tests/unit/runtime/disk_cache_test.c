/* The disk cache: what comes back is what was stored or nothing, whatever happened to the files. */
#include "runtime/disk_cache.h"
#include "tests/support/suite.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char top[64], directory[128], last_warning[LAZE_ERROR_MESSAGE_SIZE];
static _Atomic int warnings;
static laze_context *context;
static laze_disk_cache *cache;

static void remember_warning(void *self, int32_t severity, const char *message) {
  (void)self;
  if (severity != LAZE_LOG_WARNING) return;
  warnings++;
  snprintf(last_warning, sizeof last_warning, "%s", message);
}

static laze_context *create_context(const char *cache_directory) {
  laze_context_options options = {
      .struct_size = sizeof options, .log = remember_warning, .cache_directory = cache_directory};
  laze_context *created = NULL;
  ck_assert_int_eq(laze_context_create(&options, &created, NULL), LAZE_OK);
  return created;
}

static void set_up(void) {
  unsetenv("LAZE_CACHE_BYTES");
  snprintf(top, sizeof top, "/tmp/laze-cache-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(top));
  snprintf(directory, sizeof directory, "%s/parent/cache", top);
  context = create_context(directory);
  cache = laze_disk_cache_open(context, "identity");
  ck_assert_ptr_nonnull(cache);
}

static void tear_down(void) {
  laze_disk_cache_close(cache);
  laze_context_release(context);
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", top);
  ck_assert_int_eq(system(command), 0);
}

static laze_hash key_of(int number) {
  return laze_hash_bytes(&number, sizeof number);
}

/* The object of a module that holds kernels first..first+count-1: bytes that follow from `first`. */
static void fill_object(int first, uint8_t *object, int64_t size) {
  for (int64_t i = 0; i < size; i++) object[i] = (uint8_t)(first * 7 + i * 13);
}

static bool store(laze_disk_cache *into, int first, int count, int64_t size) {
  laze_disk_entry entries[16];
  char names[16][32];
  for (int i = 0; i < count; i++) {
    snprintf(names[i], sizeof names[i], "kernel_%d", first + i);
    entries[i] = (laze_disk_entry){key_of(first + i), names[i]};
  }
  uint8_t *object = malloc((size_t)size + !size);
  fill_object(first, object, size);
  bool stored = laze_disk_cache_store(into, entries, count, object, size);
  free(object);
  return stored;
}

/* True when the module that holds kernel `number` is there and is exactly what store(first, count, size) wrote. */
static bool finds(laze_disk_cache *from, int number, int first, int count, int64_t size) {
  laze_disk_module *module = laze_disk_cache_find(from, key_of(number));
  if (!module) return false;
  ck_assert_int_eq(module->entry_count, count);
  ck_assert_int_eq(module->object_size, size);
  ck_assert_uint_eq((uintptr_t)module->object % 16, 0);
  uint8_t *expected = malloc((size_t)size + !size);
  fill_object(first, expected, size);
  ck_assert_int_eq(memcmp(expected, module->object, (size_t)size), 0);
  free(expected);
  for (int i = 0; i < count; i++) {
    char name[32];
    snprintf(name, sizeof name, "kernel_%d", first + i);
    ck_assert(laze_hash_equal(module->entries[i].key, key_of(first + i)));
    ck_assert_str_eq(module->entries[i].symbol, name);
  }
  laze_disk_module_destroy(module);
  return true;
}

static void identity_path(char out[256]) {
  char hex[33];
  laze_hash_format(laze_hash_bytes("identity", 8), hex);
  snprintf(out, 256, "%s/%s", directory, hex);
}

/* Number of files of a kind in the identity's directory; the path of one of them goes to `path`, which may be NULL. */
static int count_files(const char *prefix, char path[512]) {
  char base[256];
  identity_path(base);
  DIR *entries = opendir(base);
  ck_assert_ptr_nonnull(entries);
  int count = 0;
  for (struct dirent *entry = readdir(entries); entry; entry = readdir(entries)) {
    if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0) continue;
    count++;
    if (path) snprintf(path, 512, "%s/%.200s", base, entry->d_name);
  }
  closedir(entries);
  return count;
}

/* All kernels of a module come from one read, in this process and in the next. */
START_TEST(finds_what_was_stored) {
  ck_assert(!finds(cache, 1, 1, 3, 1000));
  ck_assert(store(cache, 1, 3, 1000));
  ck_assert(store(cache, 10, 1, 0));
  for (int i = 1; i <= 3; i++) ck_assert(finds(cache, i, 1, 3, 1000));
  ck_assert(finds(cache, 10, 10, 1, 0));
  ck_assert(!finds(cache, 4, 1, 3, 1000));
  laze_disk_cache_close(cache);
  cache = laze_disk_cache_open(context, "identity");
  ck_assert(finds(cache, 2, 1, 3, 1000));
  ck_assert_int_eq(warnings, 0);
}
END_TEST

/* A kernel that is stored again, in another module, is found there: its first module may have been evicted. */
START_TEST(replaces_links) {
  char path[512];
  ck_assert(store(cache, 1, 2, 100));
  count_files("m-", path);
  unlink(path);
  ck_assert(!finds(cache, 2, 1, 2, 100));
  ck_assert(store(cache, 2, 2, 100));
  ck_assert(finds(cache, 2, 2, 2, 100));
  ck_assert_int_eq(warnings, 0);
}
END_TEST

/* Nobody may run a kernel of another build, even when its file is moved. */
START_TEST(separates_identities) {
  ck_assert(store(cache, 1, 1, 100));
  laze_disk_cache *other = laze_disk_cache_open(context, "identity 2");
  ck_assert(!finds(other, 1, 1, 1, 100));
  char from[256], to_hex[33], command[1024];
  identity_path(from);
  laze_hash_format(laze_hash_bytes("identity 2", 10), to_hex);
  snprintf(command, sizeof command, "cp -a %s/. %s/%s/", from, directory, to_hex);
  ck_assert_int_eq(system(command), 0);
  ck_assert(!finds(other, 1, 1, 1, 100));
  ck_assert_int_eq(warnings, 1);
  laze_disk_cache_close(other);
}
END_TEST

static void write_file(const char *path, const uint8_t *bytes, size_t size) {
  FILE *file = fopen(path, "wb");
  ck_assert_ptr_nonnull(file);
  ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
  ck_assert_int_eq(fclose(file), 0);
}

static void expect_discarded(int expected_warnings) {
  ck_assert(!finds(cache, 1, 1, 2, 60));
  ck_assert_int_eq(warnings, expected_warnings);
  ck_assert_ptr_nonnull(strstr(last_warning, "compiled again"));
  ck_assert_int_eq(count_files("m-", NULL), 0); /* or it would be read and refused in every process */
  ck_assert(store(cache, 1, 2, 60));
}

/* Every length and every byte of a module: a damaged one is reported, removed and replaced. */
START_TEST(discards_damaged_modules) {
  char path[512];
  ck_assert(store(cache, 1, 2, 60));
  ck_assert_int_eq(count_files("m-", path), 1);
  uint8_t bytes[1024];
  FILE *file = fopen(path, "rb");
  size_t size = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  ck_assert_uint_lt(size, sizeof bytes);
  int expected = 0;
  for (size_t length = 0; length < size; length++) {
    write_file(path, bytes, length);
    expect_discarded(++expected);
  }
  for (size_t at = 0; at < size; at++) {
    bytes[at] ^= 0x40;
    write_file(path, bytes, size);
    expect_discarded(++expected);
    bytes[at] ^= 0x40;
  }
  bytes[size] = 0;
  write_file(path, bytes, size + 1);
  expect_discarded(++expected);
  ck_assert(finds(cache, 1, 1, 2, 60));
}
END_TEST

/* A link to a valid module without the kernel would run something else under its name. */
START_TEST(refuses_wrong_links) {
  char base[256], command[1024], one[33], two[33];
  ck_assert(store(cache, 1, 1, 60));
  identity_path(base);
  laze_hash_format(key_of(1), one);
  laze_hash_format(key_of(2), two);
  snprintf(command, sizeof command, "cp -a %s/k-%s %s/k-%s", base, one, base, two);
  ck_assert_int_eq(system(command), 0);
  ck_assert_ptr_null(laze_disk_cache_find(cache, key_of(2)));
  ck_assert_int_eq(warnings, 1);
  snprintf(command, sizeof command, "mkdir %s/k-%s", base, two);
  ck_assert_int_eq(system(command), 0);
  ck_assert_ptr_null(laze_disk_cache_find(cache, key_of(2)));
  ck_assert_int_eq(warnings, 2);
}
END_TEST

static void expect_refused(const char *path, const char *part) {
  int before = warnings;
  laze_context *other = create_context(path);
  ck_assert_ptr_null(laze_disk_cache_open(other, "identity"));
  ck_assert_int_eq(warnings, before + 1);
  ck_assert_msg(strstr(last_warning, part), "'%s' is not in: %s", part, last_warning);
  laze_context_release(other);
}

/* Objects are code: whoever can write them runs as this user. */
START_TEST(refuses_directories_of_others) {
  char base[256];
  identity_path(base);
  struct stat info;
  ck_assert_int_eq(stat(directory, &info), 0);
  ck_assert_uint_eq(info.st_mode & 0777, 0700);
  ck_assert_int_eq(stat(base, &info), 0);
  ck_assert_uint_eq(info.st_mode & 0777, 0700);
  ck_assert_int_eq(chmod(directory, 0720), 0);
  expect_refused(directory, "chmod");
  ck_assert_int_eq(chmod(directory, 0702), 0);
  expect_refused(directory, "chmod");
  ck_assert_int_eq(chmod(directory, 0755), 0);
  ck_assert_int_eq(chmod(base, 0777), 0);
  expect_refused(directory, "chmod");
  ck_assert_int_eq(chmod(base, 0700), 0);
  if (geteuid() == 0) {
    ck_assert_int_eq(chown(directory, 12345, 0), 0);
    expect_refused(directory, "12345");
    ck_assert_int_eq(chown(directory, 0, 0), 0);
  }
  laze_disk_cache *again = laze_disk_cache_open(context, "identity");
  ck_assert_ptr_nonnull(again);
  laze_disk_cache_close(again);
}
END_TEST

/* Refused, said once, removed, and stored anew. */
static void expect_file_refused(const char *part) {
  int before = warnings;
  ck_assert_ptr_null(laze_disk_cache_find(cache, key_of(1)));
  ck_assert_int_eq(warnings, before + 1);
  ck_assert_msg(strstr(last_warning, part), "'%s' is not in: %s", part, last_warning);
  ck_assert_ptr_null(laze_disk_cache_find(cache, key_of(1)));
  ck_assert_int_eq(warnings, before + 1);
  ck_assert(store(cache, 1, 2, 60));
  ck_assert(finds(cache, 1, 1, 2, 60));
}

/* So are files: a directory may have been open to others before, or be copied with what lies in it. */
START_TEST(refuses_files_of_others) {
  char path[512], elsewhere[512];
  struct stat info;
  ck_assert(store(cache, 1, 2, 60));
  ck_assert_int_eq(count_files("m-", path), 1);
  ck_assert_int_eq(stat(path, &info), 0);
  ck_assert_uint_eq(info.st_mode & 0777, 0600);
  ck_assert_int_eq(chmod(path, 0620), 0);
  expect_file_refused("others may write");
  ck_assert_int_eq(chmod(path, 0602), 0);
  expect_file_refused("mode 602");
  ck_assert_int_eq(chmod(path, 0644), 0); /* others may read */
  ck_assert(finds(cache, 1, 1, 2, 60));
  if (geteuid() == 0) { /* nobody else can give a file away */
    ck_assert_int_eq(chown(path, 12345, 0), 0);
    expect_file_refused("belongs to user 12345");
  }
  /* The module is a link to the very same bytes: where it points to is not this directory's affair. */
  snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", top);
  ck_assert_int_eq(rename(path, elsewhere), 0);
  ck_assert_int_eq(symlink(elsewhere, path), 0);
  expect_file_refused("is a link");
  ck_assert_int_eq(access(elsewhere, F_OK), 0);
}
END_TEST

/* A kernel's link that points out of the directory, to a module that is valid, is not followed. */
START_TEST(refuses_links_that_lead_out) {
  char path[512], link_path[512], elsewhere[512];
  ck_assert(store(cache, 1, 1, 60));
  ck_assert_int_eq(count_files("m-", path), 1);
  ck_assert_int_eq(count_files("k-", link_path), 1);
  snprintf(elsewhere, sizeof elsewhere, "%s/m-0123456789abcdef0123456789abcdef", top);
  ck_assert_int_eq(rename(path, elsewhere), 0);
  ck_assert_int_eq(unlink(link_path), 0);
  ck_assert_int_eq(symlink(elsewhere, link_path), 0);
  ck_assert_ptr_null(laze_disk_cache_find(cache, key_of(1)));
  ck_assert_int_eq(warnings, 1);
  ck_assert_msg(strstr(last_warning, "no link to a module"), "%s", last_warning);
  ck_assert_int_eq(access(elsewhere, F_OK), 0); /* what it led to is not removed */
  ck_assert_int_eq(count_files("k-", NULL), 0);
}
END_TEST

/* Gives the test's directory a file system of its own, seen by this process alone. False where the system does not let
 * this user mount one, as the errors that mean so show. */
static bool mount_directory(void) {
  if (unshare(CLONE_NEWNS) != 0) {
    ck_assert_msg(errno == EPERM, "unshare: %s", strerror(errno));
    return false;
  }
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 || mount("none", top, "tmpfs", 0, "mode=0700") != 0) {
    ck_assert_msg(errno == EPERM || errno == EACCES, "mount: %s", strerror(errno));
    return false;
  }
  return true;
}

/* What is in the cache serves; that nothing can be added is said as what it is, once. */
START_TEST(serves_from_a_read_only_file_system) {
  laze_disk_cache_close(cache);
  cache = NULL;
  if (!mount_directory()) return;
  cache = laze_disk_cache_open(context, "identity");
  ck_assert_ptr_nonnull(cache);
  ck_assert(store(cache, 1, 2, 60));
  ck_assert_int_eq(mount("none", top, "tmpfs", MS_REMOUNT | MS_RDONLY, NULL), 0);
  laze_disk_cache_close(cache);
  cache = laze_disk_cache_open(context, "identity");
  ck_assert_ptr_nonnull(cache);
  ck_assert(finds(cache, 1, 1, 2, 60));
  ck_assert_int_eq(warnings, 0);
  for (int i = 0; i < 3; i++) ck_assert(!store(cache, 5 + i, 1, 60));
  ck_assert_int_eq(warnings, 1);
  ck_assert_msg(strstr(last_warning, "read-only file system"), "%s", last_warning);
  ck_assert_ptr_null(laze_disk_cache_open(context, "another identity")); /* whose directory cannot be made */
  ck_assert_msg(strstr(last_warning, "cannot be made (Read-only file system)"), "%s", last_warning);
  ck_assert_msg(strstr(last_warning, top), "'%s' does not say where", last_warning);
  char path[128];
  snprintf(path, sizeof path, "%s/new/cache", top);
  expect_refused(path, "cannot be made (Read-only file system)");
  laze_disk_cache_close(cache);
  cache = NULL;
  ck_assert_int_eq(umount(top), 0);
}
END_TEST

/* The cache is an extra: no directory, or none that can be made, and everything goes on without it. */
START_TEST(does_without_a_directory) {
  expect_refused("/dev/null/cache", "cannot be opened (Not a directory)");
  expect_refused("/proc", "directory /proc/"); /* the directory that cannot be made is below it */
  laze_context *other = create_context("");
  int before = warnings;
  ck_assert_ptr_null(laze_disk_cache_open(other, "identity"));
  ck_assert_int_eq(warnings, before); /* switched off, not broken */
  laze_context_release(other);
  ck_assert(!store(NULL, 1, 1, 10));
  ck_assert_ptr_null(laze_disk_cache_find(NULL, key_of(1)));
  laze_disk_cache_close(NULL);
  laze_disk_module_destroy(NULL);
}
END_TEST

/* A file-size limit stands for a full disk: the write fails in the middle. */
START_TEST(survives_a_full_disk) {
  struct rlimit before, small;
  ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
  small = before;
  small.rlim_cur = 500;
  signal(SIGXFSZ, SIG_IGN);
  ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
  bool first = store(cache, 1, 1, 5000), second = store(cache, 2, 1, 5000);
  ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
  ck_assert(!first && !second);
  ck_assert_int_eq(warnings, 1); /* said once */
  ck_assert_int_eq(count_files("t-", NULL) + count_files("m-", NULL) + count_files("k-", NULL), 0);
  ck_assert(store(cache, 1, 1, 5000));
  ck_assert(finds(cache, 1, 1, 1, 5000));
}
END_TEST

START_TEST(survives_removal_of_the_directory) {
  char command[256];
  ck_assert(store(cache, 1, 1, 100));
  snprintf(command, sizeof command, "rm -rf %s", directory);
  ck_assert_int_eq(system(command), 0);
  ck_assert(!finds(cache, 1, 1, 1, 100));
  ck_assert(!store(cache, 1, 1, 100));
}
END_TEST

/* Old modules go first, of whatever identity, and leave no links behind. */
START_TEST(evicts_the_oldest) {
  laze_disk_cache_close(cache);
  setenv("LAZE_CACHE_BYTES", "100000", 1);
  laze_disk_cache *old = laze_disk_cache_open(context, "older build");
  ck_assert(store(old, 500, 1, 9000));
  cache = laze_disk_cache_open(context, "identity");
  for (int i = 0; i < 30; i++) ck_assert(store(cache, 10 * i, 2, 9000));
  int modules = count_files("m-", NULL);
  ck_assert_int_ge(modules, 5);
  ck_assert_int_le(modules, 11);
  ck_assert_int_eq(count_files("k-", NULL), 2 * modules);
  ck_assert(finds(cache, 290, 290, 2, 9000));
  ck_assert(!finds(cache, 0, 0, 2, 9000));
  ck_assert(!finds(old, 500, 500, 1, 9000));
  ck_assert(!store(cache, 1000, 1, 200000)); /* alone too large: everything else would go for it */
  ck_assert(finds(cache, 290, 290, 2, 9000));
  ck_assert_int_eq(warnings, 0);
  laze_disk_cache_close(old);
}
END_TEST

/* A size that is no number is told, with what is used instead; 0 is a number, with which nothing is kept. */
START_TEST(the_size_comes_from_the_environment) {
  static const struct {
    const char *text;
    bool right, keeps;
  } cases[] = {
      {"0", true, false},  {"1", true, false},  {"1000000", true, true}, {"", true, true},
      {"-1", false, true}, {"1k", false, true}, {"x", false, true},      {"99999999999999999999", false, true}};
  laze_disk_cache_close(cache);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    setenv("LAZE_CACHE_BYTES", cases[i].text, 1);
    warnings = 0;
    cache = laze_disk_cache_open(context, "identity");
    int told = warnings;
    ck_assert_msg(told == (cases[i].right ? 0 : 1), "'%s': %d warnings", cases[i].text, told);
    if (told) ck_assert_ptr_nonnull(strstr(last_warning, "expected a number of bytes"));
    bool kept = store(cache, (int)i, 1, 1000) && finds(cache, (int)i, (int)i, 1, 1000);
    ck_assert_msg(kept == cases[i].keeps, "'%s'", cases[i].text);
    if (i + 1 < sizeof cases / sizeof *cases) laze_disk_cache_close(cache);
  }
}
END_TEST

/* A daemon has closed its standard streams: 0 is a descriptor like others then, first of the cache's directory, then of
 * whatever it opens for a while. */
START_TEST(standard_input_may_be_closed) {
  laze_disk_cache_close(cache);
  setenv("LAZE_CACHE_BYTES", "40000", 1);
  for (int after_open = 0; after_open < 2; after_open++) {
    int kept = dup(0);
    if (!after_open) close(0);
    cache = laze_disk_cache_open(context, "identity");
    if (after_open) close(0);
    for (int i = 1; i < 12; i++) ck_assert(store(cache, i, 1, 9000));
    ck_assert(!finds(cache, 1, 1, 1, 9000));
    ck_assert(finds(cache, 11, 11, 1, 9000));
    ck_assert_int_le(count_files("m-", NULL), 4);
    if (!after_open) laze_disk_cache_close(cache);
    ck_assert_int_eq(fcntl(0, F_GETFD), -1); /* closed again, too */
    dup2(kept, 0);
    close(kept);
  }
  ck_assert_int_eq(warnings, 0);
}
END_TEST

/* Stores and finds overlapping sets of kernels; a wrong byte is fatal in finds(). */
static int hammer(laze_disk_cache *mine, unsigned seed) {
  int found = 0;
  for (int round = 0; round < 150; round++) {
    int first = (int)(rand_r(&seed) % 20) * 2;
    if (round % 3 == 0) store(mine, first, 2, 3000 + first);
    found += finds(mine, first + 1, first, 2, 3000 + first);
  }
  return found;
}

/* Processes write the same kernels at the same time, with evictions among them. */
START_TEST(serves_processes) {
  setenv("LAZE_CACHE_BYTES", "40000", 1);
  pid_t children[4];
  for (int i = 0; i < 4; i++) {
    children[i] = fork();
    ck_assert_int_ge(children[i], 0);
    if (children[i] == 0) {
      laze_disk_cache *mine = laze_disk_cache_open(context, "identity");
      int found = hammer(mine, (unsigned)i);
      laze_disk_cache_close(mine);
      _exit(found > 0 && warnings == 0 ? 0 : 1);
    }
  }
  for (int i = 0; i < 4; i++) {
    int status = -1;
    ck_assert_int_eq(waitpid(children[i], &status, 0), children[i]);
    ck_assert_int_eq(status, 0);
  }
  ck_assert_int_eq(count_files("t-", NULL), 0);
}
END_TEST

enum { KILLS = 500, VICTIM_MODULES = 40 };

/* Size of a victim's module: pages enough that a kill often comes in the middle of it. */
static int64_t victim_size(int module) {
  return 30000 + 1000 * module;
}

/* Stores modules without end, and says after each how many there were. */
static void be_a_victim(_Atomic int *stored) {
  laze_disk_cache *mine = laze_disk_cache_open(context, "identity");
  for (int i = 0;; i++) {
    int module = i % VICTIM_MODULES;
    store(mine, 10 * module, 2, victim_size(module));
    atomic_fetch_add(stored, 1);
  }
}

/* What a process that is killed at any moment leaves behind is whole modules, which the next one finds, or nothing that
 * is ever read: 500 kills, each some turns of a loop behind the start of a store. What was not finished lies there
 * under the name of a temporary file, for an hour. */
START_TEST(survives_kills) {
  _Atomic int *stored = mmap(NULL, sizeof *stored, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ck_assert_ptr_ne(stored, MAP_FAILED);
  unsigned seed = 1;
  int found = 0;
  for (int kill_number = 0; kill_number < KILLS; kill_number++) {
    atomic_store(stored, 0);
    pid_t victim = fork();
    ck_assert_int_ge(victim, 0);
    if (victim == 0) be_a_victim(stored);
    int wanted = 1 + (int)(rand_r(&seed) % 3), turns = (int)(rand_r(&seed) % 20000);
    while (atomic_load(stored) < wanted) sched_yield();
    for (volatile int i = 0; i < turns; i++) continue;
    ck_assert_int_eq(kill(victim, SIGKILL), 0);
    int status;
    ck_assert_int_eq(waitpid(victim, &status, 0), victim);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    /* A byte that is not what was stored is fatal in finds(). */
    for (int module = 0; module < wanted + 1; module++)
      found += finds(cache, 10 * module + 1, 10 * module, 2, victim_size(module));
  }
  ck_assert_int_ge(found, KILLS);               /* the first module of each was stored */
  ck_assert_int_gt(count_files("t-", NULL), 0); /* otherwise no kill came in the middle of a store */
  ck_assert_int_eq(warnings, 0);
  munmap((void *)stored, sizeof *stored);
}
END_TEST

static void *hammer_thread(void *argument) {
  (void)argument;
  return (void *)(intptr_t)hammer(cache, 7);
}

START_TEST(serves_threads) {
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) ck_assert_int_eq(pthread_create(&threads[i], NULL, hammer_thread, NULL), 0);
  for (int i = 0; i < 4; i++) {
    void *found;
    pthread_join(threads[i], &found);
    ck_assert_int_gt((intptr_t)found, 0);
  }
  ck_assert_int_eq(warnings, 0);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("disk_cache");
  TCase *tests = tcase_create("disk_cache");
  tcase_set_timeout(tests, 120);
  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_test(tests, finds_what_was_stored);
  tcase_add_test(tests, replaces_links);
  tcase_add_test(tests, separates_identities);
  tcase_add_test(tests, discards_damaged_modules);
  tcase_add_test(tests, refuses_wrong_links);
  tcase_add_test(tests, refuses_directories_of_others);
  tcase_add_test(tests, refuses_files_of_others);
  tcase_add_test(tests, refuses_links_that_lead_out);
  tcase_add_test(tests, serves_from_a_read_only_file_system);
  tcase_add_test(tests, does_without_a_directory);
  tcase_add_test(tests, survives_a_full_disk);
  tcase_add_test(tests, survives_removal_of_the_directory);
  tcase_add_test(tests, evicts_the_oldest);
  tcase_add_test(tests, the_size_comes_from_the_environment);
  tcase_add_test(tests, standard_input_may_be_closed);
  tcase_add_test(tests, serves_processes);
  tcase_add_test(tests, serves_threads);
  tcase_add_test(tests, survives_kills);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}

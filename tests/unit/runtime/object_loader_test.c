/* The loader against objects that the C compiler makes here, whole and damaged. */
#include "runtime/object_debug.h"
#include "runtime/object_loader.h"
#include "tests/support/suite.h"

#include <check.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

static const char source[] = "static const double table[4] = {1.5, 2.5, 3.5, 4.5};\n"
                             "double lookup(long i) { return table[i & 3]; }\n"
                             "long counter = 40;\n"
                             "static long zeroed[1000];\n"
                             "__attribute__((noinline)) long step(long by) { return counter += by; }\n"
                             "long step_twice(long by) { zeroed[by & 7]++; return step(by) + step(by); }\n"
                             "const char *const words[2] = {\"first\", \"second\"};\n"
                             "const char *word(int i) { return words[i & 1]; }\n"
                             "int add(int a, int b) { return a + b; }\n";

static const char importing_source[] = "extern int outside(int);\n"
                                       "int call_outside(int x) { return outside(x) + 1; }\n"
                                       "int (*pointer)(int) = outside;\n"
                                       "int call_pointer(int x) { return pointer(x) + 2; }\n";

/* Position-independent access to a foreign variable goes through the global offset table, which there is not. */
static const char table_source[] = "extern int foreign;\nint read_foreign(void) { return foreign; }\n";

static const char thread_local_source[] = "__thread int mine = 3;\nint read_mine(void) { return mine; }\n";

static laze_context *context;
static char directory[64];
static uint8_t *object_bytes;
static int64_t object_size;

static void write_text(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  ck_assert_ptr_nonnull(file);
  ck_assert_int_ge(fputs(text, file), 0);
  ck_assert_int_eq(fclose(file), 0);
}

/* Compiles C to the bytes of an object of exactly malloc'ed size, so that a sanitizer sees a read past the end. */
static uint8_t *compile(const char *text, int64_t *size) {
  char path[128], object[128], command[512];
  snprintf(path, sizeof path, "%s/kernel.c", directory);
  snprintf(object, sizeof object, "%s/kernel.o", directory);
  write_text(path, text);
  snprintf(command, sizeof command,
           "cc -c -O2 -fPIC -fvisibility=hidden -ffreestanding -fno-stack-protector "
           "-fno-asynchronous-unwind-tables -mcmodel=small -g0 -w -o %s %s",
           object, path);
  ck_assert_int_eq(system(command), 0);
  FILE *file = fopen(object, "rb");
  ck_assert_ptr_nonnull(file);
  ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
  *size = ftell(file);
  rewind(file);
  uint8_t *bytes = malloc((size_t)*size);
  ck_assert_uint_eq(fread(bytes, 1, (size_t)*size, file), (size_t)*size);
  fclose(file);
  unlink(path);
  unlink(object);
  return bytes;
}

static void set_up(void) {
  ck_assert_int_eq(laze_context_create(NULL, &context, NULL), LAZE_OK);
  snprintf(directory, sizeof directory, "/tmp/laze-loader-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(directory));
  object_bytes = compile(source, &object_size);
}

static void tear_down(void) {
  free(object_bytes);
  rmdir(directory);
  laze_context_release(context);
}

static laze_object *load(const void *bytes, int64_t size, const laze_object_options *options) {
  laze_object *object = NULL;
  laze_error error = {0};
  laze_status status = laze_object_load(context, bytes, size, options, &object, &error);
  ck_assert_msg(status == LAZE_OK, "%s", error.message);
  return object;
}

/* dlsym's idiom: ISO C has no conversion from an object pointer to a function pointer. */
#define FIND(object, symbol, function)                                                                                 \
  do {                                                                                                                 \
    void *found_address = laze_object_find(object, symbol);                                                            \
    ck_assert_ptr_nonnull(found_address);                                                                              \
    memcpy(&(function), &found_address, sizeof(function));                                                             \
  } while (0)

/* Constants (PC32 to .rodata), variables, zeroed memory, calls (PLT32) and pointers in data (64) all have to be right
 * for these values to come out. */
START_TEST(runs_compiled_code) {
  laze_object *object = load(object_bytes, object_size, NULL);
  double (*lookup)(long);
  long (*step_twice)(long);
  const char *(*word)(int);
  FIND(object, "lookup", lookup);
  FIND(object, "step_twice", step_twice);
  FIND(object, "word", word);
  ck_assert(lookup(2) == 3.5);
  ck_assert_int_eq(step_twice(1), 41 + 42);
  ck_assert_int_eq(*(long *)laze_object_find(object, "counter"), 42);
  ck_assert_str_eq(word(1), "second");
  ck_assert_ptr_null(laze_object_find(object, "zeroed")); /* local */
  ck_assert_ptr_null(laze_object_find(object, "nothing"));
  laze_object_destroy(object);
}
END_TEST

/* Two copies of an object are independent, and bytes of any alignment are accepted (a cache hands out an offset into
 * its file). */
START_TEST(loads_copies_from_unaligned_bytes) {
  uint8_t *moved = malloc((size_t)object_size + 1);
  memcpy(moved + 1, object_bytes, (size_t)object_size);
  laze_object *a = load(moved + 1, object_size, NULL);
  laze_object *b = load(object_bytes, object_size, NULL);
  free(moved); /* nothing of the bytes is kept */
  long (*step)(long);
  FIND(a, "step", step);
  ck_assert_int_eq(step(5), 45);
  FIND(b, "step", step);
  ck_assert_int_eq(step(1), 41);
  laze_object_destroy(a);
  FIND(b, "step", step);
  ck_assert_int_eq(step(1), 42);
  laze_object_destroy(b);
}
END_TEST

/* The four letters of /proc/self/maps for an address. */
static void find_protection(const void *address, char out[5]) {
  FILE *maps = fopen("/proc/self/maps", "r");
  ck_assert_ptr_nonnull(maps);
  char line[512];
  out[0] = 0;
  while (fgets(line, sizeof line, maps)) {
    unsigned long begin, end;
    char letters[5];
    if (sscanf(line, "%lx-%lx %4s", &begin, &end, letters) != 3) continue;
    if ((unsigned long)address >= begin && (unsigned long)address < end) strcpy(out, letters);
  }
  fclose(maps);
}

/* Writable and executable memory is what an attacker looks for; constants are read-only so that a stray store faults.
 */
START_TEST(separates_permissions) {
  laze_object *object = load(object_bytes, object_size, NULL);
  char letters[5];
  find_protection(laze_object_find(object, "step"), letters);
  ck_assert_str_eq(letters, "r-xp");
  find_protection(laze_object_find(object, "counter"), letters);
  ck_assert_str_eq(letters, "rw-p");
  const char *(*word)(int);
  FIND(object, "word", word);
  find_protection(word(0), letters);
  ck_assert_str_eq(letters, "r--p");
  laze_object_destroy(object);
}
END_TEST

static int outside(int x) {
  return 3 * x;
}

/* This program may lie further from the mapping than a call reaches: the call goes through a trampoline. */
START_TEST(calls_imports) {
  int64_t size;
  uint8_t *bytes = compile(importing_source, &size);
  laze_object_import imports[2] = {{"unused", NULL}, {"outside", NULL}};
  int (*function)(int) = outside;
  memcpy(&imports[1].address, &function, sizeof function);
  laze_object_options options = {.imports = imports, .import_count = 2};
  laze_object *object = load(bytes, size, &options);
  FIND(object, "call_outside", function);
  ck_assert_int_eq(function(5), 16);
  FIND(object, "call_pointer", function);
  ck_assert_int_eq(function(5), 17);
  laze_object_destroy(object);
  free(bytes);
}
END_TEST

static void expect_refusal(const char *text, const laze_object_options *options, const char *part) {
  int64_t size;
  uint8_t *bytes = compile(text, &size);
  laze_object *object = NULL;
  laze_error error = {0};
  ck_assert_int_eq(laze_object_load(context, bytes, size, options, &object, &error), LAZE_UNSUPPORTED);
  ck_assert_msg(strstr(error.message, part), "'%s' is not in: %s", part, error.message);
  ck_assert_ptr_null(object);
  free(bytes);
}

/* Code that needs anything but the named imports must not be linked against whatever the process happens to hold. */
START_TEST(refuses_what_it_does_not_know) {
  expect_refusal(importing_source, NULL, "outside");
  expect_refusal(table_source, NULL, "foreign");
  static int foreign = 1;
  laze_object_import import = {"foreign", &foreign};
  laze_object_options options = {.imports = &import, .import_count = 1};
  expect_refusal(table_source, &options, "relocation type");
  expect_refusal(thread_local_source, NULL, "kernel object");
}
END_TEST

/* Loads an object whose zeroed memory is `pages` pages short of the most an object may take, and `more` bytes. */
static bool loads_zeroed(long pages, long more) {
  char text[256];
  int64_t size;
  snprintf(text, sizeof text, "char zeroed[%lld]; int f(void) { return zeroed[0]; }\n",
           (long long)LAZE_OBJECT_MAX - pages * sysconf(_SC_PAGESIZE) + more);
  uint8_t *bytes = compile(text, &size);
  laze_object *object = NULL;
  laze_error error = {0};
  laze_status status = laze_object_load(context, bytes, size, NULL, &object, &error);
  free(bytes);
  laze_object_destroy(object);
  if (status == LAZE_OK) return true;
  ck_assert_int_eq(status, LAZE_DATA_LOSS);
  ck_assert_ptr_nonnull(strstr(error.message, "more than 268435456 bytes"));
  return false;
}

/* A damaged size must not make a process map what the machine has. What is behind whole pages of code and constants
 * fits to the byte. */
START_TEST(memory_is_bounded) {
  long pages = 1;
  while (pages < 8 && !loads_zeroed(pages, 0)) pages++;
  ck_assert_int_gt(pages, 1);
  ck_assert_int_lt(pages, 8);
  ck_assert(!loads_zeroed(pages, 1));
}
END_TEST

/* A cache file may end anywhere. Every length must be refused or load a complete object, and never be read past. */
START_TEST(survives_truncation) {
  laze_object_options options = {.hide_from_debugger = true};
  int loaded = 0;
  for (int64_t size = 0; size < object_size; size++) {
    uint8_t *bytes = malloc((size_t)size + !size);
    memcpy(bytes, object_bytes, (size_t)size);
    laze_object *object = NULL;
    laze_error error = {0};
    laze_status status = laze_object_load(context, bytes, size, &options, &object, &error);
    ck_assert_int_eq(status == LAZE_OK, object != NULL);
    ck_assert(status == LAZE_OK || error.message[0]);
    loaded += object != NULL;
    laze_object_destroy(object);
    free(bytes);
  }
  ck_assert_int_eq(loaded, 0); /* the section headers come last in the file */
}
END_TEST

/* Hardened systems let no process make memory executable (here as systemd's MemoryDenyWriteExecute= does). That must be
 * an error that names the way out. Kernels before 6.3 cannot be asked to; there is nothing to test there. */
START_TEST(reports_that_code_is_denied) {
  enum { SET_MEMORY_DENY_WRITE_EXECUTE = 65, REFUSE_EXECUTE_GAIN = 1 };
  if (prctl(SET_MEMORY_DENY_WRITE_EXECUTE, REFUSE_EXECUTE_GAIN, 0, 0, 0) != 0) return;
  laze_object *object = NULL;
  laze_error error = {0};
  ck_assert_int_eq(laze_object_load(context, object_bytes, object_size, NULL, &object, &error), LAZE_UNSUPPORTED);
  ck_assert_ptr_nonnull(strstr(error.message, "interp"));
  ck_assert_ptr_null(object);
}
END_TEST

static uint64_t next_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

/* One to four wrong bytes: the loader may refuse the object or load something else, but must not crash or write
 * outside. Half of them hit headers and tables (the end of the file), where offsets and counts are. */
START_TEST(survives_wrong_bytes) {
  uint64_t seed = 20240117, state = seed;
  laze_object_options options = {.hide_from_debugger = true};
  int refused = 0;
  for (int round = 0; round < 4000; round++) {
    uint8_t *bytes = malloc((size_t)object_size);
    memcpy(bytes, object_bytes, (size_t)object_size);
    for (int n = 1 + (int)(next_random(&state) % 4); n > 0; n--) {
      int64_t range = next_random(&state) % 2 ? object_size : object_size / 2;
      bytes[object_size - 1 - (int64_t)(next_random(&state) % (uint64_t)range)] ^=
          (uint8_t)(1 + next_random(&state) % 255);
    }
    laze_object *object = NULL;
    laze_status status = laze_object_load(context, bytes, object_size, &options, &object, NULL);
    ck_assert_msg((status == LAZE_OK) == (object != NULL), "seed %llu, round %d", (unsigned long long)seed, round);
    refused += status != LAZE_OK;
    laze_object_destroy(object);
    free(bytes);
  }
  ck_assert_int_gt(refused, 1000);
}
END_TEST

/* Sets a 64-bit field of a section header. */
static void set_field(uint8_t *bytes, int section, int64_t field, uint64_t value) {
  uint64_t headers;
  memcpy(&headers, bytes + 40, sizeof headers);
  memcpy(bytes + headers + 64 * (uint64_t)section + (uint64_t)field, &value, sizeof value);
}

/* Extreme offsets, sizes and alignments in every section: sums of them overflow 64 bits. */
START_TEST(survives_extreme_section_headers) {
  static const uint64_t values[] = {UINT64_MAX, UINT64_MAX - 63, INT64_MAX, (uint64_t)INT64_MAX + 1, 1u << 31, 3, 0};
  uint16_t count;
  memcpy(&count, object_bytes + 60, sizeof count);
  laze_object_options options = {.hide_from_debugger = true};
  uint8_t *bytes = malloc((size_t)object_size);
  for (int section = 0; section < count; section++) {
    for (int64_t field = 0; field < 64; field += 8) { /* every 8 bytes: name and type, flags, address, offset, ... */
      for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
        memcpy(bytes, object_bytes, (size_t)object_size);
        set_field(bytes, section, field, values[v]);
        laze_object *object = NULL;
        laze_status status = laze_object_load(context, bytes, object_size, &options, &object, NULL);
        ck_assert_int_eq(status == LAZE_OK, object != NULL);
        laze_object_destroy(object);
      }
    }
  }
  free(bytes);
}
END_TEST

/* What GDB finds behind the name of its interface. */
extern struct {
  uint32_t version, action;
  void *relevant;
  const struct {
    void *next, *previous;
    const uint8_t *object;
    uint64_t size;
  } * first;
} __jit_debug_descriptor;

/* GDB places functions by the addresses of sections. Where the copy that it reads has none, it shows code of other
 * kernels, or none. */
START_TEST(tells_the_debugger_where_sections_are) {
  laze_object *object = load(object_bytes, object_size, NULL);
  ck_assert_ptr_nonnull(__jit_debug_descriptor.first);
  ck_assert_uint_eq(__jit_debug_descriptor.first->size, (uint64_t)object_size);
  const uint8_t *copy = __jit_debug_descriptor.first->object;
  const Elf64_Ehdr *header = (const Elf64_Ehdr *)copy;
  const Elf64_Shdr *sections = (const Elf64_Shdr *)(copy + header->e_shoff);
  uint64_t counter = (uintptr_t)laze_object_find(object, "counter"), step = (uintptr_t)laze_object_find(object, "step");
  bool has_counter = false, has_step = false;
  for (int i = 0; i < header->e_shnum; i++) {
    uint64_t begin = sections[i].sh_addr, end = begin + sections[i].sh_size;
    has_counter |= begin <= counter && counter < end && (sections[i].sh_flags & SHF_WRITE);
    has_step |= begin <= step && step < end && (sections[i].sh_flags & SHF_EXECINSTR);
  }
  ck_assert(has_counter && has_step);
  laze_object_destroy(object);
  ck_assert_ptr_null(__jit_debug_descriptor.first);
}
END_TEST

/* The file that `perf report` reads names each function with its address. */
START_TEST(writes_perf_map) {
  static const char *const names[] = {"add", "counter", "lookup", "step", "step_twice", "word", "words"};
  enum { NAMES = sizeof names / sizeof *names };
  char path[64], expected[NAMES][64], line[256], end[32];
  snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
  laze_object_options options = {.perf_map = true};
  laze_object *object = load(object_bytes, object_size, &options);
  for (int i = 0; i < NAMES; i++)
    snprintf(expected[i], sizeof expected[i], "%lx ", (unsigned long)laze_object_find(object, names[i]));
  FILE *file = fopen(path, "r");
  ck_assert_ptr_nonnull(file);
  int found = 0;
  while (fgets(line, sizeof line, file)) {
    for (int i = 0; i < NAMES; i++) {
      snprintf(end, sizeof end, " %s\n", names[i]);
      found += strncmp(line, expected[i], strlen(expected[i])) == 0 && strstr(line, end);
    }
  }
  fclose(file);
  unlink(path);
  laze_object_destroy(object);
  ck_assert_int_eq(found, NAMES);
}
END_TEST

/* /tmp is everybody's. What lies there in the map's place is not followed, not waited for and not written, and the
 * object is loaded all the same. */
START_TEST(writes_no_perf_map_of_others) {
  char path[64], other[128], content[16] = "";
  snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
  snprintf(other, sizeof other, "%s/other", directory);
  write_text(other, "kept");
  laze_object_options options = {.perf_map = true};
  enum { LINK, HARD_LINK, PIPE, DIRECTORY, FOREIGN, CASES };
  for (int i = 0; i < CASES; i++) {
    if (i == FOREIGN && geteuid() != 0) continue; /* nobody else can give a file away */
    if (i == HARD_LINK && link(other, path) != 0) {
      ck_assert_int_eq(errno, EXDEV); /* /tmp and the test's folder are two file systems */
      continue;
    }
    if (i == LINK) ck_assert_int_eq(symlink(other, path), 0);
    if (i == PIPE) ck_assert_int_eq(mkfifo(path, 0600), 0);
    if (i == DIRECTORY) ck_assert_int_eq(mkdir(path, 0700), 0);
    if (i == FOREIGN) write_text(path, "");
    if (i == FOREIGN) ck_assert_int_eq(chown(path, 12345, 0), 0);
    ck_assert_msg(laze_perf_map_open() < 0, "case %d is written", i);
    laze_object *object = load(object_bytes, object_size, &options);
    ck_assert_ptr_nonnull(laze_object_find(object, "step_twice"));
    laze_object_destroy(object);
    struct stat info;
    ck_assert_int_eq(lstat(path, &info), 0);
    if (i == FOREIGN) ck_assert_int_eq(info.st_size, 0);
    ck_assert_int_eq(remove(path), 0);
  }
  FILE *file = fopen(other, "r");
  ck_assert_ptr_nonnull(file);
  ck_assert_ptr_nonnull(fgets(content, sizeof content, file));
  fclose(file);
  ck_assert_str_eq(content, "kept");
}
END_TEST

int main(void) {
  Suite *suite = suite_create("object_loader");
  TCase *tests = tcase_create("object_loader");
  tcase_set_timeout(tests, 120);
  tcase_add_checked_fixture(tests, set_up, tear_down);
#if defined(__x86_64__)
  tcase_add_test(tests, runs_compiled_code);
  tcase_add_test(tests, memory_is_bounded);
  tcase_add_test(tests, loads_copies_from_unaligned_bytes);
  tcase_add_test(tests, separates_permissions);
  tcase_add_test(tests, calls_imports);
  tcase_add_test(tests, refuses_what_it_does_not_know);
  tcase_add_test(tests, survives_truncation);
  tcase_add_test(tests, survives_wrong_bytes);
  tcase_add_test(tests, survives_extreme_section_headers);
  tcase_add_test(tests, tells_the_debugger_where_sections_are);
  tcase_add_test(tests, writes_perf_map);
  tcase_add_test(tests, writes_no_perf_map_of_others);
  tcase_add_test(tests, reports_that_code_is_denied);
#endif
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}

/* Build ids as the linker wrote them, and files that have none. */
#include "runtime/build_id.h"
#include "tests/support/suite.h"

#include <check.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char directory[64], library[128];

static void set_up(void) {
  snprintf(directory, sizeof directory, "/tmp/laze-build-id-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(directory));
  snprintf(library, sizeof library, "%s/library.so", directory);
}

static void tear_down(void) {
  unlink(library);
  rmdir(directory);
}

static void link_library(const char *option) {
  char command[512];
  snprintf(command, sizeof command, "echo 'int f(void) { return 1; }' | cc -shared -fPIC -x c - -Wl,%s -o %s", option,
           library);
  ck_assert_int_eq(system(command), 0);
}

/* The value is the one given to the linker, byte for byte. */
START_TEST(reads_what_the_linker_wrote) {
  link_library("--build-id=0x00123456789abcdeff");
  char id[LAZE_BUILD_ID_SIZE];
  laze_error error = {0};
  ck_assert_msg(laze_build_id_read(library, id, &error) == LAZE_OK, "%s", error.message);
  ck_assert_str_eq(id, "00123456789abcdeff");
}
END_TEST

START_TEST(says_what_is_missing) {
  char id[LAZE_BUILD_ID_SIZE];
  laze_error error = {0};
  ck_assert_int_eq(laze_build_id_read(library, id, &error), LAZE_NOT_FOUND); /* not linked yet */
  ck_assert_ptr_nonnull(strstr(error.message, library));
  link_library("--build-id=none");
  ck_assert_int_eq(laze_build_id_read(library, id, &error), LAZE_NOT_FOUND);
  ck_assert_ptr_nonnull(strstr(error.message, "--build-id"));
  ck_assert_int_eq(laze_build_id_read("/dev/null", id, &error), LAZE_DATA_LOSS);
  ck_assert_int_eq(laze_build_id_read(directory, id, &error), LAZE_DATA_LOSS);
}
END_TEST

static void write_library(const uint8_t *bytes, size_t size) {
  FILE *file = fopen(library, "wb");
  ck_assert_ptr_nonnull(file);
  ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
  ck_assert_int_eq(fclose(file), 0);
}

/* Overwrites what earlier calls left on the stack: a short read must not pass because the rest is still there. */
static __attribute__((noinline)) void forget_stack(void) {
  volatile uint8_t stale[32768];
  for (size_t i = 0; i < sizeof stale; i++) stale[i] = 0xa5;
}

/* A library that is being installed over may be short or wrong: an error, never a read outside, and never an id that
 * the file does not hold. */
START_TEST(survives_damage) {
  link_library("--build-id=sha1");
  static uint8_t bytes[1 << 16];
  FILE *file = fopen(library, "rb");
  size_t size = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  char whole[LAZE_BUILD_ID_SIZE], id[LAZE_BUILD_ID_SIZE];
  uint8_t raw[20];
  ck_assert_int_eq(laze_build_id_read(library, whole, NULL), LAZE_OK);
  ck_assert_uint_eq(strlen(whole), 2 * sizeof raw);
  for (size_t i = 0; i < sizeof raw; i++) {
    const char digits[] = {whole[2 * i], whole[2 * i + 1], 0};
    raw[i] = (uint8_t)strtoul(digits, NULL, 16);
  }
  const uint8_t *found = memmem(bytes, size, raw, sizeof raw);
  ck_assert_ptr_nonnull(found);
  size_t end = (size_t)(found - bytes) + sizeof raw;
  ck_assert_uint_gt(end, 64);
  for (size_t length = 0; length < end; length++) {
    write_library(bytes, length);
    forget_stack();
    laze_error error = {0};
    ck_assert_msg(laze_build_id_read(library, id, &error) == LAZE_DATA_LOSS, "%zu of %zu bytes: %s", length, end,
                  error.message);
  }
  for (size_t at = 0; at < 1024 && at < size; at++) {
    bytes[at] ^= 0xff;
    write_library(bytes, size);
    laze_status status = laze_build_id_read(library, id, NULL);
    ck_assert(status == LAZE_OK || status == LAZE_NOT_FOUND || status == LAZE_DATA_LOSS);
    bytes[at] ^= 0xff;
  }
}
END_TEST

enum { ID_SIZE = 20 };

/* A file of program headers alone, the last being notes of `padding` bytes of another kind and then a build id. */
static void write_headers(int count, uint32_t padding, uint32_t id_size) {
  uint8_t notes[8192] = {0};
  Elf64_Ehdr header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB},
                       .e_phoff = sizeof header,
                       .e_phentsize = sizeof(Elf64_Phdr),
                       .e_phnum = (uint16_t)count};
  Elf64_Nhdr other = {.n_namesz = 4, .n_descsz = padding, .n_type = NT_GNU_BUILD_ID},
             id = {.n_namesz = 4, .n_descsz = id_size, .n_type = NT_GNU_BUILD_ID};
  size_t size = 0;
  if (padding) {
    memcpy(notes, &other, sizeof other);
    memcpy(notes + sizeof other, "XYZ", 4);
    size = sizeof other + 4 + padding;
  }
  memcpy(notes + size, &id, sizeof id);
  memcpy(notes + size + sizeof id, "GNU", 4);
  memset(notes + size + sizeof id + 4, 0xab, id_size);
  size += sizeof id + 4 + id_size;
  Elf64_Phdr segment = {
      .p_type = PT_NOTE, .p_offset = sizeof header + (uint64_t)count * sizeof segment, .p_filesz = size};
  FILE *file = fopen(library, "wb");
  fwrite(&header, sizeof header, 1, file);
  for (int i = 1; i < count; i++) fwrite(&(Elf64_Phdr){.p_type = PT_LOAD}, sizeof segment, 1, file);
  fwrite(&segment, sizeof segment, 1, file);
  fwrite(notes, size, 1, file);
  fclose(file);
}

/* 64 program headers are read, and 4096 bytes of notes: no file makes opening the code generator slow. */
START_TEST(what_is_read_is_bounded) {
  char id[LAZE_BUILD_ID_SIZE];
  const uint32_t room = 4096 - 2 * (sizeof(Elf64_Nhdr) + 4) - ID_SIZE;
  write_headers(64, 0, ID_SIZE);
  ck_assert_int_eq(laze_build_id_read(library, id, NULL), LAZE_OK);
  ck_assert_uint_eq(strlen(id), 2 * ID_SIZE);
  ck_assert_uint_eq(strspn(id, "ab"), 2 * ID_SIZE);
  write_headers(65, 0, ID_SIZE);
  ck_assert_int_eq(laze_build_id_read(library, id, NULL), LAZE_DATA_LOSS);
  write_headers(1, room, ID_SIZE);
  ck_assert_int_eq(laze_build_id_read(library, id, NULL), LAZE_OK);
  write_headers(1, room + 4, ID_SIZE);
  ck_assert_int_eq(laze_build_id_read(library, id, NULL), LAZE_NOT_FOUND);
  /* An id takes two digits a byte; one that does not fit is none. */
  write_headers(1, 0, (LAZE_BUILD_ID_SIZE - 1) / 2);
  ck_assert_int_eq(laze_build_id_read(library, id, NULL), LAZE_OK);
  write_headers(1, 0, (LAZE_BUILD_ID_SIZE - 1) / 2 + 1);
  ck_assert_int_eq(laze_build_id_read(library, id, NULL), LAZE_NOT_FOUND);
  write_headers(1, 0, 0);
  ck_assert_int_eq(laze_build_id_read(library, id, NULL), LAZE_NOT_FOUND);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("build_id");
  TCase *tests = tcase_create("build_id");
  tcase_set_timeout(tests, 120);
  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_test(tests, reads_what_the_linker_wrote);
  tcase_add_test(tests, says_what_is_missing);
  tcase_add_test(tests, survives_damage);
  tcase_add_test(tests, what_is_read_is_bounded);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}

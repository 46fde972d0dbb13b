/* What replaces a file: the old one stays until the new one is whole. */
#include "base/file.h"

#include "tests/unit/base/base_test.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[64], path[96];

static void make_directory(void) {
  snprintf(directory, sizeof directory, "/tmp/laze-file-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(directory));
  snprintf(path, sizeof path, "%s/x", directory);
}

static void remove_directory(void) {
  static const char *const names[] = {"x", "link"};
  char name[96];
  for (int i = 0; i < 2; i++) {
    snprintf(name, sizeof name, "%s/%s", directory, names[i]);
    (void)unlink(name);
  }
  ck_assert_int_eq(rmdir(directory), 0); /* nothing was left beside */
}

static const char *content_of(const char *name) {
  static char text[64];
  FILE *file = fopen(name, "r");
  ck_assert_ptr_nonnull(file);
  text[fread(text, 1, sizeof text - 1, file)] = 0;
  fclose(file);
  return text;
}

static bool write_text(const void *text, int file) {
  return laze_file_write(file, text, (int64_t)strlen(text));
}

/* The old content can be read until all of the new one is written. */
static bool write_half(const void *text, int file) {
  (void)laze_file_write(file, text, 3);
  ck_assert_str_eq(content_of(path), "old");
  errno = ENOSPC;
  return false;
}

START_TEST(a_file_that_cannot_be_written_whole_stays_as_it_was) {
  laze_error error;
  ck_assert_int_eq(laze_file_replace(path, write_text, "old", NULL), LAZE_OK);
  ck_assert_int_eq(laze_file_replace(path, write_half, "new content", &error), LAZE_IO_ERROR);
  ck_assert_ptr_nonnull(strstr(error.message, path));
  ck_assert_ptr_nonnull(strstr(error.message, "cannot be written (No space left on device)"));
  ck_assert_str_eq(content_of(path), "old");
}
END_TEST

START_TEST(a_replaced_file_keeps_permissions_and_links) {
  char link_path[96];
  struct stat info;
  snprintf(link_path, sizeof link_path, "%s/link", directory);
  ck_assert_int_eq(laze_file_replace(path, write_text, "old", NULL), LAZE_OK);
  ck_assert_int_eq(chmod(path, 0640), 0);
  ck_assert_int_eq(symlink("x", link_path), 0);
  ck_assert_int_eq(laze_file_replace(link_path, write_text, "new", NULL), LAZE_OK);
  ck_assert_str_eq(content_of(path), "new");
  ck_assert_int_eq(lstat(link_path, &info), 0);
  ck_assert(S_ISLNK(info.st_mode));
  ck_assert_int_eq(stat(path, &info), 0);
  ck_assert_int_eq(info.st_mode & 0777, 0640);
}
END_TEST

/* A new file beside a device would take its place. */
START_TEST(what_is_no_file_is_written_as_it_is) {
  struct stat info;
  laze_error error;
  ck_assert_int_eq(laze_file_replace("/dev/null", write_text, "gone", &error), LAZE_OK);
  ck_assert_int_eq(stat("/dev/null", &info), 0);
  ck_assert(S_ISCHR(info.st_mode));
  ck_assert_int_eq(laze_file_replace(directory, write_text, "gone", &error), LAZE_IO_ERROR);
  ck_assert_ptr_nonnull(strstr(error.message, "Is a directory"));
}
END_TEST

int main(void) {
  Suite *suite = suite_create("file");
  TCase *tests = tcase_create("replace");
  tcase_add_checked_fixture(tests, make_directory, remove_directory);
  tcase_add_test(tests, a_file_that_cannot_be_written_whole_stays_as_it_was);
  tcase_add_test(tests, a_replaced_file_keeps_permissions_and_links);
  tcase_add_test(tests, what_is_no_file_is_written_as_it_is);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}

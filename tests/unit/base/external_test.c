/* The gate for files that a file refers to: what is below the folder can be read, nothing else can. */
#include "base/external.h"

#include "tests/unit/base/base_test.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[64];

static void make(const char *name, const char *content) {
  FILE *file = fopen(name, "w");
  ck_assert_ptr_nonnull(file);
  fputs(content, file);
  ck_assert_int_eq(fclose(file), 0);
}

/* outside.bin, and d/ with a.bin, sub/b.bin, links to all of them, and what is no file. */
static void make_directory(void) {
  snprintf(directory, sizeof directory, "/tmp/laze-external-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(directory));
  ck_assert_int_eq(chdir(directory), 0);
  make("outside.bin", "secret");
  ck_assert_int_eq(mkdir("d", 0700), 0);
  ck_assert_int_eq(mkdir("d/sub", 0700), 0);
  make("d/a.bin", "0123456789");
  make("d/sub/b.bin", "b");
  ck_assert_int_eq(symlink("../outside.bin", "d/link"), 0);
  ck_assert_int_eq(symlink("a.bin", "d/inner"), 0);
  ck_assert_int_eq(symlink("..", "d/up"), 0);
  ck_assert_int_eq(symlink("nowhere", "d/broken"), 0);
  ck_assert_int_eq(mkfifo("d/pipe", 0600), 0);
}

static void remove_directory(void) {
  static const char *const names[] = {"d/pipe",      "d/broken", "d/up",  "d/inner", "d/link",
                                      "d/sub/b.bin", "d/a.bin",  "d/sub", "d",       "outside.bin"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) ck_assert_int_eq(remove(names[i]), 0);
  ck_assert_int_eq(chdir("/"), 0);
  ck_assert_int_eq(rmdir(directory), 0);
}

START_TEST(what_is_below_is_read) {
  laze_external external;
  laze_error error;
  char text[8] = "";
  ck_assert_int_eq(laze_external_open("d", "a.bin", &external, &error), LAZE_OK);
  ck_assert_int_eq(external.size, 10);
  ck_assert_int_eq(laze_external_read(&external, "a.bin", 3, 4, text, &error), LAZE_OK);
  ck_assert_str_eq(text, "3456");
  /* It got shorter since its size was asked. */
  ck_assert_int_eq(truncate("d/a.bin", 5), 0);
  ck_assert_int_eq(laze_external_read(&external, "a.bin", 3, 4, text, &error), LAZE_DATA_LOSS);
  ck_assert_str_eq(error.message, "file \"a.bin\": got shorter while it was read");
  laze_external_close(&external);
  ck_assert_int_eq(laze_external_open("d/", "sub/b.bin", &external, &error), LAZE_OK);
  laze_external_close(&external);
  ck_assert_int_eq(laze_external_open("", "d/sub/b.bin", &external, &error), LAZE_OK);
  laze_external_close(&external);
}
END_TEST

static const struct {
  const char *path;
  laze_status status;
  const char *message;
} refused[] = {
    {"", LAZE_INVALID_ARGUMENT, "file \"\": expected a path below the folder of the text"},
    {"/etc/passwd", LAZE_INVALID_ARGUMENT, "file \"/etc/passwd\": expected a path below"},
    {"../outside.bin", LAZE_INVALID_ARGUMENT, "file \"../outside.bin\": expected a path below"},
    {"sub/../../outside.bin", LAZE_INVALID_ARGUMENT, "expected a path below"},
    {"sub/..", LAZE_INVALID_ARGUMENT, "expected a path below"},
    {"./a.bin", LAZE_INVALID_ARGUMENT, "expected a path below"},
    {"sub//b.bin", LAZE_INVALID_ARGUMENT, "expected a path below"},
    {"sub/", LAZE_INVALID_ARGUMENT, "expected a path below"},
    {"link", LAZE_INVALID_ARGUMENT, "file \"link\": is reached by a symbolic link"},
    {"inner", LAZE_INVALID_ARGUMENT, "is reached by a symbolic link"},
    {"broken", LAZE_INVALID_ARGUMENT, "is reached by a symbolic link"},
    {"up/outside.bin", LAZE_INVALID_ARGUMENT, "is reached by a symbolic link"},
    {"up/d/a.bin", LAZE_INVALID_ARGUMENT, "is reached by a symbolic link"},
    {"missing", LAZE_NOT_FOUND, "file \"missing\": cannot be opened (No such file or directory)"},
    {"missing/a.bin", LAZE_NOT_FOUND, "cannot be opened (No such file or directory)"},
    {"a.bin/a.bin", LAZE_IO_ERROR, "cannot be opened (Not a directory)"},
    {"sub", LAZE_INVALID_ARGUMENT, "file \"sub\": is a folder; a regular file is expected"},
    {"pipe", LAZE_INVALID_ARGUMENT, "file \"pipe\": is no regular file"},
};

/* A refusal leaves no file open: the next one gets the same number. */
START_TEST(nothing_else_is_opened) {
  laze_external external;
  laze_error error;
  int before = dup(0);
  (void)close(before);
  ck_assert_int_eq(laze_external_open("d", refused[_i].path, &external, &error), refused[_i].status);
  ck_assert_msg(strstr(error.message, refused[_i].message) != NULL, "%s", error.message);
  ck_assert_int_eq(external.file, -1);
  int after = dup(0);
  (void)close(after);
  ck_assert_int_eq(before, after);
}
END_TEST

START_TEST(long_names_are_refused) {
  laze_external external;
  laze_error error;
  char path[400];
  memset(path, 'a', sizeof path - 1);
  path[sizeof path - 1] = 0;
  ck_assert_int_eq(laze_external_open("d", path, &external, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(laze_external_open("nowhere", "a.bin", &external, &error), LAZE_IO_ERROR);
  ck_assert_str_eq(error.message, "nowhere: cannot be opened as a folder (No such file or directory)");
}
END_TEST

int main(void) {
  Suite *suite = suite_create("external");
  TCase *tests = tcase_create("external");
  tcase_add_checked_fixture(tests, make_directory, remove_directory);
  tcase_add_test(tests, what_is_below_is_read);
  tcase_add_loop_test(tests, nothing_else_is_opened, 0, (int)(sizeof refused / sizeof *refused));
  tcase_add_test(tests, long_names_are_refused);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}

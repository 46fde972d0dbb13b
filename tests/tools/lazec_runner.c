#include "tests/tools/lazec_runner.h"
#include "tests/support/suite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int lazec_code;
char lazec_out[65536], lazec_err[65536];
size_t lazec_out_size;

enum { MOST_ARGUMENTS = 64 };
static char directory[64];

void lazec_set_up(void) {
  snprintf(directory, sizeof directory, "/tmp/lazec-test-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(directory));
  ck_assert_int_eq(chdir(directory), 0);
  ck_assert_int_eq(setenv("LAZE_CACHE_DIR", directory, 1), 0);
  ck_assert_int_eq(unsetenv("LAZE_DEBUG"), 0);
  ck_assert_int_eq(unsetenv("LAZE_BACKEND"), 0);
}

void lazec_tear_down(void) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", directory);
  ck_assert_int_eq(chdir("/"), 0);
  ck_assert_int_eq(system(command), 0);
}

static const char *variable(const char *name) {
  const char *value = getenv(name);
  ck_assert_msg(value != NULL, "%s is not set: run the test through Meson", name);
  return value;
}

static void redirect(const char *path, int flags, int file) {
  int opened = open(path, flags, 0666);
  if (opened < 0 || dup2(opened, file) < 0) _exit(125);
}

static size_t read_into(char *buffer, size_t size, const char *path) {
  FILE *file = fopen(path, "rb");
  ck_assert_ptr_nonnull(file);
  size_t length = fread(buffer, 1, size - 1, file);
  buffer[length] = 0;
  fclose(file);
  return length;
}

void lazec_run_with(const char *input, const char *output, const char *const *arguments) {
  char *list[MOST_ARGUMENTS] = {"lazec"};
  for (int i = 0; arguments[i]; i++) {
    ck_assert_int_lt(i + 2, MOST_ARGUMENTS);
    list[i + 1] = (char *)arguments[i];
  }
  const char *program = variable("LAZEC");
  write_text("stdin", input ? input : "");
  pid_t child = fork();
  ck_assert_int_ge(child, 0);
  if (child == 0) {
    redirect("stdin", O_RDONLY, STDIN_FILENO);
    redirect(output ? output : "stdout", O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO);
    redirect("stderr", O_WRONLY | O_CREAT | O_TRUNC, STDERR_FILENO);
    execv(program, list);
    _exit(126);
  }
  int status;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_msg(WIFEXITED(status), "lazec ended with signal %d", WTERMSIG(status));
  lazec_code = WEXITSTATUS(status);
  lazec_out_size = output ? 0 : read_into(lazec_out, sizeof lazec_out, "stdout");
  lazec_out[lazec_out_size] = 0;
  read_into(lazec_err, sizeof lazec_err, "stderr");
}

void lazec_expect(int code, const char *out, const char *err) {
  ck_assert_str_eq(lazec_err, err);
  ck_assert_str_eq(lazec_out, out);
  ck_assert_int_eq(lazec_code, code);
}

const char *lazec_example(const char *name) {
  static char path[4096];
  snprintf(path, sizeof path, "%s/%s", variable("LAZEC_EXAMPLES"), name);
  return path;
}

bool lazec_has_llvm(void) {
  return strcmp(variable("LAZEC_LLVM"), "yes") == 0;
}

void write_text(const char *path, const char *text) {
  FILE *file = fopen(path, "wb");
  ck_assert_ptr_nonnull(file);
  ck_assert_int_ge(fputs(text, file), 0);
  ck_assert_int_eq(fclose(file), 0);
}

char *read_bytes(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  ck_assert_msg(file != NULL, "%s: %s", path, strerror(errno));
  ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
  *size = (size_t)ftell(file);
  rewind(file);
  char *bytes = malloc(*size + 1);
  ck_assert_ptr_nonnull(bytes);
  ck_assert_uint_eq(fread(bytes, 1, *size, file), *size);
  bytes[*size] = 0;
  fclose(file);
  return bytes;
}

void expect_same_files(const char *a, const char *b) {
  size_t a_size, b_size;
  char *a_bytes = read_bytes(a, &a_size), *b_bytes = read_bytes(b, &b_size);
  ck_assert_uint_eq(a_size, b_size);
  ck_assert_mem_eq(a_bytes, b_bytes, a_size);
  free(a_bytes);
  free(b_bytes);
}

int lazec_run_suite(TCase *tests, const char *name) {
  Suite *suite = suite_create(name);
  tcase_add_checked_fixture(tests, lazec_set_up, lazec_tear_down);
  tcase_set_timeout(tests, 120);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}

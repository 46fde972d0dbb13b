/* Runs lazec as a user does, each test in a folder of its own, and keeps what it said. */
#ifndef LAZE_TESTS_TOOLS_LAZEC_RUNNER_H
#define LAZE_TESTS_TOOLS_LAZEC_RUNNER_H

#include <check.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/* Of the last run. Output is cut at the size of the buffers. */
extern int lazec_code;
extern char lazec_out[65536], lazec_err[65536];
extern size_t lazec_out_size;

/* A folder for the test's files, which is the working directory; removed after the test. */
void lazec_set_up(void);
void lazec_tear_down(void);

/* `lazec <arguments>`, ended by NULL; standard input is `input` (NULL: empty), standard output goes to the file
 * `output` where that is not NULL. */
void lazec_run_with(const char *input, const char *output, const char *const *arguments);
#define LAZEC(...) lazec_run_with(NULL, NULL, (const char *const[]){__VA_ARGS__, NULL})
#define LAZEC_INPUT(input, ...) lazec_run_with(input, NULL, (const char *const[]){__VA_ARGS__, NULL})

/* The last run's exit code and whole output. */
void lazec_expect(int code, const char *out, const char *err);

/* An example graph's path; valid until the next call. */
const char *lazec_example(const char *name);
/* Whether this build has the native backend. */
bool lazec_has_llvm(void);

void write_text(const char *path, const char *text);
/* The file's bytes, to be freed. */
char *read_bytes(const char *path, size_t *size);
void expect_same_files(const char *a, const char *b);

int lazec_run_suite(TCase *tests, const char *name);

#endif

/* What fuzz targets share. Each target is a file with the function that libFuzzer calls; docs/fuzzing.md says how they
 * are run.
 *
 *   corpus/NAME/    ──> replay.c, mutated from a seed ──┐
 *                      libFuzzer (./dev fuzz)        ──┴──> NAME.c  LLVMFuzzerTestOneInput
 *
 * What a target is given may be refused with a message, or computed. Anything else ends the process. */
#ifndef LAZE_TESTS_FUZZ_FUZZ_H
#define LAZE_TESTS_FUZZ_FUZZ_H

#include "laze/context.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A context for one input: interpreter, one thread, no disk cache but for `cache`, a bounded memory, a log that goes
 * nowhere. Loops that go on for ever are cancelled. */
laze_context *fuzz_context_create(const char *cache);
/* Fails where memory has not been given back. */
void fuzz_context_destroy(laze_context *context);

/* Ends the process with what is wrong. */
_Noreturn void fuzz_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Says how far an input came: as far as the target goes with one. The corpus has to. */
void fuzz_note_accepted(void);
int64_t fuzz_accepted_count(void);
/* A refusal has a message, and is no fault of laze itself. */
void fuzz_check_refusal(const char *what, laze_status status, const laze_error *error);

/* A folder of this process, removed when it ends. */
const char *fuzz_folder(void);
/* Writes a file there, of which `path` gets the name. */
void fuzz_write_file(const char *name, const void *data, size_t size, char path[256]);

/* Reads an input from its start; behind its end come zeros. */
typedef struct fuzz_reader {
  const uint8_t *data;
  size_t left;
} fuzz_reader;
uint64_t fuzz_take(fuzz_reader *reader, int bytes);
/* In [0, bound), of one byte. */
int fuzz_below(fuzz_reader *reader, int bound);

#endif

/* Runs a target over its corpus, and over mutations of it that follow from a seed: what the target is held to where
 * there is no fuzzer.
 *
 * usage: fuzz_NAME CORPUS
 *
 * What the corpus has is accepted, but for files whose names begin with "refused_": a corpus of text that an older
 * grammar had would test nothing. Files that end in ".hex" have their bytes in hexadecimal, others as they are.
 * LAZE_TEST_SEED chooses other mutations, LAZE_TEST_FACTOR more of them. What ends the process is written to standard
 * error, so that it can become a test. */
#include "tests/fuzz/fuzz.h"
#include "tests/support/random.h"

#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_FILES = 256, MOST_SIZE = 1 << 16, MUTATIONS = 2000, SECONDS = 60 };

typedef struct {
  char *name;
  uint8_t *data;
  size_t size;
} entry;

static entry corpus[MOST_FILES];
static int corpus_count;

/* The input at hand, for the handler of signals. */
static char title[256];
static uint8_t current[MOST_SIZE];
static size_t current_size;

static void put(const void *bytes, size_t size) {
  if (write(STDERR_FILENO, bytes, size) < 0) _exit(1);
}

static void report(int signal_number) {
  put(title, strlen(title));
  put(current, current_size);
  put("\n", 1);
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

static void catch_signals(void) {
  static const int signals[] = {SIGABRT, SIGALRM, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
  bool sanitized = getenv("ASAN_OPTIONS") != NULL; /* it says more about the last ones, and then aborts */
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
    if (i < 2 || !sanitized) signal(signals[i], report);
}

static size_t decode(uint8_t *data, size_t size) {
  size_t count = 0;
  int high = -1;
  for (size_t i = 0; i < size; i++) {
    if (!isxdigit(data[i])) continue;
    int digit = isdigit(data[i]) ? data[i] - '0' : tolower(data[i]) - 'a' + 10;
    if (high >= 0) data[count++] = (uint8_t)(high << 4 | digit);
    high = high >= 0 ? -1 : digit;
  }
  return count;
}

static void read_file(const char *folder, const char *name) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "rb");
  if (!file || corpus_count == MOST_FILES) fuzz_fail("%s: cannot be read", path);
  entry *next = &corpus[corpus_count++];
  *next = (entry){strdup(name), malloc(MOST_SIZE), 0};
  next->size = fread(next->data, 1, MOST_SIZE, file);
  fclose(file);
  size_t length = strlen(name);
  if (length > 4 && strcmp(name + length - 4, ".hex") == 0) next->size = decode(next->data, next->size);
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const entry *)a)->name, ((const entry *)b)->name);
}

static void read_corpus(const char *folder) {
  DIR *files = opendir(folder);
  if (!files) fuzz_fail("%s: no such folder", folder);
  for (struct dirent *file = readdir(files); file; file = readdir(files))
    if (file->d_name[0] != '.') read_file(folder, file->d_name);
  closedir(files);
  if (corpus_count == 0) fuzz_fail("%s is empty", folder);
  qsort(corpus, (size_t)corpus_count, sizeof *corpus, by_name);
}

static void set_current(const uint8_t *data, size_t size) {
  memcpy(current, data, size);
  current_size = size;
}

/* Puts `size` bytes in the place of `removed` ones. */
static void replace(size_t at, size_t removed, const uint8_t *bytes, size_t size) {
  if (current_size - removed + size > MOST_SIZE) return;
  memmove(current + at + size, current + at + removed, current_size - at - removed);
  memcpy(current + at, bytes, size);
  current_size += size - removed;
}

/* A piece that starts and ends where words do, if `words`. */
static size_t choose_piece(test_random *random, const uint8_t *data, size_t size, bool words, size_t *length) {
  size_t at = (size_t)test_random_below(random, (int64_t)size + 1);
  while (words && at > 0 && isalnum(data[at - 1])) at--;
  size_t end = at + (size_t)test_random_below(random, test_random_one_in(random, 4) ? 200 : 6);
  if (end > size) end = size;
  while (words && end < size && isalnum(data[end])) end++;
  *length = end - at;
  return at;
}

static bool is_word(uint8_t byte) {
  return isalnum(byte) || byte == '_' || byte == '.';
}

/* A word of a kind (0: any) behind a place chosen at random: a number, a name, or what is neither. 0: there is none. */
static int find_word(test_random *random, const entry *of, int kind, size_t *at, size_t *length) {
  const uint8_t *data = of->data;
  size_t i = (size_t)test_random_below(random, (int64_t)of->size + 1);
  for (; i < of->size; i++) {
    if (!is_word(data[i]) || (i > 0 && is_word(data[i - 1]))) continue;
    int found = isdigit(data[i]) ? 1 : i > 0 && strchr("%@", data[i - 1]) ? 2 : 3;
    if (kind && found != kind) continue;
    *at = i;
    *length = 0;
    while (i + *length < of->size && is_word(data[i + *length])) (*length)++;
    return found;
  }
  return 0;
}

/* A word is another one of its kind, so that text often stays text. */
static void exchange_words(test_random *random, const entry *other) {
  size_t at, length, from, size;
  entry self = {NULL, current, current_size};
  int kind = find_word(random, &self, 0, &at, &length);
  bool own = test_random_one_in(random, 2);
  if (!kind || !find_word(random, own ? &self : other, kind, &from, &size)) return;
  static uint8_t word[MOST_SIZE];
  memcpy(word, (own ? current : other->data) + from, size);
  replace(at, length, word, size);
}

static void mutate(test_random *random) {
  static const uint8_t odd[] = {0, 0xff, 0x80, 0x7f, '0', '-', '9', '\n', '[', ']', '%', ','};
  static uint8_t piece[MOST_SIZE];
  size_t length, removed, at;
  bool words = test_random_one_in(random, 2);
  const entry *other = &corpus[test_random_below(random, corpus_count)];
  switch (test_random_below(random, 6)) {
  case 0: /* a wrong byte */
    if (current_size == 0) return;
    at = (size_t)test_random_below(random, (int64_t)current_size);
    current[at] = test_random_one_in(random, 2) ? odd[test_random_below(random, sizeof odd)]
                                                : current[at] ^ (uint8_t)(1 << test_random_below(random, 8));
    return;
  case 1: /* something is missing */
    at = choose_piece(random, current, current_size, words, &length);
    replace(at, length, piece, 0);
    return;
  case 2: /* something of it, or of another input, in another place */
    at = choose_piece(random, other->data, other->size, words, &length);
    memcpy(piece, other->data + at, length);
    at = choose_piece(random, current, current_size, words, &removed);
    replace(at, test_random_one_in(random, 3) ? 0 : removed, piece, length);
    return;
  default: exchange_words(random, other);
  }
}

static void run(void) {
  uint8_t *exact = malloc(current_size + !current_size); /* so that a read beyond the end is one */
  memcpy(exact, current, current_size);
  alarm(SECONDS); /* ends a run that would never end */
  LLVMFuzzerTestOneInput(exact, current_size);
  alarm(0);
  free(exact);
}

int main(int argc, char **argv) {
  if (argc != 2) fuzz_fail("usage: %s CORPUS", argv[0]);
  int64_t seed = test_setting("LAZE_TEST_SEED", 1);
  int64_t mutations = test_count(MUTATIONS);
  read_corpus(argv[1]);
  catch_signals();
  for (int i = 0; i < corpus_count; i++) {
    snprintf(title, sizeof title, "%s of the corpus fails:\n", corpus[i].name);
    set_current(corpus[i].data, corpus[i].size);
    int64_t before = fuzz_accepted_count();
    run();
    bool refused = strncmp(corpus[i].name, "refused_", strlen("refused_")) == 0;
    if ((fuzz_accepted_count() == before) != refused) fuzz_fail("it is %s", refused ? "accepted" : "refused");
  }
  int64_t of_corpus = fuzz_accepted_count();
  for (int64_t number = 0; number < mutations; number++) {
    test_random random = {.state = (uint64_t)(seed * 1000003 + number)};
    const entry *base = &corpus[number % corpus_count];
    snprintf(title, sizeof title, "mutation %lld of %s fails (LAZE_TEST_SEED=%lld):\n", (long long)number, base->name,
             (long long)seed);
    set_current(base->data, base->size);
    for (int64_t changes = 1 + test_random_below(&random, 3); changes > 0; changes--) mutate(&random);
    run();
  }
  for (int i = 0; i < corpus_count; i++) {
    free(corpus[i].name);
    free(corpus[i].data);
  }
  printf("seed %lld: %d inputs and %lld mutations, of which %lld were accepted\n", (long long)seed, corpus_count,
         (long long)mutations, (long long)(fuzz_accepted_count() - of_corpus));
  return 0;
}

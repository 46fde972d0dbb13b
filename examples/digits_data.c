#include "examples/digits_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define LINE_SIZE 1024
#define MOST_DIGITS 1000000

/* Reads one number between 0 and `most`, and the character behind it. Returns 0 when it is there. */
static int read_number(char **text, long most, char behind, long *out) {
  char *end;
  *out = strtol(*text, &end, 10);
  if (end == *text || *out < 0 || *out > most || *end != behind) return 1;
  *text = end + 1;
  return 0;
}

static int read_digit(char *line, float *image, int64_t *label) {
  long number;
  for (int pixel = 0; pixel < DIGITS_PIXELS; pixel++) {
    if (read_number(&line, 16, ',', &number)) return 1;
    image[pixel] = (float)number / 16;
  }
  line[strcspn(line, "\r\n")] = '\0';
  if (read_number(&line, DIGITS_CLASSES - 1, '\0', &number)) return 1;
  *label = number;
  return 0;
}

static int grow(digits_data *data, int64_t capacity) {
  float *images = realloc(data->images, (size_t)capacity * DIGITS_PIXELS * sizeof *images);
  if (images != NULL) data->images = images;
  int64_t *labels = realloc(data->labels, (size_t)capacity * sizeof *labels);
  if (labels != NULL) data->labels = labels;
  return images == NULL || labels == NULL;
}

static int read_lines(gzFile file, const char *path, digits_data *out) {
  char line[LINE_SIZE];
  for (; gzgets(file, line, sizeof line) != NULL; out->count++) {
    const int full = (out->count & (out->count - 1)) == 0; /* room grows at 0, 1, 2, 4, 8, ... */
    if (out->count == MOST_DIGITS || (full && grow(out, out->count == 0 ? 1 : 2 * out->count))) {
      fprintf(stderr, "%s: too many digits for the memory there is\n", path);
      return 1;
    }
    if (read_digit(line, out->images + out->count * DIGITS_PIXELS, out->labels + out->count)) {
      fprintf(stderr, "%s:%lld: expected 64 numbers from 0 to 16 and a label from 0 to 9, separated by commas\n", path,
              (long long)out->count + 1);
      return 1;
    }
  }
  int code;
  const char *message = gzerror(file, &code);
  if (code != Z_OK && code != Z_STREAM_END) fprintf(stderr, "%s: damaged: %s\n", path, message);
  return code != Z_OK && code != Z_STREAM_END;
}

int digits_data_read(const char *path, digits_data *out) {
  memset(out, 0, sizeof *out);
  gzFile file = gzopen(path, "rb");
  if (file == NULL) {
    perror(path);
    return 1;
  }
  const int failed = read_lines(file, path, out);
  gzclose(file);
  if (failed) digits_data_deinit(out);
  return failed;
}

void digits_data_deinit(digits_data *data) {
  free(data->images);
  free(data->labels);
  memset(data, 0, sizeof *data);
}

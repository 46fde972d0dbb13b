/* The handwritten digits, read from a compressed table. */
#ifndef EXAMPLES_DIGITS_DATA_H
#define EXAMPLES_DIGITS_DATA_H

#include <stdint.h>

#define DIGITS_PIXELS 64 /* 8 x 8 */
#define DIGITS_CLASSES 10

typedef struct digits_data {
  int64_t count;
  float *images;   /* [count, DIGITS_PIXELS], between 0 and 1 */
  int64_t *labels; /* [count], 0 to 9 */
} digits_data;

/* Reads a .csv or .csv.gz: each line has 64 pixels from 0 to 16 and the label. Says on standard error what is wrong and
 * returns nonzero when the file cannot be used; *out is then empty. Otherwise the caller owns it: digits_data_deinit().
 */
int digits_data_read(const char *path, digits_data *out);
void digits_data_deinit(digits_data *data);

#endif

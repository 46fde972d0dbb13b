/* Copies concatenated pieces by rows. A range of bytes of the result is what one thread gets, so the first and the last
 * piece of a row may be cut:
 *
 *   row of the result   | piece 0 | piece 1      | piece 2 |
 *   begin ... end              [------------------)
 */
#include "runtime/copy_kernel.h"

#include <string.h>

static void copy_pieces(const laze_kernel_arguments *arguments, int64_t begin, int64_t end, void *scratch) {
  const int64_t count = arguments->sizes[0], pitch = arguments->sizes[1], *widths = arguments->sizes + 2;
  char *result = arguments->buffers[count];
  (void)scratch;
  for (int64_t row = begin / pitch; row * pitch < end; row++) {
    int64_t start = row * pitch; /* of the piece's part of the row */
    for (int64_t i = 0; i < count; start += widths[i++]) {
      const int64_t from = start > begin ? start : begin, stop = start + widths[i], to = stop < end ? stop : end;
      const char *piece = arguments->buffers[i];
      if (from < to) memcpy(result + from, piece + row * widths[i] + (from - start), (size_t)(to - from));
    }
  }
}

laze_status laze_copy_kernel_create(laze_context *context, laze_kernel **out, laze_error *error) {
  return laze_kernel_create(context, "copy", copy_pieces, NULL, NULL, NULL, out, error);
}

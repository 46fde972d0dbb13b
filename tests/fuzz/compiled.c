/* A compiled graph that was saved. What is no part of the format's checks is made right, so that what lies behind them
 * is reached; an odd first byte leaves the file as it is. What is read is written and read again as the same graph. */
#include "laze/buffer.h"
#include "laze/compile.h"
#include "laze/graph.h"
#include "tests/fuzz/fuzz.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

/* In the header (codegen/compiled_file.c). */
enum { VERSION_AT = 8, CHECKSUM_AT = 72, HEADER = 128 };
_Static_assert(CHECKSUM_AT + sizeof(laze_hash) + 40 == HEADER, "zeros end the header");

static void mend(uint8_t *bytes, size_t size) {
  const uint32_t version = 1;
  if (size < HEADER) return;
  memcpy(bytes, "lazeexe\n", 8);
  memcpy(bytes + VERSION_AT, &version, sizeof version);
  memset(bytes + CHECKSUM_AT, 0, sizeof(laze_hash));
  const laze_hash hash = laze_hash_bytes(bytes, size);
  memcpy(bytes + CHECKSUM_AT, &hash, sizeof hash);
}

static void check_compiled(laze_context *context, laze_compiled *compiled) {
  laze_array *bytes;
  laze_compiled *again;
  laze_error error = {0};
  if (laze_compiled_serialise(compiled, &bytes, &error) != LAZE_OK) fuzz_fail("is not written: %s", error.message);
  const laze_status status =
      laze_compiled_deserialise(context, laze_array_data(bytes), (size_t)laze_array_bytes(bytes), 0, &again, &error);
  if (status != LAZE_OK) fuzz_fail("is not read again: %s", error.message);
  if (laze_graph_compare(laze_compiled_graph(compiled), laze_compiled_graph(again), &error) != LAZE_OK)
    fuzz_fail("reads back as another graph: %s", error.message);
  laze_compiled_release(again);
  laze_array_release(bytes);
  fuzz_note_accepted();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  laze_compiled *compiled;
  laze_error error = {0};
  if (size < 2) return 0;
  laze_context *context = fuzz_context_create(NULL);
  uint8_t *bytes = malloc(size - 1); /* so that a read beyond the end is one */
  memcpy(bytes, data + 1, size - 1);
  if (data[0] % 2 == 0) mend(bytes, size - 1);
  const laze_status status = laze_compiled_deserialise(context, bytes, size - 1, 0, &compiled, &error);
  fuzz_check_refusal("compiled graph", status, &error);
  if (status == LAZE_OK) check_compiled(context, compiled);
  laze_compiled_release(compiled);
  free(bytes);
  fuzz_context_destroy(context);
  return 0;
}

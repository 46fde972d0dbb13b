/* What cpuid says:
 *
 *   vendor, model, raw feature words, states that the system saves ── hash ─> key
 *                                  └─ AVX-512, AVX2, FMA, F16C ──> vector registers, what there are instructions for
 *
 * A feature counts where the processor has it and the operating system saves the registers it uses.
 */
#include "codegen/native/target.h"

#if defined(__x86_64__)
#include <cpuid.h>

/* Extended-state bits say which vector registers the operating system saves; a feature without them is not usable. */
static unsigned enabled_states(void) {
  unsigned low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  (void)high;
  return low;
}

enum { STATES_YMM = 0x6, STATES_ZMM = 0xe0 };

typedef struct {
  unsigned a, b, c, d;
} registers;

static registers ask(unsigned leaf, unsigned subleaf) {
  registers r = {0, 0, 0, 0};
  if (!__get_cpuid_count(leaf, subleaf, &r.a, &r.b, &r.c, &r.d)) return (registers){0, 0, 0, 0};
  if (leaf == 1) r.b = 0; /* holds the number of the core that happens to ask */
  return r;
}

laze_target laze_target_host(void) {
  const registers leaves[] = {ask(0, 0), ask(1, 0), ask(7, 0), ask(7, 1), ask(0x80000001, 0)};
  const registers *base = &leaves[1], *extended = &leaves[2];
  unsigned states = base->c & bit_OSXSAVE ? enabled_states() : 0;
  bool avx = (base->c & bit_AVX) && (states & STATES_YMM) == STATES_YMM;
  bool avx512 = avx && (extended->b & bit_AVX512F) && (states & STATES_ZMM) == STATES_ZMM;
  bool avx2 = avx && (extended->b & bit_AVX2);
  laze_target target = {.key = laze_hash_add(laze_hash_bytes(leaves, sizeof leaves), states),
                        .has_fused_multiply_add = avx && (base->c & bit_FMA),
                        .converts_f16 = avx && (base->c & bit_F16C)};
  target.vectors.register_bytes = avx512 ? 64 : avx2 ? 32 : 16;
  target.vectors.register_count = avx512 ? 32 : 16;
  return target;
}
#else
/* Code for other processors is not loaded (runtime/object_relocate_none.c): the name keeps their files apart. */
#include <string.h>
#include <sys/utsname.h>

laze_target laze_target_host(void) {
  struct utsname name;
  const char *machine = uname(&name) == 0 ? name.machine : "unknown";
  return (laze_target){.key = laze_hash_bytes(machine, strlen(machine)),
                       .vectors = {.register_bytes = 16, .register_count = 32},
                       .has_fused_multiply_add = true,
                       .converts_f16 = true};
}
#endif

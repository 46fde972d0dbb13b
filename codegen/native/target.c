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

void laze_target_describe(laze_text *text) {
  unsigned a, b, c, d;
  static const struct { unsigned leaf, subleaf; } leaves[] = {{0, 0}, {1, 0}, {7, 0}, {7, 1}, {0x80000001, 0}};
  laze_text_append(text, "x86_64");
  for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++) {
    if (!__get_cpuid_count(leaves[i].leaf, leaves[i].subleaf, &a, &b, &c, &d)) continue;
    if (leaves[i].leaf == 1) b = 0; /* holds the number of the core that happens to ask */
    bool has_xgetbv = leaves[i].leaf == 1 && (c & bit_OSXSAVE);
    laze_text_format(text, " %08x:%08x.%08x.%08x.%08x", leaves[i].leaf, a, b, c, d);
    if (has_xgetbv) laze_text_format(text, " xcr0:%08x", enabled_states());
  }
}
#else
/* Code for other processors is not loaded (runtime/object_relocate_none.c): the name keeps their files apart. */
#include <sys/utsname.h>

void laze_target_describe(laze_text *text) {
  struct utsname name;
  laze_text_append(text, uname(&name) == 0 ? name.machine : "unknown");
}
#endif

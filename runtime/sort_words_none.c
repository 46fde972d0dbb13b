/* For processors without vectors that sort: the caller has another way. */
#include "runtime/sort_words.h"

bool laze_sort_words(const laze_sort_rule *rule, const void *from, void *to, int64_t count, bool *merged) {
  (void)rule, (void)from, (void)to, (void)count, (void)merged;
  return false;
}

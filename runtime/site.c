/* Messages of a run, in the words of the calls that the run stands for. */
#include "runtime/site.h"

#include <string.h>

laze_site laze_site_find(const laze_sites *sites, const laze_origin *origin) {
  if (sites && origin->node > 0) return sites->find(sites->self, origin->node);
  return (laze_site){.called = origin->called};
}

laze_status laze_site_locate(laze_error *error, const laze_site *site) {
  if (!error) return LAZE_INTERNAL;
  if (site->name) (void)laze_error_prefix(error, "\"%s\"", site->name);
  if (!site->file) return error->code;
  return site->line ? laze_error_prefix(error, "%s:%d", site->file, (int)site->line)
                    : laze_error_prefix(error, "%s", site->file);
}

laze_status laze_site_name(laze_error *error, const laze_site *site) {
  if (site->called) laze_error_name(error, site->called);
  return laze_site_locate(error, site);
}

static bool same_text(const char *a, const char *b) {
  return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_same(const laze_site *a, const laze_site *b) {
  return same_text(a->called, b->called) && a->line == b->line && same_text(a->file, b->file) &&
         same_text(a->name, b->name);
}

void laze_site_list_add(laze_site_list *list, const laze_site *site) {
  for (int32_t i = 0; i < list->count; i++)
    if (is_same(&list->sites[i], site)) return;
  if (list->count == LAZE_SITES_LISTED) {
    if (!list->cut) laze_text_append(list->text, ", ...");
    list->cut = true;
    return;
  }
  laze_text_format(list->text, list->count ? ", %s" : "%s", site->called);
  if (site->name) laze_text_format(list->text, " \"%s\"", site->name);
  if (site->file && site->line)
    laze_text_format(list->text, " (%s:%d)", site->file, (int)site->line);
  else if (site->file)
    laze_text_format(list->text, " (%s)", site->file);
  list->sites[list->count++] = *site;
}

laze_status laze_fail_index(laze_error *error, const laze_site *site, const laze_check_failure *failure) {
  if (failure->reason) {
    if (error) *error = *failure->reason;
    (void)laze_site_name(error, site);
    return failure->reason->code;
  }
  long long index = failure->index, position = failure->position, size = failure->size, length = failure->length;
  laze_status status =
      length != 1
          ? laze_fail(error, LAZE_OUT_OF_RANGE,
                      "%lld elements from index %lld on are not all inside an axis of size %lld; expected a start of 0 "
                      "to %lld, or %lld to %lld from the back",
                      length, index, size, size - length, -size, -length)
      : size == 0 ? laze_fail(error, LAZE_OUT_OF_RANGE,
                              "index %lld at position %lld is out of range for an axis of size 0, which has nothing to "
                              "index",
                              index, position)
                  : laze_fail(error, LAZE_OUT_OF_RANGE,
                              "index %lld at position %lld is out of range for an axis of size %lld; expected %lld to "
                              "%lld",
                              index, position, size, -size, size - 1);
  (void)laze_site_name(error, site);
  return status;
}

/* Values by name: an open hash table over (scope, name), which grows before it is half full. A name may stand for
 * several results in a row, %x#0, %x#1, ... */
#include "ir/text/text_internal.h"

#include <string.h>

void laze_name_table_init(laze_name_table *table, laze_context *context) {
  *table = (laze_name_table){.context = context};
}

void laze_name_table_deinit(laze_name_table *table) {
  laze_free(table->context, table->names);
  laze_free(table->context, table->slots);
  laze_free(table->context, table->values);
  laze_name_table_init(table, table->context);
}

/* The slot that holds the name, or the free one where it would go. */
static int64_t find_slot(const laze_name_table *table, int32_t scope, const char *text, int32_t length) {
  laze_hash hash = laze_hash_add(laze_hash_bytes(text, (size_t)length), (uint64_t)scope);
  int64_t slot = (int64_t)(hash.low & (uint64_t)(table->slot_count - 1));
  for (; table->slots[slot] >= 0; slot = (slot + 1) & (table->slot_count - 1)) {
    const laze_name *name = &table->names[table->slots[slot]];
    if (name->scope == scope && name->length == length && memcmp(name->text, text, (size_t)length) == 0) break;
  }
  return slot;
}

const laze_name *laze_name_find(const laze_name_table *table, int32_t scope, const char *text, int32_t length) {
  if (table->slot_count == 0) return NULL;
  int32_t index = table->slots[find_slot(table, scope, text, length)];
  return index < 0 ? NULL : &table->names[index];
}

static laze_status grow_slots(laze_name_table *table, laze_error *error) {
  int64_t wanted = table->slot_count ? table->slot_count * 2 : 32;
  int32_t *slots = laze_alloc_array(table->context, wanted, sizeof *slots);
  if (!slots) return laze_fail_memory(error, "the names of a graph", wanted * 4);
  laze_free(table->context, table->slots);
  table->slots = slots;
  table->slot_count = wanted;
  memset(slots, 0xff, (size_t)wanted * sizeof *slots);
  for (int64_t i = 0; i < table->name_count; i++) {
    const laze_name *name = &table->names[i];
    slots[find_slot(table, name->scope, name->text, name->length)] = (int32_t)i;
  }
  return LAZE_OK;
}

laze_status laze_name_insert(laze_name_table *table, int32_t scope, const char *text, int32_t length,
                             const laze_value *values, int32_t count, laze_error *error) {
  if (table->name_count * 2 >= table->slot_count) LAZE_TRY(grow_slots(table, error));
  LAZE_TRY(laze_grow(table->context, (void **)&table->names, &table->name_capacity, table->name_count + 1,
                     sizeof *table->names, error));
  LAZE_TRY(laze_grow(table->context, (void **)&table->values, &table->value_capacity, table->value_count + count,
                     sizeof *table->values, error));
  table->names[table->name_count] = (laze_name){text, length, scope, table->value_count, count};
  for (int32_t i = 0; i < count; i++) table->values[table->value_count++] = values[i];
  table->slots[find_slot(table, scope, text, length)] = (int32_t)table->name_count++;
  return LAZE_OK;
}

/* An object of objects and one map of strings: a depth that is known, so that the parser has a function for each level.
 *
 *   {"__metadata__": {"key": "value"}, "w": {"dtype": "F32", "shape": [2,3], "data_offsets": [0,24]}}
 *
 * What a JSON library would take beyond this (other types, deeper nesting, fractions) the format does not have; see
 * docs/decisions/2026-11-safetensors-without-a-json-library.md. */
#include "runtime/safetensors_header.h"

#include "base/context.h"
#include "runtime/npy_header.h"

#include <stdlib.h>
#include <string.h>

static const struct {
  const char *name;
  laze_dtype dtype;
} dtypes[] = {{"BOOL", LAZE_BOOL}, {"U8", LAZE_U8},     {"I8", LAZE_I8},   {"U16", LAZE_U16}, {"I16", LAZE_I16},
              {"F16", LAZE_F16},   {"BF16", LAZE_BF16}, {"U32", LAZE_U32}, {"I32", LAZE_I32}, {"F32", LAZE_F32},
              {"U64", LAZE_U64},   {"I64", LAZE_I64},   {"F64", LAZE_F64}, {"C64", LAZE_C64}};
#define DTYPE_COUNT (sizeof dtypes / sizeof *dtypes)

const char *laze_safetensors_dtype_name(laze_dtype dtype) {
  for (size_t i = 0; i < DTYPE_COUNT; i++)
    if (dtypes[i].dtype == dtype) return dtypes[i].name;
  return NULL;
}

/* ---- Text. */

/* The bytes of the character that begins there; 0: none does. */
static int utf8_length(const unsigned char *at, int64_t left) {
  const int length = *at < 0x80 ? 1 : *at < 0xc2 ? 0 : *at < 0xe0 ? 2 : *at < 0xf0 ? 3 : *at < 0xf5 ? 4 : 0;
  if (length > left) return 0;
  for (int i = 1; i < length; i++)
    if ((at[i] & 0xc0) != 0x80) return 0;
  if ((*at == 0xe0 && at[1] < 0xa0) || (*at == 0xed && at[1] > 0x9f)) return 0;
  return (*at == 0xf0 && at[1] < 0x90) || (*at == 0xf4 && at[1] > 0x8f) ? 0 : length;
}

bool laze_safetensors_is_utf8(const char *text, int64_t length) {
  for (int64_t at = 0; at < length;) {
    const int step = utf8_length((const unsigned char *)text + at, length - at);
    if (step == 0) return false;
    at += step;
  }
  return true;
}

static char *put_utf8(char *out, uint32_t code) {
  if (code < 0x80) {
    *out++ = (char)code;
    return out;
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  *out++ = (char)((0xff00 >> (more + 1) & 0xff) | (int)(code >> (6 * more))); /* 110..., 1110..., 11110... */
  for (int i = more - 1; i >= 0; i--) *out++ = (char)(0x80 | (code >> (6 * i) & 0x3f));
  return out;
}

/* ---- Tokens. */

typedef struct {
  const char *begin, *at, *end;
  char *text; /* where the next string goes: strings are never longer than they are written */
  laze_error *error;
} cursor;

static laze_status fail_at(const cursor *c, const char *expected) {
  if (c->at >= c->end)
    return laze_fail(c->error, LAZE_DATA_LOSS, "the header ends at byte %lld: expected %s",
                     (long long)(c->end - c->begin), expected);
  const unsigned char found = (unsigned char)*c->at;
  return laze_fail(c->error, LAZE_DATA_LOSS,
                   found > ' ' && found < 0x7f ? "byte %lld of the header is '%c': expected %s"
                                               : "byte %lld of the header is 0x%02x: expected %s",
                   (long long)(c->at - c->begin), found, expected);
}

static void skip_spaces(cursor *c) {
  while (c->at < c->end && (*c->at == ' ' || *c->at == '\n' || *c->at == '\t' || *c->at == '\r')) c->at++;
}

static bool accept(cursor *c, char wanted) {
  skip_spaces(c);
  if (c->at >= c->end || *c->at != wanted) return false;
  c->at++;
  return true;
}

static laze_status take(cursor *c, char wanted, const char *name) {
  return accept(c, wanted) ? LAZE_OK : fail_at(c, name);
}

/* The four digits of \uXXXX. */
static laze_status take_hex(cursor *c, uint32_t *out) {
  *out = 0;
  for (int i = 0; i < 4; i++, c->at++) {
    const char digit = c->at < c->end ? *c->at : '\0';
    const int value = digit >= '0' && digit <= '9'   ? digit - '0'
                      : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
                      : digit >= 'A' && digit <= 'F' ? digit - 'A' + 10
                                                     : -1;
    if (value < 0) return fail_at(c, "four hexadecimal digits behind \\u");
    *out = *out << 4 | (uint32_t)value;
  }
  return LAZE_OK;
}

/* A character behind \u, which may be written as two halves. */
static laze_status take_unicode(cursor *c) {
  uint32_t code, low = 0;
  LAZE_TRY(take_hex(c, &code));
  if (code >= 0xd800 && code < 0xdc00 && c->end - c->at >= 2 && c->at[0] == '\\' && c->at[1] == 'u') {
    c->at += 2;
    LAZE_TRY(take_hex(c, &low));
    if (low >= 0xdc00 && low < 0xe000) code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  }
  if (code == 0 || (code >= 0xd800 && code < 0xe000))
    return fail_at(c, "no zero character and no half of a surrogate pair before it");
  c->text = put_utf8(c->text, code);
  return LAZE_OK;
}

static laze_status take_escape(cursor *c) {
  static const char written[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
  const char letter = c->at < c->end ? *c->at : '\0';
  const char *found = letter != '\0' ? strchr(written, letter) : NULL;
  if (!found && letter != 'u') return fail_at(c, "an escape of JSON");
  c->at++;
  if (!found) return take_unicode(c);
  *c->text++ = meant[found - written];
  return LAZE_OK;
}

/* A string, which is copied behind those before it. */
static laze_status take_string(cursor *c, const char *expected, const char **out) {
  LAZE_TRY(take(c, '"', expected));
  *out = c->text;
  while (c->at < c->end && *c->at != '"') {
    const int length = utf8_length((const unsigned char *)c->at, c->end - c->at);
    if (length == 0 || (unsigned char)*c->at < ' ') return fail_at(c, "a character of UTF-8 that is no control");
    if (*c->at == '\\') {
      c->at++;
      LAZE_TRY(take_escape(c));
      continue;
    }
    memcpy(c->text, c->at, (size_t)length);
    c->text += length;
    c->at += length;
  }
  if (c->at >= c->end) return fail_at(c, "the end of a string");
  c->at++;
  *c->text++ = '\0'; /* in the place of a quote */
  return LAZE_OK;
}

static laze_status take_integer(cursor *c, int64_t *out) {
  skip_spaces(c);
  const char *first = c->at;
  *out = 0;
  for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
    const int digit = *c->at - '0';
    if (*out > (INT64_MAX - digit) / 10) return fail_at(c, "an integer below 2^63");
    *out = *out * 10 + digit;
  }
  if (c->at == first || (*first == '0' && c->at - first > 1)) return fail_at(c, "an integer, without zeros before it");
  return LAZE_OK;
}

/* [1, 2, ...], of at most `most` numbers. */
static laze_status take_integers(cursor *c, int64_t *out, int32_t most, int32_t *count) {
  *count = 0;
  LAZE_TRY(take(c, '[', "'['"));
  if (accept(c, ']')) return LAZE_OK;
  do {
    if (*count == most) return fail_at(c, "no more numbers in this list");
    LAZE_TRY(take_integer(c, &out[(*count)++]));
  } while (accept(c, ','));
  return take(c, ']', "',' or ']'");
}

/* ---- Entries. */

static laze_status take_dtype(cursor *c, laze_safetensors_item *item) {
  const char *name;
  LAZE_TRY(take_string(c, "a dtype in quotes", &name));
  for (size_t i = 0; i < DTYPE_COUNT; i++)
    if (strcmp(dtypes[i].name, name) == 0) item->dtype = dtypes[i].dtype;
  if (item->dtype != LAZE_DTYPE_NONE) return LAZE_OK;
  return laze_fail(c->error, LAZE_UNSUPPORTED,
                   "\"%.64s\" has the dtype \"%.16s\", which laze does not have; convert it", item->name, name);
}

static laze_status take_offsets(cursor *c, int64_t offsets[2]) {
  int32_t count;
  LAZE_TRY(take_integers(c, offsets, 2, &count));
  return count == 2 && offsets[0] <= offsets[1] ? LAZE_OK : fail_at(c, "two offsets before it, the first no larger");
}

/* "dtype", "shape" and "data_offsets", in any order, each once. */
static laze_status take_fields(cursor *c, laze_safetensors_item *item, int64_t offsets[2]) {
  static const char *const fields[] = {"dtype", "shape", "data_offsets"};
  unsigned seen = 0;
  char *const text = c->text; /* names of fields are not kept */
  do {
    const char *field;
    unsigned which = 0;
    c->text = text;
    LAZE_TRY(take_string(c, "\"dtype\", \"shape\" or \"data_offsets\"", &field));
    while (which < 3 && strcmp(fields[which], field) != 0) which++;
    if (which == 3 || seen >> which & 1)
      return laze_fail(c->error, LAZE_DATA_LOSS, "\"%.64s\" has %s field \"%.32s\"", item->name,
                       which == 3 ? "an unknown" : "twice the", field);
    seen |= 1u << which;
    LAZE_TRY(take(c, ':', "':'"));
    if (which == 0) LAZE_TRY(take_dtype(c, item));
    if (which == 1) LAZE_TRY(take_integers(c, item->dims, LAZE_SAFETENSORS_MAX_RANK, &item->rank));
    if (which == 2) LAZE_TRY(take_offsets(c, offsets));
  } while (accept(c, ','));
  c->text = text;
  if (seen == 7) return take(c, '}', "',' or '}'");
  return laze_fail(c->error, LAZE_DATA_LOSS, "\"%.64s\" lacks one of dtype, shape and data_offsets", item->name);
}

/* Appends an array whose `data` is its first offset. */
static laze_status take_tensor(cursor *c, const char *name, laze_safetensors_header *out) {
  laze_safetensors_item item = {.name = name};
  int64_t offsets[2], elements;
  LAZE_TRY(take(c, '{', "'{'"));
  LAZE_TRY(take_fields(c, &item, offsets));
  laze_status status = laze_npy_count(item.dtype, item.rank, item.dims, &elements, &item.size, c->error);
  if (status == LAZE_OK && item.size == offsets[1] - offsets[0]) {
    item.data = (const void *)(uintptr_t)offsets[0];
    LAZE_TRY(
        laze_grow(out->context, (void **)&out->items, &out->item_capacity, out->item_count + 1, sizeof item, c->error));
    out->items[out->item_count++] = item;
    return LAZE_OK;
  }
  if (status == LAZE_OK || status == LAZE_OUT_OF_MEMORY)
    status = laze_fail(c->error, LAZE_DATA_LOSS, "\"%.64s\" has %lld bytes, from %lld to %lld: its shape asks for %s",
                       name, (long long)(offsets[1] - offsets[0]), (long long)offsets[0], (long long)offsets[1],
                       status == LAZE_OK ? "another number" : "more than 2^62");
  return status;
}

static laze_status take_notes(cursor *c, laze_safetensors_header *out) {
  LAZE_TRY(take(c, '{', "'{' behind \"__metadata__\""));
  if (accept(c, '}')) return LAZE_OK;
  do {
    laze_safetensors_note note;
    LAZE_TRY(take_string(c, "a key in quotes", &note.key));
    LAZE_TRY(take(c, ':', "':'"));
    LAZE_TRY(take_string(c, "a string in quotes", &note.value));
    LAZE_TRY(
        laze_grow(out->context, (void **)&out->notes, &out->note_capacity, out->note_count + 1, sizeof note, c->error));
    out->notes[out->note_count++] = note;
  } while (accept(c, ','));
  return take(c, '}', "',' or '}'");
}

static laze_status take_all(cursor *c, laze_safetensors_header *out) {
  bool has_notes = false;
  if (c->at >= c->end || *c->at != '{') return fail_at(c, "'{'"); /* spaces stand behind, not before */
  c->at++;
  if (!accept(c, '}')) {
    do {
      const char *name;
      LAZE_TRY(take_string(c, "a name in quotes", &name));
      LAZE_TRY(take(c, ':', "':'"));
      if (strcmp(name, "__metadata__") != 0) {
        LAZE_TRY(take_tensor(c, name, out));
      } else {
        if (has_notes) return fail_at(c, "\"__metadata__\" once");
        has_notes = true;
        LAZE_TRY(take_notes(c, out));
      }
    } while (accept(c, ','));
    LAZE_TRY(take(c, '}', "',' or '}'"));
  }
  skip_spaces(c);
  return c->at == c->end ? LAZE_OK : fail_at(c, "nothing but spaces behind the last '}'");
}

/* ---- What all of them together have to be. */

int laze_safetensors_compare_names(const void *left, const void *right) {
  return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static laze_status check_names(laze_safetensors_header *header, laze_error *error) {
  const char **names = laze_alloc_array(header->context, header->item_count, sizeof *names);
  laze_status status = names ? LAZE_OK : laze_fail_memory(error, "names of tensors", header->item_count);
  for (int64_t i = 0; names && i < header->item_count; i++) names[i] = header->items[i].name;
  if (names) qsort(names, (size_t)header->item_count, sizeof *names, laze_safetensors_compare_names);
  for (int64_t i = 1; names && i < header->item_count && status == LAZE_OK; i++)
    if (strcmp(names[i - 1], names[i]) == 0)
      status = laze_fail(error, LAZE_DATA_LOSS, "has two tensors \"%.64s\"", names[i]);
  laze_free(header->context, names);
  if (header->note_count > 0)
    qsort(header->notes, (size_t)header->note_count, sizeof *header->notes, laze_safetensors_compare_names);
  for (int64_t i = 1; i < header->note_count && status == LAZE_OK; i++)
    if (strcmp(header->notes[i - 1].key, header->notes[i].key) == 0)
      status = laze_fail(error, LAZE_DATA_LOSS, "has the key \"%.64s\" twice", header->notes[i].key);
  return status;
}

/* By their first byte, and empty ones before what begins there. */
static int compare_items(const void *left, const void *right) {
  const laze_safetensors_item *a = left, *b = right;
  const uintptr_t begins[2] = {(uintptr_t)a->data, (uintptr_t)b->data};
  if (begins[0] != begins[1]) return begins[0] < begins[1] ? -1 : 1;
  return (a->size > b->size) - (a->size < b->size);
}

static laze_status check_offsets(laze_safetensors_header *header, int64_t elements, laze_error *error) {
  int64_t at = 0;
  if (header->item_count > 0) qsort(header->items, (size_t)header->item_count, sizeof *header->items, compare_items);
  for (int64_t i = 0; i < header->item_count; i++) {
    const laze_safetensors_item *item = &header->items[i];
    const int64_t begin = (int64_t)(uintptr_t)item->data;
    if (begin != at)
      return laze_fail(error, LAZE_DATA_LOSS,
                       "\"%.64s\" begins at byte %lld of the elements: those before it end at %lld", item->name,
                       (long long)begin, (long long)at);
    if (item->size > elements - at)
      return laze_fail(error, LAZE_DATA_LOSS, "\"%.64s\" ends at byte %lld of the elements, of which there are %lld",
                       item->name, (long long)(begin + item->size), (long long)elements);
    at += item->size;
  }
  if (at == elements && header->item_count <= INT32_MAX) return LAZE_OK;
  return laze_fail(error, LAZE_DATA_LOSS, "has %lld bytes of elements: its tensors are %lld", (long long)elements,
                   (long long)at);
}

laze_status laze_safetensors_header_parse(laze_context *context, const char *text, int64_t length, int64_t elements,
                                          laze_safetensors_header *out, laze_error *error) {
  *out = (laze_safetensors_header){.context = context, .text = laze_alloc(context, length + 1)};
  if (!out->text) return laze_fail_memory(error, "names of tensors", length + 1);
  cursor c = {.begin = text, .at = text, .end = text + length, .text = out->text, .error = error};
  LAZE_TRY(take_all(&c, out));
  LAZE_TRY(check_names(out, error));
  return check_offsets(out, elements, error);
}

void laze_safetensors_header_deinit(laze_safetensors_header *header) {
  laze_free(header->context, header->text);
  laze_free(header->context, header->items);
  laze_free(header->context, header->notes);
}

/* Safetensors files: round trips, what the format's own library writes, and files that lie. */
#include "laze/safetensors.h"

#include "tests/support/suite.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static laze_context *context;
static char directory[64], path[128];

static void set_up(void) {
  ck_assert_int_eq(laze_context_create(NULL, &context, NULL), LAZE_OK);
  snprintf(directory, sizeof directory, "/tmp/laze-safetensors-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(directory));
  snprintf(path, sizeof path, "%s/x.safetensors", directory);
}

static void tear_down(void) {
  laze_context_release(context);
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", directory);
  ck_assert_int_eq(system(command), 0);
}

static int count_files(void) {
  DIR *entries = opendir(directory);
  int count = 0;
  for (struct dirent *entry = readdir(entries); entry; entry = readdir(entries)) count += entry->d_name[0] != '.';
  closedir(entries);
  return count;
}

/* A file with a header as it is and `elements` bytes that count up. */
static void write_text(const char *header, uint64_t length, int elements) {
  FILE *file = fopen(path, "wb");
  ck_assert_ptr_nonnull(file);
  ck_assert_uint_eq(fwrite(&length, 1, 8, file), 8);
  ck_assert_uint_eq(fwrite(header, 1, strlen(header), file), strlen(header));
  for (int i = 0; i < elements; i++) ck_assert_int_ne(fputc(i, file), EOF);
  ck_assert_int_eq(fclose(file), 0);
}

static laze_safetensors *open_file(void) {
  laze_safetensors *file;
  laze_error error;
  ck_assert_msg(laze_safetensors_open(context, path, &file, &error) == LAZE_OK, "%s", error.message);
  return file;
}

START_TEST(what_was_written_is_read) {
  const float floats[6] = {1, 2, 3, 4, 5, 6};
  const uint8_t bytes[3] = {7, 8, 9}, flag = 1;
  const laze_safetensors_item items[] = {
      {"bytes", LAZE_U8, 1, {3}, bytes, 3},
      {"w.\"1\"\\\n\xc3\xa9\xf0\x9f\x98\x80", LAZE_F32, 2, {2, 3}, floats, 24}, /* quotes, controls, two and four bytes
                                                                                 */
      {"", LAZE_BOOL, 0, {0}, &flag, 1},
      {"empty", LAZE_F64, 2, {0, 5}, floats, 0},
  };
  const laze_safetensors_note notes[] = {{"step", "12"}, {"a", "\"\xe2\x82\xac\t"}};
  laze_error error;
  ck_assert_msg(laze_safetensors_write(context, path, items, 4, notes, 2, &error) == LAZE_OK, "%s", error.message);
  ck_assert_int_eq(count_files(), 1); /* nothing temporary is left */
  laze_safetensors *file = open_file();
  ck_assert_int_eq(laze_safetensors_count(file), 4);
  for (int i = 0; i < 4; i++) {
    const laze_safetensors_item *found = laze_safetensors_find(file, items[i].name);
    ck_assert_ptr_nonnull(found);
    ck_assert_int_eq(found->dtype, items[i].dtype);
    ck_assert_int_eq(found->rank, items[i].rank);
    ck_assert_mem_eq(found->dims, items[i].dims, sizeof found->dims);
    ck_assert_int_eq(found->size, items[i].size);
    ck_assert_mem_eq(found->data, items[i].data, (size_t)items[i].size);
    ck_assert_uint_eq((uintptr_t)found->data % (uintptr_t)laze_dtype_size(found->dtype), 0);
  }
  ck_assert_str_eq(laze_safetensors_get(file, 0)->name, "empty"); /* the largest elements come first */
  ck_assert_ptr_null(laze_safetensors_get(file, 4));
  ck_assert_ptr_null(laze_safetensors_get(file, -1));
  ck_assert_ptr_null(laze_safetensors_find(file, "byte"));
  ck_assert_int_eq(laze_safetensors_note_count(file), 2);
  ck_assert_str_eq(laze_safetensors_get_note(file, 0)->value, notes[1].value);
  ck_assert_str_eq(laze_safetensors_get_note(file, 1)->key, "step");
  ck_assert_ptr_null(laze_safetensors_get_note(file, 2));
  laze_safetensors_release(file);
}
END_TEST

/* A file that is replaced while it is mapped stays for who has it. */
START_TEST(a_mapping_outlives_its_file) {
  const int32_t first[2] = {1, 2}, second[2] = {3, 4};
  laze_safetensors_item item = {"x", LAZE_I32, 1, {2}, first, 8};
  ck_assert_int_eq(laze_safetensors_write(context, path, &item, 1, NULL, 0, NULL), LAZE_OK);
  laze_safetensors *file = open_file();
  item.data = second;
  ck_assert_int_eq(laze_safetensors_write(context, path, &item, 1, NULL, 0, NULL), LAZE_OK);
  laze_safetensors *again = open_file();
  unlink(path);
  laze_safetensors_retain(file);
  laze_safetensors_release(file);
  ck_assert_mem_eq(laze_safetensors_get(file, 0)->data, first, 8);
  ck_assert_mem_eq(laze_safetensors_get(again, 0)->data, second, 8);
  laze_safetensors_release(file);
  laze_safetensors_release(again);
  laze_safetensors_release(NULL);
}
END_TEST

/* JSON that others write: spaces, other orders of fields, escapes. */
START_TEST(what_json_allows_is_read) {
  write_text(
      "{ \"\\u0061\\u00e9\\ud83d\\ude00\\/\" :\n{\"data_offsets\":[ 0 , 2 ],\t\"shape\":[1],\"dtype\":\"BF16\"} ,"
      "\"__metadata__\":{\"format\":\"pt\"}, \"n\":{\"dtype\":\"I8\",\"shape\":[],\"data_offsets\":[2,3]}}  \n",
      180, 3);
  FILE *file = fopen(path, "rb");
  ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
  const uint64_t length = (uint64_t)ftell(file) - 8 - 3;
  fclose(file);
  file = fopen(path, "r+b");
  ck_assert_uint_eq(fwrite(&length, 1, 8, file), 8);
  fclose(file);
  laze_safetensors *found = open_file();
  ck_assert_str_eq(laze_safetensors_get(found, 0)->name, "a\xc3\xa9\xf0\x9f\x98\x80/");
  ck_assert_int_eq(laze_safetensors_get(found, 0)->dtype, LAZE_BF16);
  ck_assert_int_eq(*(const char *)laze_safetensors_get(found, 1)->data, 2);
  ck_assert_str_eq(laze_safetensors_get_note(found, 0)->value, "pt");
  laze_safetensors_release(found);
  write_text("{}", 2, 0); /* no tensors at all */
  found = open_file();
  ck_assert_int_eq(laze_safetensors_count(found), 0);
  laze_safetensors_release(found);
}
END_TEST

#define TENSOR(name, from, to) "\"" name "\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[" from "," to "]}"
#define FIELDS(fields) "{\"a\":{" fields "}}"
#define OFFSETS "\"data_offsets\":[0,4]"

static const struct {
  const char *header;
  int elements;
  laze_status status;
  const char *message;
} refused[] = {
    {"{" TENSOR("a", "0", "4") "," TENSOR("b", "2", "6") "}", 6, LAZE_DATA_LOSS, "begins at byte 2"},
    {"{" TENSOR("a", "0", "4") "," TENSOR("b", "5", "9") "}", 9, LAZE_DATA_LOSS, "begins at byte 5"},
    {"{" TENSOR("a", "1", "5") "}", 5, LAZE_DATA_LOSS, "begins at byte 1"},
    {"{" TENSOR("a", "0", "4") "}", 5, LAZE_DATA_LOSS, "has 5 bytes of elements: its tensors are 4"},
    {"{" TENSOR("a", "0", "4") "}", 3, LAZE_DATA_LOSS, "ends at byte 4 of the elements, of which there are 3"},
    {"{" TENSOR("a", "0", "4") "," TENSOR("a", "4", "8") "}", 8, LAZE_DATA_LOSS, "two tensors \"a\""},
    {"{" TENSOR("a", "0", "4") "," TENSOR("\\u0061", "4", "8") "}", 8, LAZE_DATA_LOSS, "two tensors \"a\""},
    {"{\"__metadata__\":{\"k\":\"\",\"k\":\"\"}}", 0, LAZE_DATA_LOSS, "the key \"k\" twice"},
    {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, LAZE_DATA_LOSS, "\"__metadata__\" once"},
    {"{\"__metadata__\":{\"k\":{}}}", 0, LAZE_DATA_LOSS, "expected a string"},
    {"{\"__metadata__\":[]}", 0, LAZE_DATA_LOSS, "expected '{'"},
    {"{" TENSOR("a", "4", "0") "}", 4, LAZE_DATA_LOSS, "the first no larger"},
    {"{" TENSOR("a", "0", "3") "}", 3, LAZE_DATA_LOSS, "asks for another number"},
    {"{" TENSOR("a", "0", "9223372036854775808") "}", 4, LAZE_DATA_LOSS, "below 2^63"},
    {"{" TENSOR("a", "-1", "3") "}", 4, LAZE_DATA_LOSS, "is '-': expected an integer"},
    {"{" TENSOR("a", "00", "4") "}", 4, LAZE_DATA_LOSS, "without zeros"},
    {"{" TENSOR("a", "0.0", "4") "}", 4, LAZE_DATA_LOSS, "expected ',' or ']'"},
    {FIELDS("\"dtype\":\"F32\",\"shape\":[9223372036854775807,9223372036854775807],\"data_offsets\":[0,4]"), 4,
     LAZE_DATA_LOSS, "more than 2^62"},
    {FIELDS("\"dtype\":\"BOOL\",\"shape\":[0,4611686018427387905],\"data_offsets\":[0,0]"), 0, LAZE_DATA_LOSS,
     "more than 2^62"},
    {FIELDS("\"dtype\":\"F32\",\"shape\":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],\"data_offsets\":[0,0]"), 0,
     LAZE_DATA_LOSS, "no more numbers"},
    {FIELDS("\"dtype\":\"F8_E4M3\",\"shape\":[4]," OFFSETS), 4, LAZE_UNSUPPORTED, "\"F8_E4M3\""},
    {FIELDS("\"dtype\":7,\"shape\":[4]," OFFSETS), 4, LAZE_DATA_LOSS, "a dtype in quotes"},
    {FIELDS("\"dtype\":\"U8\"," OFFSETS), 4, LAZE_DATA_LOSS, "lacks one of"},
    {FIELDS("\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[4]," OFFSETS), 4, LAZE_DATA_LOSS,
     "twice the field \"dtype\""},
    {FIELDS("\"dtype\":\"U8\",\"more\":1,\"shape\":[4]," OFFSETS), 4, LAZE_DATA_LOSS, "an unknown field \"more\""},
    {"{\"a\":[[[[[[[[1]]]]]]]]}", 0, LAZE_DATA_LOSS, "expected '{'"},
    {"[]", 0, LAZE_DATA_LOSS, "expected '{'"},
    {" {}", 0, LAZE_DATA_LOSS, "0x20: expected '{'"},
    {"{}x", 0, LAZE_DATA_LOSS, "nothing but spaces"},
    {"{", 0, LAZE_DATA_LOSS, "the header ends at byte 1"},
    {"", 0, LAZE_DATA_LOSS, "the header ends at byte 0"},
    {"{\"a", 0, LAZE_DATA_LOSS, "the end of a string"},
    {"{\"\\x\"", 0, LAZE_DATA_LOSS, "an escape of JSON"},
    {"{\"\\", 0, LAZE_DATA_LOSS, "an escape of JSON"},
    {"{\"\\u12", 0, LAZE_DATA_LOSS, "four hexadecimal digits"},
    {"{\"\\u0000\"", 0, LAZE_DATA_LOSS, "no zero character"},
    {"{\"\\ud800\"", 0, LAZE_DATA_LOSS, "half of a surrogate pair"},
    {"{\"\\ud800\\u0061\"", 0, LAZE_DATA_LOSS, "half of a surrogate pair"},
    {"{\"\xff\"", 0, LAZE_DATA_LOSS, "0xff: expected a character of UTF-8"},
    {"{\"\xed\xa0\x80\"", 0, LAZE_DATA_LOSS, "a character of UTF-8"},
    {"{\"\xc0\xaf\"", 0, LAZE_DATA_LOSS, "a character of UTF-8"},
    {"{\"\n\"", 0, LAZE_DATA_LOSS, "no control"},
};

START_TEST(a_header_that_lies_is_refused) {
  laze_safetensors *file;
  laze_error error;
  write_text(refused[_i].header, strlen(refused[_i].header), refused[_i].elements);
  ck_assert_msg(laze_safetensors_open(context, path, &file, &error) == refused[_i].status, "%s: %s", refused[_i].header,
                error.message);
  ck_assert_ptr_null(file);
  ck_assert_msg(strstr(error.message, refused[_i].message) != NULL, "\"%s\" does not say \"%s\"", error.message,
                refused[_i].message);
  ck_assert_ptr_nonnull(strstr(error.message, path));
}
END_TEST

START_TEST(lengths_that_lie_are_refused) {
  const uint64_t lengths[] = {3, 100000001, 1ull << 40, UINT64_MAX};
  laze_safetensors *file;
  laze_error error;
  for (int i = 0; i < 4; i++) {
    write_text("{}", lengths[i], 0);
    ck_assert_int_eq(laze_safetensors_open(context, path, &file, &error), LAZE_DATA_LOSS);
    ck_assert_ptr_nonnull(strstr(error.message, "expected at most 2"));
  }
  write_text("", 0, 0);
  ck_assert_int_eq(truncate(path, 7), 0);
  ck_assert_int_eq(laze_safetensors_open(context, path, &file, &error), LAZE_DATA_LOSS);
  ck_assert_int_eq(truncate(path, 0), 0);
  ck_assert_int_eq(laze_safetensors_open(context, path, &file, NULL), LAZE_DATA_LOSS);
  ck_assert_int_eq(laze_safetensors_open(context, NULL, &file, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(laze_safetensors_open(context, directory, &file, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(unlink(path), 0);
  ck_assert_int_eq(laze_safetensors_open(context, path, &file, &error), LAZE_NOT_FOUND);
  ck_assert_int_eq(mkfifo(path, 0600), 0);
  ck_assert_int_eq(laze_safetensors_open(context, path, &file, &error), LAZE_INVALID_ARGUMENT);
}
END_TEST

START_TEST(what_cannot_be_written_is_refused) {
  const char byte = 0;
  const laze_safetensors_item good = {"x", LAZE_I8, 0, {0}, &byte, 1};
  laze_safetensors_item item = good, twice[2] = {good, good};
  laze_error error;
  item.dtype = LAZE_C128;
  ck_assert_int_eq(laze_safetensors_write(context, path, &item, 1, NULL, 0, &error), LAZE_UNSUPPORTED);
  for (int i = 0; i < 6; i++) {
    item = good;
    if (i == 0) item.name = NULL;
    if (i == 1) item.name = "\x80";
    if (i == 2) item.name = "__metadata__";
    if (i == 3) item.size = 2;
    if (i == 4) item.rank = LAZE_SAFETENSORS_MAX_RANK + 1;
    if (i == 5) item.data = NULL;
    ck_assert_int_eq(laze_safetensors_write(context, path, &item, 1, NULL, 0, &error), LAZE_INVALID_ARGUMENT);
    ck_assert_msg(strncmp(error.message, "laze_safetensors_write: ", 24) == 0, "%s", error.message);
  }
  ck_assert_int_eq(laze_safetensors_write(context, path, twice, 2, NULL, 0, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(error.message, "two tensors \"x\""));
  ck_assert_int_eq(laze_safetensors_write(context, path, NULL, 1, NULL, 0, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(laze_safetensors_write(context, path, &good, 1, &(laze_safetensors_note){"a", NULL}, 1, &error),
                   LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(laze_safetensors_write(context, "/nowhere/at/all", &good, 1, NULL, 0, &error), LAZE_IO_ERROR);
  ck_assert_int_eq(count_files(), 0);
}
END_TEST

/* A file that was not opened has nothing in it, and one that has no place to go to is not opened. */
START_TEST(no_file_is_refused_or_empty) {
  const char byte = 0;
  const laze_safetensors_item item = {"x", LAZE_I8, 0, {0}, &byte, 1};
  laze_error error;
  ck_assert_int_eq(laze_safetensors_write(context, path, &item, 1, NULL, 0, &error), LAZE_OK);
  ck_assert_int_eq(laze_safetensors_open(context, path, NULL, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(error.message, "out must not be NULL"));
  ck_assert_int_eq(laze_safetensors_count(NULL), 0);
  ck_assert_ptr_null(laze_safetensors_get(NULL, 0));
  ck_assert_ptr_null(laze_safetensors_find(NULL, "x"));
  ck_assert_int_eq(laze_safetensors_note_count(NULL), 0);
  ck_assert_ptr_null(laze_safetensors_get_note(NULL, 0));
}
END_TEST

/* Memory that is not there, at each allocation in turn. */
static int64_t allowed;

static void *allocate(void *self, size_t size) {
  (void)self;
  return allowed-- > 0 ? malloc(size) : NULL;
}

static void release(void *self, void *memory) {
  (void)self;
  free(memory);
}

START_TEST(without_memory_it_is_an_error) {
  const laze_allocator allocator = {allocate, release, NULL};
  const laze_context_options options = {.struct_size = sizeof options, .allocator = &allocator};
  laze_context *poor;
  laze_safetensors *file;
  allowed = INT64_MAX;
  ck_assert_int_eq(laze_context_create(&options, &poor, NULL), LAZE_OK);
  const char byte = 5;
  const laze_safetensors_item item = {"x", LAZE_I8, 0, {0}, &byte, 1};
  const laze_safetensors_note note = {"a", "b"};
  int failed = 0;
  for (int64_t most = 0;; most++) {
    allowed = most;
    laze_status status = laze_safetensors_write(poor, path, &item, 1, &note, 1, NULL);
    if (status == LAZE_OK) status = laze_safetensors_open(poor, path, &file, NULL);
    if (status == LAZE_OK) break;
    ck_assert_int_eq(status, LAZE_OUT_OF_MEMORY);
    failed++;
  }
  ck_assert_int_ge(failed, 6);
  laze_safetensors_release(file);
  laze_context_release(poor);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("safetensors");
  TCase *group = tcase_create("safetensors");
  tcase_add_checked_fixture(group, set_up, tear_down);
  tcase_add_test(group, what_was_written_is_read);
  tcase_add_test(group, a_mapping_outlives_its_file);
  tcase_add_test(group, what_json_allows_is_read);
  tcase_add_loop_test(group, a_header_that_lies_is_refused, 0, sizeof refused / sizeof *refused);
  tcase_add_test(group, lengths_that_lie_are_refused);
  tcase_add_test(group, what_cannot_be_written_is_refused);
  tcase_add_test(group, no_file_is_refused_or_empty);
  tcase_add_test(group, without_memory_it_is_an_error);
  suite_add_tcase(suite, group);
  return test_run_suite(suite);
}

/* .npy files: round trips, what NumPy writes, and files that lie. */
#include "laze/npy.h"
#include "tests/support/suite.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static laze_context *context;
static char directory[64], path[128];

static void set_up(void) {
  ck_assert_int_eq(laze_context_create(NULL, &context, NULL), LAZE_OK);
  snprintf(directory, sizeof directory, "/tmp/laze-npy-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(directory));
  snprintf(path, sizeof path, "%s/x.npy", directory);
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

static void write_file(const void *bytes, size_t size) {
  FILE *file = fopen(path, "wb");
  ck_assert_ptr_nonnull(file);
  ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
  ck_assert_int_eq(fclose(file), 0);
}

/* Writes a file of a version with a header and elements, lengths as they are. */
static void write_npy(int version, const char *header, const void *data, size_t size) {
  char bytes[4096] = {'\x93', 'N', 'U', 'M', 'P', 'Y', (char)version, 0};
  size_t length = strlen(header), at = 8;
  for (int i = 0; i < (version == 1 ? 2 : 4); i++) bytes[at++] = (char)(length >> (8 * i));
  memcpy(bytes + at, header, length);
  memcpy(bytes + at + length, data, size);
  write_file(bytes, at + length + size);
}

static laze_npy read_ok(void) {
  laze_npy array;
  laze_error error = {0};
  laze_status status = laze_npy_read(context, path, &array, &error);
  ck_assert_msg(status == LAZE_OK, "%s", error.message);
  return array;
}

static void read_fails(laze_status code, const char *part) {
  laze_npy array = {.rank = 7};
  laze_error error = {0};
  laze_status status = laze_npy_read(context, path, &array, &error);
  ck_assert_msg(status == code, "got %s '%s', expected %s ('%s')", laze_status_name(status), error.message,
                laze_status_name(code), part);
  ck_assert_msg(strstr(error.message, part) && strstr(error.message, path), "'%s' is not in: %s", part, error.message);
  ck_assert_ptr_null(array.data);
  ck_assert_int_eq(array.rank, 0);
}

/* Every dtype and rank, empty and scalar arrays; bits are kept, NaN payloads and -0 too. */
START_TEST(round_trips) {
  static const laze_dtype dtypes[] = {LAZE_F16, LAZE_F32, LAZE_F64, LAZE_I8,  LAZE_U8,  LAZE_I16,
                                      LAZE_I32, LAZE_I64, LAZE_U16, LAZE_U32, LAZE_U64, LAZE_BOOL};
  static const int64_t shapes[][4] = {{0}, {1, 5}, {2, 2, 3}, {3, 1, 1, 7}, {2, 0, 4}};
  unsigned char data[512];
  for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)(i * 37 + 200);
  for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
    for (size_t s = 0; s < 5; s++) {
      laze_npy array = {.dtype = dtypes[d], .rank = (int32_t)shapes[s][0], .data = data};
      int64_t bytes = laze_dtype_size(dtypes[d]);
      for (int i = 0; i < array.rank; i++) bytes *= array.dims[i] = shapes[s][i + 1];
      for (size_t i = 0; dtypes[d] == LAZE_BOOL && i < sizeof data; i++) data[i] &= 1;
      ck_assert_int_eq(laze_npy_write(path, &array, NULL), LAZE_OK);
      struct stat info;
      ck_assert_int_eq(stat(path, &info), 0);
      ck_assert_int_eq((info.st_size - bytes) % 64, 0); /* aligned elements, as NumPy writes them */
      laze_npy back = read_ok();
      ck_assert_int_eq(back.dtype, array.dtype);
      ck_assert_int_eq(back.rank, array.rank);
      for (int i = 0; i < array.rank; i++) ck_assert_int_eq(back.dims[i], array.dims[i]);
      ck_assert_int_eq(back.size, bytes);
      ck_assert_int_eq(memcmp(back.data, data, (size_t)bytes), 0);
      laze_npy_deinit(&back);
      ck_assert_ptr_null(back.data);
      laze_npy_deinit(&back);
    }
  }
  ck_assert_int_eq(count_files(), 1);
}
END_TEST

/* Sixteen sizes of many digits are the longest header that is written. */
START_TEST(writes_the_longest_header) {
  laze_npy array = {.dtype = LAZE_F32, .rank = LAZE_NPY_MAX_RANK};
  for (int i = 0; i < LAZE_NPY_MAX_RANK; i++) array.dims[i] = i == 0 ? 0 : i < 3 ? 123456789 : 1;
  ck_assert_int_eq(laze_npy_write(path, &array, NULL), LAZE_OK);
  laze_npy back = read_ok();
  ck_assert_int_eq(back.rank, LAZE_NPY_MAX_RANK);
  ck_assert_int_eq(back.dims[2], 123456789);
  laze_npy_deinit(&back);
}
END_TEST

/* Headers as NumPy and others write them: all versions, key orders, quotes, Python 2's longs. */
START_TEST(reads_foreign_headers) {
  static const char *const headers[] = {
      "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }           \n",
      "{\"shape\":(2L,3L),\"fortran_order\":False,\"descr\":\"<i4\"}",
      " { 'shape' : ( 2 , 3 , ) , 'descr' : '<i4' , 'fortran_order' : False } \t\r\n",
  };
  int32_t data[6] = {1, 2, 3, 4, 5, 6};
  for (size_t h = 0; h < 3; h++) {
    for (int version = 1; version <= 3; version++) {
      write_npy(version, headers[h], data, sizeof data);
      laze_npy array = read_ok();
      ck_assert_int_eq(array.rank, 2);
      ck_assert_int_eq(array.dims[1], 3);
      ck_assert_int_eq(memcmp(array.data, data, sizeof data), 0);
      laze_npy_deinit(&array);
    }
  }
}
END_TEST

/* Element (i, j, k) of a column-major 2x3x4 array lies at i + 2 j + 6 k. */
START_TEST(transposes_fortran_order) {
  double data[24];
  for (int i = 0; i < 24; i++) data[i] = i;
  write_npy(1, "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3, 4)}", data, sizeof data);
  laze_npy array = read_ok();
  const double *out = array.data;
  for (int i = 0; i < 2; i++) {
    for (int j = 0; j < 3; j++) {
      for (int k = 0; k < 4; k++) ck_assert(out[(i * 3 + j) * 4 + k] == i + 2 * j + 6 * k);
    }
  }
  laze_npy_deinit(&array);
}
END_TEST

/* Kernels take a bool for 0 or 1. */
START_TEST(normalises_bools) {
  write_npy(1, "{'descr': '|b1', 'fortran_order': False, 'shape': (4,)}", "\0\1\2\xff", 4);
  laze_npy array = read_ok();
  ck_assert_int_eq(memcmp(array.data, "\0\1\1\1", 4), 0);
  laze_npy_deinit(&array);
}
END_TEST

static const struct {
  const char *header;
  laze_status code;
  const char *part;
} hostile[] = {
    {"{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}", LAZE_UNSUPPORTED, "big-endian"},
    {"{'descr': '<f16', 'fortran_order': False, 'shape': (4,)}", LAZE_UNSUPPORTED, "'<f16'"},
    {"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", LAZE_UNSUPPORTED, "'|O'"},
    {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", LAZE_UNSUPPORTED, "structures"},
    {"{'descr': '<f4', 'fortran_order': 1, 'shape': (2,)}", LAZE_DATA_LOSS, "True or False"},
    {"{'descr': '<f4', 'shape': (2,)}", LAZE_DATA_LOSS, "fortran_order"},
    {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", LAZE_DATA_LOSS, "twice"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'more': 1}", LAZE_DATA_LOSS, "'more'"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", LAZE_DATA_LOSS, "negative"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2)}", LAZE_DATA_LOSS, "(n,)"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (,)}", LAZE_DATA_LOSS, "size"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2 2)}", LAZE_DATA_LOSS, "','"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': 2}", LAZE_DATA_LOSS, "shape such as"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", LAZE_DATA_LOSS, "8 bytes"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", LAZE_DATA_LOSS, "8 bytes"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", LAZE_DATA_LOSS, "63 bits"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,)}", LAZE_OUT_OF_MEMORY, "2^62"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", LAZE_OUT_OF_MEMORY, "2^62"},
    {"{'descr': '<f4', 'fortran_order': True, 'shape': (0, 4611686018427387904)}", LAZE_OUT_OF_MEMORY, "2^62"},
    {"{'descr': '|b1', 'fortran_order': False, 'shape': (0, 4611686018427387905)}", LAZE_OUT_OF_MEMORY, "2^62"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776,)}", LAZE_DATA_LOSS, "header asks for"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2)}", LAZE_UNSUPPORTED,
     "more than 16"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)", LAZE_DATA_LOSS, "'}'"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x", LAZE_DATA_LOSS, "behind"},
    {"{'descr': '<f4", LAZE_DATA_LOSS, "element type"},
    {"{'descr'", LAZE_DATA_LOSS, "':'"},
    {"{'", LAZE_DATA_LOSS, "key"},
    {"{", LAZE_DATA_LOSS, "key"},
    {"", LAZE_DATA_LOSS, "'{'"},
    {"[]", LAZE_DATA_LOSS, "'{'"},
};

/* A header of 65536 bytes, nearly all of them blanks, is read; one of a byte more is refused before memory is taken. */
START_TEST(header_length_is_bounded) {
  static const char text[] = "{'descr': '<i4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2)}";
  enum { LONGEST = 65536 };
  static char file[12 + LONGEST + 1 + 8] = {'\x93', 'N', 'U', 'M', 'P', 'Y', 2, 0};
  for (int length = LONGEST; length <= LONGEST + 1; length++) {
    for (int i = 0; i < 4; i++) file[8 + i] = (char)(length >> (8 * i));
    memset(file + 12, ' ', (size_t)length);
    memcpy(file + 12, text, sizeof text - 1);
    memcpy(file + 12 + length, "12345678", 8);
    write_file(file, 12 + (size_t)length + 8);
    if (length > LONGEST) {
      read_fails(LAZE_DATA_LOSS, "65537 bytes: expected at most 65536");
      continue;
    }
    laze_npy array = read_ok();
    ck_assert_int_eq(array.rank, LAZE_NPY_MAX_RANK);
    ck_assert_int_eq(memcmp(array.data, "12345678", 8), 0);
    laze_npy_deinit(&array);
  }
}
END_TEST

/* What a damaged or malicious header may claim: refused before memory is taken for it, and said why. */
START_TEST(refuses_hostile_headers) {
  for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
    write_npy(1 + (int)(i % 3), hostile[i].header, "12345678", 8);
    read_fails(hostile[i].code, hostile[i].part);
  }
}
END_TEST

/* Every prefix of a good file, and one byte more than the file. */
START_TEST(refuses_wrong_lengths) {
  float data[3] = {1, 2, 3};
  laze_npy array = {.dtype = LAZE_F32, .rank = 1, .dims = {3}, .data = data};
  ck_assert_int_eq(laze_npy_write(path, &array, NULL), LAZE_OK);
  char bytes[256] = {0};
  FILE *file = fopen(path, "rb");
  size_t size = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  for (size_t length = 0; length < size; length++) {
    write_file(bytes, length);
    read_fails(LAZE_DATA_LOSS, ":");
  }
  write_file(bytes, size + 1);
  read_fails(LAZE_DATA_LOSS, "13 bytes");
  write_file(bytes, size);
  array = read_ok();
  laze_npy_deinit(&array);
}
END_TEST

/* One wrong byte anywhere in the first 128: refused or read, never a crash. */
START_TEST(survives_wrong_bytes) {
  float data[3] = {1, 2, 3};
  laze_npy array = {.dtype = LAZE_F32, .rank = 1, .dims = {3}, .data = data};
  ck_assert_int_eq(laze_npy_write(path, &array, NULL), LAZE_OK);
  char bytes[256];
  FILE *file = fopen(path, "rb");
  size_t size = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  int refused = 0;
  for (size_t at = 0; at < 128; at++) {
    for (int bit = 0; bit < 8; bit++) {
      bytes[at] = (char)(bytes[at] ^ 1 << bit);
      write_file(bytes, size);
      laze_npy back;
      laze_error error = {0};
      laze_status status = laze_npy_read(context, path, &back, &error);
      ck_assert(status == LAZE_OK ? back.size == 12 : error.message[0] != 0);
      refused += status != LAZE_OK;
      laze_npy_deinit(&back);
      bytes[at] = (char)(bytes[at] ^ 1 << bit);
    }
  }
  ck_assert_int_gt(refused, 500);
}
END_TEST

START_TEST(refuses_what_is_no_npy_file) {
  read_fails(LAZE_NOT_FOUND, "No such file");
  write_file("PK\3\4 this is a zip file", 20);
  read_fails(LAZE_DATA_LOSS, "NUMPY");
  write_file("\x93NUMPY\4\0\0\0\0\0", 12);
  read_fails(LAZE_UNSUPPORTED, "4.0");
  write_file("\x93NUMPY\2\0\xff\xff\xff\xff", 12);
  read_fails(LAZE_DATA_LOSS, "4294967295");
  snprintf(path, sizeof path, "%s", directory);
  read_fails(LAZE_INVALID_ARGUMENT, "regular file");
  laze_npy array;
  ck_assert_int_eq(laze_npy_read(context, NULL, &array, NULL), LAZE_INVALID_ARGUMENT);
}
END_TEST

static void write_fails(const char *target, const laze_npy *array, laze_status code, const char *part) {
  laze_error error = {0};
  ck_assert_int_eq(laze_npy_write(target, array, &error), code);
  ck_assert_msg(strstr(error.message, part) && strstr(error.message, target), "'%s' is not in: %s", part,
                error.message);
}

START_TEST(refuses_to_write_nonsense) {
  char data[8] = {0};
  laze_npy array = {.dtype = 16, .rank = 1, .dims = {1}, .data = data};
  write_fails(path, &array, LAZE_INVALID_ARGUMENT, "(16)");
  array = (laze_npy){.dtype = LAZE_F32, .rank = 17, .data = data};
  write_fails(path, &array, LAZE_INVALID_ARGUMENT, "17 axes");
  array = (laze_npy){.dtype = LAZE_F32, .rank = 1, .dims = {-1}, .data = data};
  write_fails(path, &array, LAZE_INVALID_ARGUMENT, "-1");
  array = (laze_npy){.dtype = LAZE_F32, .rank = 1, .dims = {INT64_C(1) << 62}, .data = data};
  write_fails(path, &array, LAZE_OUT_OF_MEMORY, "2^62");
  array = (laze_npy){.dtype = LAZE_F32, .rank = 1, .dims = {2}};
  write_fails(path, &array, LAZE_INVALID_ARGUMENT, "NULL");
  ck_assert_int_eq(laze_npy_write(path, NULL, NULL), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(count_files(), 0);
}
END_TEST

/* A full disk is an error that leaves no piece behind and the old file as it was. */
START_TEST(survives_a_full_disk) {
  static double data[1000];
  laze_npy array = {.dtype = LAZE_F64, .rank = 1, .dims = {3}, .data = data};
  ck_assert_int_eq(laze_npy_write(path, &array, NULL), LAZE_OK);
  struct rlimit before, small;
  ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
  small = before;
  small.rlim_cur = 500;
  signal(SIGXFSZ, SIG_IGN);
  array.dims[0] = 1000;
  ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
  laze_error error = {0};
  laze_status status = laze_npy_write(path, &array, &error);
  ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
  ck_assert_int_eq(status, LAZE_IO_ERROR);
  ck_assert_ptr_nonnull(strstr(error.message, path));
  ck_assert_int_eq(count_files(), 1);
  laze_npy back = read_ok();
  ck_assert_int_eq(back.dims[0], 3);
  laze_npy_deinit(&back);
  write_fails("/dev/full", &array, LAZE_IO_ERROR, "No space");
  write_fails("/nowhere/x.npy", &array, LAZE_IO_ERROR, "No such file");
}
END_TEST

/* Renaming over /dev/stdout or a link would replace what the user means to write to. A file stays as private as it
 * was. */
START_TEST(writes_through_links_and_devices) {
  int32_t data[2] = {7, 8};
  laze_npy array = {.dtype = LAZE_I32, .rank = 1, .dims = {2}, .data = data};
  char link_path[160];
  snprintf(link_path, sizeof link_path, "%s/link.npy", directory);
  write_file("", 0);
  ck_assert_int_eq(symlink("x.npy", link_path), 0);
  ck_assert_int_eq(chmod(link_path, 0600), 0);
  ck_assert_int_eq(laze_npy_write(link_path, &array, NULL), LAZE_OK);
  struct stat info;
  ck_assert_int_eq(lstat(link_path, &info), 0);
  ck_assert(S_ISLNK(info.st_mode));
  ck_assert_int_eq(stat(link_path, &info), 0);
  ck_assert_int_eq(info.st_mode & 0777, 0600);
  laze_npy back = read_ok();
  ck_assert_int_eq(((int32_t *)back.data)[1], 8);
  laze_npy_deinit(&back);
  ck_assert_int_eq(laze_npy_write("/dev/null", &array, NULL), LAZE_OK);
  ck_assert_int_eq(stat("/dev/null", &info), 0);
  ck_assert(S_ISCHR(info.st_mode));
}
END_TEST

int main(void) {
  Suite *suite = suite_create("npy");
  TCase *tests = tcase_create("npy");
  tcase_set_timeout(tests, 120);
  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_test(tests, round_trips);
  tcase_add_test(tests, writes_the_longest_header);
  tcase_add_test(tests, reads_foreign_headers);
  tcase_add_test(tests, transposes_fortran_order);
  tcase_add_test(tests, normalises_bools);
  tcase_add_test(tests, header_length_is_bounded);
  tcase_add_test(tests, refuses_hostile_headers);
  tcase_add_test(tests, refuses_wrong_lengths);
  tcase_add_test(tests, survives_wrong_bytes);
  tcase_add_test(tests, refuses_what_is_no_npy_file);
  tcase_add_test(tests, refuses_to_write_nonsense);
  tcase_add_test(tests, survives_a_full_disk);
  tcase_add_test(tests, writes_through_links_and_devices);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}

#include "base/dtype.h"

#include "tests/unit/base/base_test.h"

#include <math.h>

static bool same_scalar(laze_scalar a, laze_scalar b) {
  return a.dtype == b.dtype && a.value.integer == b.value.integer;
}

/* Names go both ways: text forms and command lines depend on it. */
START_TEST(names_round_trip) {
  static const laze_dtype all[] = {LAZE_BOOL, LAZE_I8,  LAZE_I16, LAZE_I32,  LAZE_I64, LAZE_U8, LAZE_U16,
                                   LAZE_U32,  LAZE_U64, LAZE_F16, LAZE_BF16, LAZE_F32, LAZE_F64};
  static const int64_t sizes[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    ck_assert_int_eq(laze_dtype_find(laze_dtype_name(all[i])), all[i]);
    ck_assert_int_eq(laze_dtype_size(all[i]), sizes[i]);
  }
  ck_assert_int_eq(laze_dtype_find("f31"), LAZE_DTYPE_NONE);
  ck_assert_int_eq(laze_dtype_find(NULL), LAZE_DTYPE_NONE);
  ck_assert_str_eq(laze_dtype_name(-1), "none");
  ck_assert_int_eq(laze_dtype_size(99), 0);
}
END_TEST

#define NUMBER(with, id, ...) LAZE_##id,
static const laze_dtype table[] = {LAZE_DTYPES(NUMBER, )};
enum { ROWS = sizeof table / sizeof *table };

/* A row that says something else than the C type and the kind of its dtype would be believed by every kernel. */
START_TEST(rows_agree_with_themselves) {
  for (int i = 0; i < ROWS; i++) {
    const laze_dtype_info *info = laze_dtype_get(table[i]);
    ck_assert_msg(info->bits == 8 * info->size || info->kind == LAZE_KIND_BOOL, "%s has %d bits in %d bytes",
                  info->name, info->bits, info->size);
    ck_assert_msg(info->digits <= info->bits - (info->kind == LAZE_KIND_SIGNED), "%s has %d digits", info->name,
                  info->digits);
    for (int k = 0; k < i; k++) ck_assert_str_ne(laze_dtype_get(table[k])->name, info->name);
    if (info->kind == LAZE_KIND_COMPLEX) continue; /* has no ends */
    int64_t element = 0;
    laze_scalar lowest = laze_dtype_lowest(table[i]), highest = laze_dtype_highest(table[i]);
    laze_scalar_store(lowest, table[i], &element, 0);
    ck_assert(same_scalar(laze_scalar_load(table[i], &element, 0), lowest));
    laze_scalar_store(highest, table[i], &element, 0);
    ck_assert(same_scalar(laze_scalar_load(table[i], &element, 0), highest));
  }
}
END_TEST

/* torch.promote_types of all pairs, by numbers; 0 where it refuses. */
static const uint8_t torch_promotes[LAZE_DTYPE_BOUND][LAZE_DTYPE_BOUND] = {
    [LAZE_BOOL] = {0, 1, 2, 3, 4, 5, 6, 0, 0, 0, 10, 11, 12, 13, 14, 15},
    [LAZE_I8] = {0, 2, 2, 3, 4, 5, 3, 0, 0, 0, 10, 11, 12, 13, 14, 15},
    [LAZE_I16] = {0, 3, 3, 3, 4, 5, 3, 0, 0, 0, 10, 11, 12, 13, 14, 15},
    [LAZE_I32] = {0, 4, 4, 4, 4, 5, 4, 0, 0, 0, 10, 11, 12, 13, 14, 15},
    [LAZE_I64] = {0, 5, 5, 5, 5, 5, 5, 0, 0, 0, 10, 11, 12, 13, 14, 15},
    [LAZE_U8] = {0, 6, 3, 3, 4, 5, 6, 0, 0, 0, 10, 11, 12, 13, 14, 15},
    [LAZE_U16] = {0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 10, 11, 12, 13, 0, 0},
    [LAZE_U32] = {0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 10, 11, 12, 13, 0, 0},
    [LAZE_U64] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 10, 11, 12, 13, 0, 0},
    [LAZE_F16] = {0, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 12, 12, 13, 14, 15},
    [LAZE_BF16] = {0, 11, 11, 11, 11, 11, 11, 11, 11, 11, 12, 11, 12, 13, 14, 15},
    [LAZE_F32] = {0, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 13, 14, 15},
    [LAZE_F64] = {0, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 15, 15},
    [14] = {0, 14, 14, 14, 14, 14, 14, 0, 0, 0, 14, 14, 14, 15, 14, 15},
    [15] = {0, 15, 15, 15, 15, 15, 15, 0, 0, 0, 15, 15, 15, 15, 15, 15},
};

START_TEST(promotion_is_that_of_pytorch) {
  int pairs = 0;
  for (int a = 0; a < ROWS; a++)
    for (int b = 0; b < ROWS; b++) {
      if (!laze_dtype_get(table[a])->torch || !laze_dtype_get(table[b])->torch) continue;
      pairs++;
      ck_assert_msg(laze_dtype_join(table[a], table[b]) == torch_promotes[table[a]][table[b]], "%s and %s give %s",
                    laze_dtype_name(table[a]), laze_dtype_name(table[b]),
                    laze_dtype_name(laze_dtype_join(table[a], table[b])));
    }
  ck_assert_int_eq(pairs, 15 * 15);
}
END_TEST

/* Two dtypes have one lowest dtype above both: were there two, a result's dtype would depend on the order of the rows
 * or of the operands. */
START_TEST(promotion_is_a_lattice) {
  for (int a = 0; a < ROWS; a++)
    for (int b = 0; b < ROWS; b++) {
      uint32_t both = UINT32_C(1) << table[a] | UINT32_C(1) << table[b];
      laze_dtype join = laze_dtype_join(table[a], table[b]);
      ck_assert_int_eq(join, laze_dtype_join(table[b], table[a]));
      if (join == LAZE_DTYPE_NONE) continue;
      for (int c = 0; c < ROWS; c++)
        if ((laze_dtype_get(table[c])->takes & both) == both)
          ck_assert_msg(laze_dtype_get(table[c])->takes >> join & 1, "%s, %s: %s beside %s", laze_dtype_name(table[a]),
                        laze_dtype_name(table[b]), laze_dtype_name(join), laze_dtype_name(table[c]));
    }
  ck_assert_int_eq(laze_dtype_join(LAZE_I64, LAZE_F32), LAZE_F32);
  ck_assert_int_eq(laze_dtype_join(LAZE_U8, LAZE_I8), LAZE_I16);
  ck_assert_int_eq(laze_dtype_join(LAZE_F16, LAZE_BF16), LAZE_F32);
  ck_assert_int_eq(laze_dtype_join(LAZE_F64, LAZE_C64), LAZE_C128);
  ck_assert_int_eq(laze_dtype_join(LAZE_I64, LAZE_C64), LAZE_C64);
  ck_assert_int_eq(laze_dtype_join(LAZE_DTYPE_NONE, LAZE_BOOL), LAZE_BOOL);
  ck_assert_int_eq(laze_dtype_join(LAZE_F64, LAZE_DTYPE_NONE), LAZE_F64);
}
END_TEST

/* Functions of floats compute on the bits of an integer beside them; a dtype of another width would be cut short. */
START_TEST(a_width_finds_its_row) {
  ck_assert_int_eq(laze_dtype_of_width(LAZE_KIND_SIGNED, 32), LAZE_I32);
  ck_assert_int_eq(laze_dtype_of_width(LAZE_KIND_FLOAT, 64), LAZE_F64);
  ck_assert_int_eq(laze_dtype_of_width(LAZE_KIND_FLOAT, 8), LAZE_DTYPE_NONE);
}
END_TEST

/* What indexing takes is what its message offers. */
START_TEST(positions_are_integers_that_hold_them) {
  ck_assert(laze_dtype_is_index(LAZE_I32) && laze_dtype_is_index(LAZE_I64));
  ck_assert(!laze_dtype_is_index(LAZE_I8) && !laze_dtype_is_index(LAZE_U8) && !laze_dtype_is_index(LAZE_U64));
  ck_assert(!laze_dtype_is_index(LAZE_BOOL) && !laze_dtype_is_index(LAZE_F64) && !laze_dtype_is_index(LAZE_DTYPE_NONE));
  ck_assert_str_eq(laze_dtype_list(laze_dtype_index_set(), LAZE_NAME_SHORT, " or ").text, "i32 or i64");
}
END_TEST

/* Messages offer these lists as what to write. */
START_TEST(lists_name_what_there_is) {
  uint32_t two = LAZE_DTYPE_BIT(I32) | LAZE_DTYPE_BIT(F64), none = UINT32_C(1) << 0;
  ck_assert_str_eq(laze_dtype_list(two | none, LAZE_NAME_SHORT, " or ").text, "i32 or f64");
  ck_assert_str_eq(laze_dtype_list(LAZE_DTYPE_ALL, LAZE_NAME_SHORT, ", ").text,
                   "bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, c64, c128");
  ck_assert_str_eq(laze_dtype_list(LAZE_DTYPE_ALL, LAZE_NAME_NUMPY, " or ").text,
                   "|b1, |i1, <i2, <i4, <i8, |u1, <u2, <u4, <u8, <f2, <f4, <f8, <c8 or <c16");
  ck_assert_str_eq(laze_dtype_list(LAZE_DTYPE_ALL, LAZE_NAME_TORCH, " or ").text,
                   "bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, "
                   "float64, complex64 or "
                   "complex128");
  ck_assert_str_eq(laze_dtype_list(laze_dtype_set(LAZE_CATEGORY_FLOAT), LAZE_NAME_SHORT, " or ").text,
                   "f16, bf16, f32 or f64");
  ck_assert_str_eq(laze_dtype_list(0, LAZE_NAME_SHORT, " or ").text, "");
  /* clang-format off */
  ck_assert_str_eq(
      laze_dtype_constants(),
      "LAZE_BOOL, LAZE_U8, LAZE_I8, LAZE_I16, LAZE_I32, LAZE_I64, "
      "LAZE_U16, LAZE_U32, LAZE_U64, LAZE_F16, LAZE_BF16, LAZE_F32, LAZE_F64, LAZE_C64, LAZE_C128");
  /* clang-format on */
}
END_TEST

/* Text keeps a NaN's bits, and tells it from infinity by them. */
START_TEST(bits_of_floats_follow_from_the_row) {
  ck_assert_uint_eq(laze_dtype_infinity_bits(LAZE_F32), 0x7f800000u);
  ck_assert_uint_eq(laze_dtype_infinity_bits(LAZE_F64), UINT64_C(0x7ff0000000000000));
  ck_assert_uint_eq(laze_dtype_nan_bits(LAZE_F32), 0x7fc00000u);
  ck_assert_uint_eq(laze_dtype_nan_bits(LAZE_F64), UINT64_C(0x7ff8000000000000));
  ck_assert_int_eq(laze_dtype_exponent_bias(LAZE_F32), 127);
  ck_assert_int_eq(laze_dtype_exponent_bias(LAZE_F64), 1023);
  ck_assert(laze_dtype_is_nan(LAZE_F32, 0xff800001u) && !laze_dtype_is_nan(LAZE_F32, 0xff800000u));
}
END_TEST

/* C leaves conversions out of range undefined; here each has one answer. */
START_TEST(conversions_out_of_range) {
  static const struct {
    double value;
    int64_t as32, as64;
  } cases[] = {
      {NAN, INT32_MIN, INT64_MIN},
      {INFINITY, INT32_MIN, INT64_MIN},
      {-INFINITY, INT32_MIN, INT64_MIN},
      {2147483648.0, INT32_MIN, 2147483648},
      {2147483647.5, 2147483647, 2147483647},
      {-2147483648.9, -2147483648LL, -2147483648LL},
      {-2147483649.0, INT32_MIN, -2147483649LL},
      {9223372036854775808.0, INT32_MIN, INT64_MIN},
      {-1.9, -1, -1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ck_assert_int_eq(laze_convert_to_integer(cases[i].value, LAZE_I32), cases[i].as32);
    ck_assert_int_eq(laze_convert_to_integer(cases[i].value, LAZE_I64), cases[i].as64);
  }
}
END_TEST

/* What an i32 holds wraps in a narrower integer, as an i32 itself does: had each its own range, NaN would be -128 in i8
 * and -32768 in i16, and a value would depend on whether it went by way of an i32. */
START_TEST(narrow_integers_have_the_low_bits_of_i32) {
  static const double values[] = {NAN, INFINITY, -1.9, 300.7, -300, 2147483647.5, 2147483648.0, -2147483649.0, 1e19};
  static const laze_dtype narrow[] = {LAZE_I8, LAZE_I16, LAZE_U8, LAZE_U16};
  for (size_t d = 0; d < sizeof narrow / sizeof *narrow; d++)
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
      int64_t direct = 0, by_i32 = 0;
      int32_t wide;
      laze_scalar_store(laze_scalar_real(values[i]), narrow[d], &direct, 0);
      laze_scalar_store(laze_scalar_real(values[i]), LAZE_I32, &wide, 0);
      laze_scalar_store(laze_scalar_integer(wide), narrow[d], &by_i32, 0);
      ck_assert_int_eq(direct, by_i32);
    }
}
END_TEST

/* A complex number is two floats: what reads one, or writes it as what has no imaginary part, must not mix them up. */
START_TEST(complex_numbers_are_pairs) {
  float single[2];
  double twice[2] = {-0.0, 2.5}, real;
  int32_t integer;
  uint8_t truth;
  laze_scalar_store(laze_scalar_complex(1.25, -3), LAZE_C64, single, 0);
  ck_assert(single[0] == 1.25f && single[1] == -3);
  laze_scalar loaded = laze_scalar_load(LAZE_C128, twice, 0);
  ck_assert(loaded.dtype == LAZE_C128 && signbit(loaded.value.real) && loaded.imaginary == 2.5);
  laze_scalar_store(laze_scalar_integer(7), LAZE_C128, twice, 0);
  ck_assert(twice[0] == 7 && twice[1] == 0);
  laze_scalar_store(laze_scalar_complex(INFINITY, NAN), LAZE_C128, twice, 0); /* no product with i on the way */
  ck_assert(isinf(twice[0]) && isnan(twice[1]));
  laze_scalar_store(laze_scalar_complex(0, 4), LAZE_F64, &real, 0);
  laze_scalar_store(laze_scalar_complex(-1.9, 4), LAZE_I32, &integer, 0);
  laze_scalar_store(laze_scalar_complex(0, 4), LAZE_BOOL, &truth, 0);
  ck_assert(real == 0 && integer == -1 && truth == 1);
  ck_assert_int_eq(laze_dtype_part(LAZE_C64), LAZE_F32);
  ck_assert_int_eq(laze_dtype_part(LAZE_I8), LAZE_I8);
  ck_assert_int_eq(laze_dtype_paired(LAZE_F64), LAZE_C128);
  ck_assert_int_eq(laze_dtype_paired(LAZE_BOOL), LAZE_C64);
}
END_TEST

/* u64 has numbers beyond i64 and f64's digits: a scalar that could not carry them would lose bits in every door. What
 * is out of its range is as x86-64 and PyTorch have it. */
START_TEST(u64_goes_beyond_i64) {
  static const struct {
    double value;
    uint64_t expected;
  } cases[] = {{0x1p63, UINT64_C(1) << 63},
               {0x1.fffffffffffffp63, UINT64_MAX - 2047},
               {0x1p64, 0},
               {INFINITY, 0},
               {-1.5, UINT64_MAX},
               {-0x1p70, UINT64_C(1) << 63},
               {NAN, UINT64_C(1) << 63}};
  uint64_t element;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    laze_scalar_store(laze_scalar_real(cases[i].value), LAZE_U64, &element, 0);
    ck_assert_msg(element == cases[i].expected, "%g gives %llu", cases[i].value, (unsigned long long)element);
  }
  const laze_scalar most = laze_dtype_highest(LAZE_U64);
  float real;
  laze_scalar_store(most, LAZE_F32, &real, 0);
  ck_assert(most.dtype == LAZE_U64 && real == 0x1p64f && laze_scalar_as_real(most) == 0x1p64);
  ck_assert(laze_scalar_unsigned(INT64_MAX).dtype == LAZE_I64);
  ck_assert(laze_dtype_holds_integer(LAZE_U64, most) && !laze_dtype_holds_integer(LAZE_I64, most));
  ck_assert(!laze_dtype_holds_integer(LAZE_U64, laze_scalar_integer(-1)));
  ck_assert(laze_dtype_holds_integer(LAZE_U16, laze_scalar_integer(65535)));
  ck_assert(!laze_dtype_holds_integer(LAZE_U16, laze_scalar_integer(65536)));
}
END_TEST

START_TEST(integers_are_read_up_to_u64) {
  laze_scalar number;
  char *end;
  ck_assert(laze_scalar_read_integer("18446744073709551615,", &end, &number) && *end == ',');
  ck_assert(number.dtype == LAZE_U64 && number.value.integer == -1);
  ck_assert(laze_scalar_read_integer("-9223372036854775808", &end, &number) && number.value.integer == INT64_MIN);
  ck_assert(!laze_scalar_read_integer("18446744073709551616", &end, &number));
  ck_assert(!laze_scalar_read_integer("-9223372036854775809", &end, &number));
}
END_TEST

static double half_of(laze_dtype dtype, int bits) {
  uint16_t element = (uint16_t)bits;
  return laze_scalar_load(dtype, &element, 0).value.real;
}

static int half_nearest(laze_dtype dtype, double value) {
  uint16_t element;
  laze_scalar_store(laze_scalar_real(value), dtype, &element, 0);
  return element;
}

/* All floats of 16 bits come back as they are, NaNs as NaNs; between two of them the nearer one is taken, in the middle
 * the even one, and beyond the largest an infinity: a rounding that is off shows in no other test but by one unit. */
START_TEST(floats_of_16_bits_round_to_nearest) {
  static const laze_dtype halves[] = {LAZE_F16, LAZE_BF16};
  for (int d = 0; d < 2; d++)
    for (int sign = 0; sign < 2; sign++) {
      const int infinity = (int)laze_dtype_infinity_bits(halves[d]), first = sign << 15;
      for (int bits = 0; bits < 1 << 15; bits++) {
        double value = half_of(halves[d], first | bits);
        bool right = isnan(value) == (bits > infinity);
        if (!isnan(value)) right = right && half_nearest(halves[d], value) == (first | bits);
        if (!right) ck_abort_msg("%s: 0x%04x does not come back", laze_dtype_name(halves[d]), (unsigned)(first | bits));
        if (isnan(value) || bits >= infinity - 1) continue;
        double next = half_of(halves[d], first | (bits + 1));
        float middle = (float)((value + next) / 2); /* exact */
        right = half_nearest(halves[d], (double)middle) == (first | (bits + (bits & 1))) &&
                half_nearest(halves[d], (double)nextafterf(middle, (float)value)) == (first | bits) &&
                half_nearest(halves[d], (double)nextafterf(middle, (float)next)) == (first | (bits + 1));
        if (!right) ck_abort_msg("%s: beside %.17g", laze_dtype_name(halves[d]), (double)middle);
      }
    }
  ck_assert_int_eq(half_nearest(LAZE_F16, 65519.996), 0x7bff);
  ck_assert_int_eq(half_nearest(LAZE_F16, 65520), 0x7c00);
}
END_TEST

/* An i64 scalar stored as f32 rounds once: through double it would round twice. */
START_TEST(integers_round_once) {
  int64_t value = (INT64_C(1) << 60) + (INT64_C(1) << 36) + 1; /* just above the middle of two floats */
  float stored;
  laze_scalar_store(laze_scalar_integer(value), LAZE_F32, &stored, 0);
  ck_assert(stored == (float)value);
  ck_assert(stored != (float)(double)value);
}
END_TEST

int main(void) {
  return RUN_SUITE("dtype", names_round_trip, rows_agree_with_themselves, promotion_is_that_of_pytorch,
                   promotion_is_a_lattice, u64_goes_beyond_i64, integers_are_read_up_to_u64, a_width_finds_its_row,
                   positions_are_integers_that_hold_them, lists_name_what_there_is, bits_of_floats_follow_from_the_row,
                   conversions_out_of_range, narrow_integers_have_the_low_bits_of_i32, integers_round_once,
                   complex_numbers_are_pairs, floats_of_16_bits_round_to_nearest);
}

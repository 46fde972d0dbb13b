#include "ir/attribute.h"

#include "tests/unit/ir/ir_test.h"

static bool same_hash(laze_attribute a, laze_attribute b) {
  laze_hash seed = {1, 2};
  return laze_hash_equal(laze_attribute_hash(&a, seed), laze_attribute_hash(&b, seed));
}

static void assert_differ(laze_attribute a, laze_attribute b) {
  ck_assert(laze_attribute_equal(&a, &a));
  ck_assert(same_hash(a, a));
  ck_assert(!laze_attribute_equal(&a, &b));
  ck_assert(!same_hash(a, b));
}

/* Attributes compare by bits: 0.0 is not -0.0, an absent list is not an empty one, and 1 is not true. */
START_TEST(attributes_differ_by_bits) {
  laze_size two[] = {1, 2}, other[] = {1, 3};
  laze_attribute zero = {.kind = LAZE_ARGUMENT_FLOAT, .present = true}, minus = zero;
  minus.value.real = -0.0;
  assert_differ(zero, minus);
  assert_differ(laze_attribute_integers(two, 2), laze_attribute_integers(other, 2));
  assert_differ(laze_attribute_integers(two, 2), laze_attribute_integers(two, 1));
  assert_differ(laze_attribute_integers(NULL, 0), laze_attribute_absent(LAZE_ARGUMENT_INT_LIST));
  assert_differ(laze_attribute_integers(two, 2), laze_attribute_sizes(two, 2));
  assert_differ(laze_attribute_integer(1), laze_attribute_boolean(true));
  laze_attribute one = {.kind = LAZE_ARGUMENT_LITERAL, .present = true, .value.literal = laze_scalar_integer(1)};
  laze_attribute truth = one;
  truth.value.literal = laze_scalar_boolean(1);
  assert_differ(one, truth);
  laze_attribute data = {.kind = LAZE_ARGUMENT_DATA, .present = true, .value.data = laze_data_of("abcd", 4)},
                 changed = data;
  changed.value.data.bytes = "abce";
  assert_differ(data, changed);
  changed.value.data = laze_data_of("abcd", 3);
  assert_differ(data, changed);
  const double reals[] = {0.5, 2}, others[] = {0.5, -0.0};
  assert_differ(laze_attribute_reals(reals, 2), laze_attribute_reals(reals, 1));
  assert_differ(laze_attribute_reals(reals, 2), laze_attribute_reals(others, 2));
  assert_differ(laze_attribute_reals(NULL, 0), laze_attribute_absent(LAZE_ARGUMENT_FLOAT_LIST));
  assert_differ(laze_attribute_strings("a\0b", 2), laze_attribute_strings("a\0c", 2));
  assert_differ(laze_attribute_strings("ab\0", 2), laze_attribute_strings("a\0b", 2));
  assert_differ(laze_attribute_strings("", 1), laze_attribute_strings(NULL, 0));
  laze_attribute text = {.kind = LAZE_ARGUMENT_STRING, .present = true, .value.string = "a"}, longer = text;
  longer.value.string = "ab";
  assert_differ(text, longer);
}
END_TEST

START_TEST(equal_attributes_have_equal_hashes) {
  char first[] = "mode", second[] = "mode";
  laze_size a[] = {4, -1}, b[] = {4, -1};
  laze_attribute x = laze_attribute_sizes(a, 2), y = laze_attribute_sizes(b, 2);
  ck_assert(laze_attribute_equal(&x, &y) && same_hash(x, y));
  laze_attribute s = {.kind = LAZE_ARGUMENT_STRING, .present = true, .value.string = first}, t = s;
  t.value.string = second;
  ck_assert(laze_attribute_equal(&s, &t) && same_hash(s, t));
}
END_TEST

static const laze_size few[] = {3, -1, 5};
static const double weights[] = {0.5, -0.0, 3};

/* One attribute of each kind, and an absent one. */
static int all_kinds(laze_attribute out[24]) {
  int count = 0;
  out[count++] = laze_attribute_integer(-7);
  out[count++] = (laze_attribute){.kind = LAZE_ARGUMENT_SIZE, .present = true, .value.size = 12};
  out[count++] = laze_attribute_real(-0.0);
  out[count++] = laze_attribute_boolean(true);
  out[count++] = laze_attribute_dtype(LAZE_F64);
  out[count++] = laze_attribute_string("8 bytes.");
  out[count++] = laze_attribute_string("");
  out[count++] = laze_attribute_integers(few, 3);
  out[count++] = laze_attribute_sizes(few, 2);
  out[count++] = laze_attribute_sizes(NULL, 0);
  out[count++] = laze_attribute_reals(weights, 3);
  out[count++] = laze_attribute_strings("one\0\0three", 3);
  out[count++] = laze_attribute_strings(NULL, 0);
  out[count++] = laze_attribute_literal(laze_scalar_boolean(1));
  out[count++] =
      (laze_attribute){.kind = LAZE_ARGUMENT_DATA, .present = true, .value.data = laze_data_of("elements!", 9)};
  out[count++] = (laze_attribute){.kind = LAZE_ARGUMENT_DATA, .present = true};
  out[count++] = laze_attribute_absent(LAZE_ARGUMENT_STRING);
  return count;
}

/* Traces compare words in place of attributes: what a word leaves out would let two calls share a program. They are
 * no more than the attribute and what it refers to take in a node, by which traces make room for them. */
START_TEST(words_say_all_of_an_attribute) {
  laze_attribute kinds[24];
  int count = all_kinds(kinds);
  for (int i = 0; i < count; i++) {
    uint64_t words[8] = {0};
    laze_attribute read;
    int64_t room = ((int64_t)sizeof *kinds + laze_attribute_payload_bytes(&kinds[i]) + 7) / 8;
    const uint64_t *end = laze_attribute_write(&kinds[i], words);
    ck_assert_msg(end > words && end - words <= room, "kind %d", kinds[i].kind);
    ck_assert_ptr_eq(laze_attribute_read(words, &read), end);
    ck_assert_msg(laze_attribute_equal(&read, &kinds[i]), "kind %d", kinds[i].kind);
  }
}
END_TEST

/* A node outlives the caller's lists and strings: its copy refers to memory of its own. */
START_TEST(payload_moves_with_a_copy) {
  laze_attribute kinds[24];
  int count = all_kinds(kinds);
  for (int i = 0; i < count; i++) {
    uint64_t memory[4];
    laze_attribute copy = kinds[i];
    ck_assert(laze_attribute_payload_bytes(&copy) <= (int64_t)sizeof memory);
    laze_attribute_copy_payload(&copy, memory);
    ck_assert_msg(laze_attribute_equal(&copy, &kinds[i]), "kind %d", kinds[i].kind);
    if (laze_attribute_payload_bytes(&copy) == 0) continue;
    memset(memory, 'x', sizeof memory);
    memset((char *)memory + sizeof memory - 3, 0, 3); /* a list of three strings ends here as well */
    ck_assert_msg(!laze_attribute_equal(&copy, &kinds[i]), "kind %d", kinds[i].kind);
  }
}
END_TEST

/* Rewrites change sizes in place, and must not reach those of the graph that they read. */
START_TEST(owned_sizes_are_apart) {
  laze_arena arena;
  laze_arena_init(&arena, context);
  laze_attribute kinds[24];
  int count = all_kinds(kinds), changed = 0;
  for (int i = 0; i < count; i++) {
    laze_attribute copy = kinds[i];
    laze_size *sizes;
    int32_t size_count;
    ck_assert(laze_attribute_own_sizes(&copy, &arena, &sizes, &size_count, NULL) == LAZE_OK);
    for (int32_t k = 0; k < size_count; k++) sizes[k] = 99;
    ck_assert(laze_attribute_equal(&copy, &kinds[i]) == (size_count == 0));
    changed += size_count;
  }
  ck_assert_int_eq(changed, 3); /* one, and a list of two */
  ck_assert_int_eq(few[0], 3);
  laze_arena_deinit(&arena);
}
END_TEST

static void add_tests(TCase *tests) {
  tcase_add_test(tests, attributes_differ_by_bits);
  tcase_add_test(tests, equal_attributes_have_equal_hashes);
  tcase_add_test(tests, words_say_all_of_an_attribute);
  tcase_add_test(tests, payload_moves_with_a_copy);
  tcase_add_test(tests, owned_sizes_are_apart);
}

int main(void) {
  return run_suite("attribute", add_tests);
}

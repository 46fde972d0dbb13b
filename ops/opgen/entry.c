/* Reads one entry of a table, key by key: one reader a key, and which classes have it (the list at the end). */
#include "ops/opgen/table.h"

#include "ops/opgen/allocate.h"
#include "ops/opgen/report.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define BIT(class_value) (1u << (class_value))
#define PRIMITIVES (BIT(CLASS_CONTROL) - 2u) /* all but composites, control and structure */
#define EVERY_CLASS (BIT(CLASS_COUNT) - 1u)
/* Those that join states by an elementwise operator. */
#define COMBINING (BIT(CLASS_REDUCTION) | BIT(CLASS_SCAN))
/* Those with a function of their own in the interpreter: not where one for the class takes the operator as data. */
#define INTERPRETED (EVERY_CLASS & ~(BIT(CLASS_COMPOSITE) | BIT(CLASS_ELEMENTWISE) | COMBINING | BIT(CLASS_STRUCTURE)))

/* Those whose operators join kernels in ways of their own. */
#define JOINED (BIT(CLASS_MOVEMENT) | BIT(CLASS_INDEXING) | BIT(CLASS_PRODUCT) | BIT(CLASS_CREATION))

typedef void (*key_reader)(gen_table *table, gen_operator *op, const gen_tree *value);

static gen_place place_of(const gen_operator *op, const gen_tree *value) {
  return (gen_place){op->at.file, value->line, op->at.name};
}

/* The text of a scalar; "" with an error when it is none. */
static const char *text_of(gen_table *table, const gen_operator *op, const char *key, const gen_tree *value) {
  if (value->form == TREE_SCALAR && *value->text != '\0') return value->text;
  report_error(&table->report, place_of(op, value), "\"%s\" must be a word or text, no list or map", key);
  return "";
}

static bool flag_of(gen_table *table, const gen_operator *op, const char *key, const gen_tree *value) {
  const char *text = text_of(table, op, key, value);
  if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0 && *text != '\0')
    report_error(&table->report, place_of(op, value), "\"%s\" is true or false, not \"%s\"", key, text);
  return strcmp(text, "true") == 0;
}

static double number_of(gen_table *table, const gen_operator *op, const char *key, const gen_tree *value) {
  const char *text = text_of(table, op, key, value);
  char *end;
  const double number = strtod(text, &end);
  if (*text != '\0' && *end != '\0')
    report_error(&table->report, place_of(op, value), "\"%s\" is a number, not \"%s\"", key, text);
  return number;
}

/* Looks `text` up in a NULL-terminated list of words and returns it in upper case. */
static const char *word_of(gen_table *table, const gen_operator *op, const gen_tree *value, const char *const *words) {
  const char *text = text_of(table, op, words[0], value), *all = "";
  for (int i = 1; words[i] != NULL; i++) {
    all = memory_format("%s %s", all, words[i]);
    if (strcmp(words[i], text) != 0) continue;
    char *copy = memory_copy(text, strlen(text));
    for (char *c = copy; *c != '\0'; c++) *c = (char)toupper((unsigned char)*c);
    return copy;
  }
  if (*text != '\0')
    report_error(&table->report, place_of(op, value), "\"%s: %s\" is unknown; write one of:%s", words[0], text, all);
  return NULL;
}

static void read_nothing(gen_table *table, gen_operator *op, const gen_tree *value) {
  (void)table, (void)op, (void)value; /* `func` and `class` were read first */
}

static void read_compute(gen_table *table, gen_operator *op, const gen_tree *value) {
  const char *text = text_of(table, op, "compute", value);
  if (op->op_class == CLASS_COMPOSITE) {
    op->keeps_dtype = strcmp(text, "dtype") == 0;
    if (!op->keeps_dtype)
      report_error(&table->report, place_of(op, value),
                   "\"compute: %s\" of a composite is unknown; write dtype, or leave it out", text);
    return;
  }
  const gen_compute compute = compute_find(text);
  if (compute != COMPUTE_COUNT)
    op->compute = compute;
  else if (*text != '\0')
    report_error(&table->report, place_of(op, value),
                 "\"compute: %s\" is unknown; write one of: promote float compare logical select convert bits part "
                 "pair",
                 text);
}

static gen_expression *expression_of(gen_table *table, gen_operator *op, const char *key, const gen_tree *value) {
  const char *text = text_of(table, op, key, value);
  const gen_place at = {op->at.file, value->text_line, op->at.name};
  return *text == '\0' ? NULL : expression_parse(text, at, &table->report);
}

/* One rule for all results, or a list with one for each. */
static gen_rule_call *read_rules(gen_table *table, gen_operator *op, const char *key, const gen_tree *value,
                                 int *count) {
  gen_rule_call *rules = NULL;
  const bool list = value->form == TREE_LIST;
  for (int i = 0; i < (list ? value->count : 1); i++) {
    rules = memory_grow(rules, *count, sizeof(*rules));
    rules[(*count)++].call = expression_of(table, op, key, list ? value->items[i] : value);
  }
  return rules;
}

static void read_shape(gen_table *table, gen_operator *op, const gen_tree *value) {
  op->shapes = read_rules(table, op, "shape", value, &op->shape_count);
}

static void read_dtype(gen_table *table, gen_operator *op, const gen_tree *value) {
  op->dtype_rules = read_rules(table, op, "dtype", value, &op->dtype_count);
}

static void read_eval(gen_table *table, gen_operator *op, const gen_tree *value) {
  if (value->form != TREE_MAP) {
    report_error(&table->report, place_of(op, value),
                 "\"eval\" is a map: {float: ..., int: ..., bool: ...} or {all: ...}");
    return;
  }
  for (int i = 0; i < value->count; i++) {
    const char *key = value->keys[i]->text;
    bool known = false;
    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++) {
      const bool every = strcmp(key, "all") == 0 && dtype_infos[dtype].kind != LAZE_KIND_COMPLEX;
      if (!every && strcmp(key, dtype_infos[dtype].eval_kind) != 0) continue;
      if (dtype_infos[dtype].is_half) continue; /* computed as f32 */
      known = true;
      op->evals[dtype] = text_of(table, op, key, value->items[i]);
      op->eval_lines[dtype] = value->items[i]->text_line;
      op->dtypes |= 1u << dtype;
    }
    if (!known)
      report_error(&table->report, place_of(op, value->keys[i]),
                   "\"eval\" has no kind \"%s\"; write float, int, bool, complex or all", key);
  }
}

static void read_lower(gen_table *table, gen_operator *op, const gen_tree *value) {
  op->lower = text_of(table, op, "lower", value);
  if (op->lower[strspn(op->lower, "abcdefghijklmnopqrstuvwxyz0123456789_")] != '\0')
    report_error(&table->report, place_of(op, value),
                 "\"lower: %s\" is no name; write the NAME of laze_lower_NAME or laze_join_NAME", op->lower);
}

static void read_infer(gen_table *table, gen_operator *op, const gen_tree *value) {
  op->infer = text_of(table, op, "infer", value);
}

static void read_interpret(gen_table *table, gen_operator *op, const gen_tree *value) {
  op->interpret = text_of(table, op, "interpret", value);
}

static void read_initial(gen_table *table, gen_operator *op, const gen_tree *value) {
  op->initial = word_of(table, op, value, (const char *const[]){"initial", "zero", "one", "lowest", "highest", NULL});
}

static void read_state(gen_table *table, gen_operator *op, const gen_tree *value) {
  op->state = word_of(table, op, value, (const char *const[]){"state", "result", "double", NULL});
}

static void read_composite(gen_table *table, gen_operator *op, const gen_tree *value) {
  const char *text = text_of(table, op, "composite", value);
  const gen_place at = {op->at.file, value->text_line, op->at.name};
  op->by_hand = strcmp(text, "c") == 0;
  if (!op->by_hand && *text != '\0') op->composite = program_parse(text, at, &table->report);
}

static void read_when(gen_table *table, gen_operator *op, const gen_tree *value) {
  op->when = expression_of(table, op, "when", value);
}

static void read_late(gen_table *table, gen_operator *op, const gen_tree *value) {
  op->late = flag_of(table, op, "late", value);
}

static void read_numbers(gen_table *table, gen_operator *op, const gen_tree *value) {
  op->takes_numbers = flag_of(table, op, "numbers", value);
}

static void read_literals(gen_table *table, gen_operator *op, const gen_tree *value) {
  if (value->form != TREE_LIST) {
    report_error(&table->report, place_of(op, value), "\"literals\" is a list of Scalar arguments: [name, ...]");
    return;
  }
  for (int i = 0; i < value->count; i++) {
    const int index = schema_find(&op->schema, value->items[i]->text);
    if (index >= 0 && op->schema.arguments[index].kind == KIND_SCALAR) {
      op->schema.arguments[index].kind = KIND_LITERAL;
    } else {
      report_error(&table->report, place_of(op, value->items[i]),
                   "\"literals\" names \"%s\", which is no Scalar argument; %s", value->items[i]->text,
                   index < 0 ? "write the name of one" : "only Scalars can be literals");
    }
  }
  schema_number(&op->schema);
}

static void read_regions(gen_table *table, gen_operator *op, const gen_tree *value) {
  op->regions = (int)number_of(table, op, "regions", value);
  if (op->regions < 1 || op->regions > 64)
    report_error(&table->report, place_of(op, value), "\"regions\" is a number from 1 to 64");
}

static void read_effect(gen_table *table, gen_operator *op, const gen_tree *value) {
  const char *effect = word_of(table, op, value, (const char *const[]){"effect", "may_fail", "ordered", NULL});
  if (effect != NULL) op->effect = effect;
}

static void read_skipped(gen_table *table, const gen_operator *op, const gen_tree *value, gen_test *test) {
  for (int i = 0; i < value->count; i++) {
    const int dtype = dtype_find(value->items[i]->text);
    if (dtype >= 0)
      test->skipped |= 1u << dtype;
    else
      report_error(&table->report, place_of(op, value), "\"%s\" is no dtype; write %s", value->items[i]->text,
                   dtype_names());
  }
  if (value->form != TREE_LIST)
    report_error(&table->report, place_of(op, value), "\"skip_dtypes\" is a list: [i64, bool]");
}

static void read_domain(gen_table *table, const gen_operator *op, const gen_tree *value, gen_test *test) {
  const bool is_pair = value->form == TREE_LIST && value->count == 2;
  if (is_pair) {
    test->low = number_of(table, op, "domain", value->items[0]);
    test->high = number_of(table, op, "domain", value->items[1]);
  }
  if (!is_pair || !(test->low < test->high))
    report_error(&table->report, place_of(op, value), "\"domain\" is two numbers, the lower first: [-4, 4]");
}

static void read_test(gen_table *table, gen_operator *op, const gen_tree *value) {
  gen_test *test = memory_take(sizeof(*test));
  *test = (gen_test){.low = -4, .high = 4, .line = value->line};
  for (int i = 0; value->form == TREE_MAP && i < value->count; i++) {
    const char *key = value->keys[i]->text;
    const gen_tree *item = value->items[i];
    if (strcmp(key, "exact") == 0)
      test->exact = flag_of(table, op, key, item);
    else if (strcmp(key, "recorded") == 0)
      test->recorded = flag_of(table, op, key, item);
    else if (strcmp(key, "cancels") == 0)
      test->cancels = flag_of(table, op, key, item);
    else if (strcmp(key, "ulp") == 0)
      test->ulp = number_of(table, op, key, item);
    else if (strcmp(key, "domain") == 0)
      read_domain(table, op, item, test);
    else if (strcmp(key, "skip_dtypes") == 0)
      read_skipped(table, op, item, test);
    else if (strcmp(key, "why") != 0)
      report_error(&table->report, place_of(op, value->keys[i]),
                   "\"test\" has no key \"%s\"; write exact, ulp, domain, recorded, cancels, skip_dtypes or why", key);
  }
  if (value->form != TREE_MAP || (!test->exact && !(test->ulp > 0)))
    report_error(&table->report, place_of(op, value),
                 "\"test\" says how near results must be: {exact: true} or {ulp: 2}");
  else if (test->exact && test->ulp > 0)
    report_error(&table->report, place_of(op, value), "\"test\" has both exact and ulp; keep one of them");
  if (test->skipped != 0 && tree_get(value, "why") == NULL)
    report_error(&table->report, place_of(op, value), "\"skip_dtypes\" without a reason; add why: \"...\"");
  op->test = test;
}

static void read_doc(gen_table *table, gen_operator *op, const gen_tree *value) {
  op->doc = text_of(table, op, "doc", value);
  if (strstr(op->doc, "*/") != NULL) report_error(&table->report, place_of(op, value), "\"doc\" must not hold \"*/\"");
}

/* "function, method", as in PyTorch's tables. Every operator is a function here. */
static void read_variants(gen_table *table, gen_operator *op, const gen_tree *value) {
  const char *text = text_of(table, op, "variants", value);
  const bool is_method = strcmp(text, "function, method") == 0 || strcmp(text, "method") == 0;
  if (!is_method && strcmp(text, "function") != 0 && *text != '\0')
    report_error(&table->report, place_of(op, value),
                 "\"variants: %s\" is unknown; write function, method or \"function, method\"", text);
  const int self = schema_find(&op->schema, "self");
  if (is_method && (self < 0 || op->schema.arguments[self].kind != KIND_TENSOR))
    report_error(&table->report, place_of(op, value),
                 "a method is called on its argument \"self\", a Tensor, which the schema lacks; drop \"variants\"");
  op->is_method = is_method;
  op->is_named = true;
}

/* `true`: the name follows from the operator's. Or that name. */
static void read_in_place(gen_table *table, gen_operator *op, const gen_tree *value) {
  const gen_schema *schema = &op->schema;
  const char *text = text_of(table, op, "in_place", value), *dot = *schema->overload == '\0' ? "" : ".";
  const gen_argument *target = schema->count > 0 ? &schema->arguments[operator_target(op)] : NULL;
  const bool regular = strcmp(text, "true") == 0;
  const char *name = regular ? memory_format("%s_%s%s", schema->base, dot, schema->overload) : text;
  const size_t base = strcspn(name, ".");
  op->in_place = NULL;
  if (*text == '\0') return;
  if (base < 2 || name[base - 1] != '_')
    report_error(&table->report, place_of(op, value),
                 "\"in_place: %s\" is neither true nor the name of a form, such as add_.Tensor", text);
  else if (target == NULL || target->kind != KIND_TENSOR || target->optional || schema->result_count != 1)
    report_error(
        &table->report, place_of(op, value),
        "a form in place gives a Tensor, \"self\" or the first argument, the only result; this operator has %s: "
        "drop \"in_place\"",
        schema->result_count != 1 ? "others" : "no such argument");
  else
    op->in_place = name;
}

/* What `c` lists: arguments, for which `set` is called. */
static void read_named(gen_table *table, gen_operator *op, const char *key, const gen_tree *value,
                       const char *(*set)(gen_argument *argument)) {
  if (value->form != TREE_LIST) {
    report_error(&table->report, place_of(op, value), "\"c: {%s}\" is a list of arguments: [name, ...]", key);
    return;
  }
  for (int i = 0; i < value->count; i++) {
    const int index = schema_find(&op->schema, value->items[i]->text);
    const char *wrong = index < 0 ? "is no argument; write the name of one" : set(&op->schema.arguments[index]);
    if (wrong != NULL)
      report_error(&table->report, place_of(op, value->items[i]), "\"c: {%s}\" names \"%s\", which %s", key,
                   value->items[i]->text, wrong);
  }
}

static const char *set_positional(gen_argument *argument) {
  if (!argument->has_default) return "has no default and is positional anyway; drop it";
  argument->is_further = false;
  return NULL;
}

static const char *set_integer(gen_argument *argument) {
  if (argument->kind != KIND_SCALAR || argument->has_default || argument->optional)
    return "is no Scalar that has to be given; only those can be written as integers";
  argument->as_integer = true;
  return NULL;
}

static void read_c(gen_table *table, gen_operator *op, const gen_tree *value) {
  for (int i = 0; value->form == TREE_MAP && i < value->count; i++) {
    const char *key = value->keys[i]->text;
    if (strcmp(key, "name") == 0) {
      op->c_name = text_of(table, op, key, value->items[i]);
      if (strcmp(op->c_name, "none") == 0) op->c_name = NULL;
    } else if (strcmp(key, "positional") == 0) {
      for (int k = 0; k < op->schema.count; k++)
        op->schema.arguments[k].is_further = op->schema.arguments[k].has_default;
      read_named(table, op, key, value->items[i], set_positional);
    } else if (strcmp(key, "integers") == 0) {
      read_named(table, op, key, value->items[i], set_integer);
    } else {
      report_error(&table->report, place_of(op, value->keys[i]),
                   "\"c\" has no key \"%s\"; write name, positional or integers", key);
    }
  }
  if (value->form != TREE_MAP)
    report_error(&table->report, place_of(op, value), "\"c\" is a map: {name: sum_dim, positional: [dim, keepdim]}");
}

static void read_contents(gen_table *table, gen_operator *op, const gen_tree *value) {
  op->contents = text_of(table, op, "contents", value);
}

static void read_defines(gen_table *table, gen_operator *op, const gen_tree *value) {
  const int argument = schema_find(&op->schema, text_of(table, op, "defines", value));
  if (argument >= 0 &&
      (op->schema.arguments[argument].kind == KIND_SIZE || op->schema.arguments[argument].kind == KIND_SIZE_LIST))
    op->defines = argument + 1;
  else
    report_error(&table->report, place_of(op, value),
                 "\"defines\" names an argument that is a SymInt, or a list of these");
}

/* Where an operator of that name exists is known when all of them are. */
static void read_complex(gen_table *table, gen_operator *op, const gen_tree *value) {
  const char *text = text_of(table, op, "complex", value);
  op->complex = strcmp(text, "moves") == 0     ? COMPLEX_MOVED
                : strcmp(text, "parts") == 0   ? COMPLEX_PARTS
                : strcmp(text, "folds") == 0   ? COMPLEX_FOLDED
                : strcmp(text, "refused") == 0 ? COMPLEX_REFUSED
                                               : COMPLEX_OTHER;
}

static void read_combine(gen_table *table, gen_operator *op, const gen_tree *value) {
  (void)text_of(table, op, "combine", value); /* looked up when all operators are known */
}

static const struct {
  const char *name;
  unsigned classes;
  key_reader read;
} keys[] = {
    {"func", EVERY_CLASS, read_nothing},
    {"class", EVERY_CLASS, read_nothing},
    {"variants", EVERY_CLASS, read_variants},
    {"in_place", EVERY_CLASS, read_in_place},
    {"compute", BIT(CLASS_ELEMENTWISE) | BIT(CLASS_COMPOSITE), read_compute},
    {"shape", EVERY_CLASS, read_shape},
    {"dtype", EVERY_CLASS, read_dtype},
    {"eval", BIT(CLASS_ELEMENTWISE), read_eval},
    {"complex", EVERY_CLASS, read_complex},
    {"lower", BIT(CLASS_ELEMENTWISE) | JOINED | BIT(CLASS_LIBRARY) | BIT(CLASS_CONTROL), read_lower},
    {"infer", BIT(CLASS_CONTROL) | BIT(CLASS_LIBRARY), read_infer},
    {"interpret", INTERPRETED, read_interpret},
    {"combine", COMBINING, read_combine},
    {"initial", COMBINING, read_initial},
    {"state", BIT(CLASS_SCAN), read_state},
    {"composite", BIT(CLASS_COMPOSITE) | PRIMITIVES, read_composite},
    {"when", PRIMITIVES, read_when},
    {"late", BIT(CLASS_COMPOSITE), read_late},
    {"literals", EVERY_CLASS, read_literals},
    {"numbers", EVERY_CLASS, read_numbers},
    {"regions", BIT(CLASS_CONTROL), read_regions},
    {"defines", BIT(CLASS_STRUCTURE) | BIT(CLASS_CONTROL), read_defines},
    {"contents", PRIMITIVES, read_contents},
    {"effect", EVERY_CLASS, read_effect},
    {"c", EVERY_CLASS, read_c},
    {"test", BIT(CLASS_COMPOSITE) | PRIMITIVES, read_test},
    {"doc", EVERY_CLASS, read_doc},
};
#define KEY_COUNT (sizeof(keys) / sizeof(*keys))

bool entry_has(const gen_operator *op, const char *key) {
  return tree_get(op->entry, key) != NULL;
}

static void read_class(gen_table *table, gen_operator *op) {
  const gen_tree *value = tree_get(op->entry, "class");
  if (value == NULL) return;
  op->op_class = class_find(value->text);
  if (op->op_class != CLASS_COUNT) return;
  op->op_class = CLASS_COMPOSITE;
  report_error(&table->report, place_of(op, value),
               "class \"%s\" is unknown; write one of: elementwise reduction scan movement indexing product creation "
               "random library control structure, or leave it out for a composite",
               value->text);
}

static void read_key(gen_table *table, gen_operator *op, const gen_tree *key, const gen_tree *value) {
  const char *all = "";
  for (size_t k = 0; k < KEY_COUNT; k++) {
    if (keys[k].classes >> op->op_class & 1) all = memory_format("%s %s", all, keys[k].name);
    if (strcmp(keys[k].name, key->text) != 0) continue;
    if (keys[k].classes >> op->op_class & 1)
      keys[k].read(table, op, value);
    else
      report_error(&table->report, place_of(op, key), "class %s has no key \"%s\"; drop it or change the class",
                   class_name(op->op_class), key->text);
    return;
  }
  report_error(&table->report, place_of(op, key), "unknown key \"%s\"; class %s has:%s", key->text,
               class_name(op->op_class), all);
}

/* Where an entry does not say otherwise: the C function has the base name, and its parameters are what stands before
 * "*" in the schema, but for dtypes that may be left out. */
static void set_c_defaults(gen_operator *op) {
  op->c_name = op->schema.base;
  for (int i = 0; i < op->schema.count; i++) {
    gen_argument *argument = &op->schema.arguments[i];
    argument->is_further = argument->has_default && (argument->keyword_only || argument->kind == KIND_DTYPE);
  }
}

static void check_names(gen_table *table, const gen_operator *op) {
  if (schema_find(&op->schema, "out") >= 0)
    report_error(&table->report, op->at,
                 "an argument \"out\" is what every operator has for its results; drop it, or name it otherwise");
}

void entry_read(gen_table *table, gen_operator *op) {
  check_names(table, op);
  op->effect = "NONE";
  set_c_defaults(op);
  read_class(table, op);
  const bool looks = op->op_class == CLASS_REDUCTION || op->op_class == CLASS_SCAN || op->op_class == CLASS_PRODUCT ||
                     op->op_class == CLASS_INDEXING || op->op_class == CLASS_ELEMENTWISE;
  op->complex = looks ? COMPLEX_REFUSED : COMPLEX_MOVED;
  for (int i = 0; i < op->entry->count; i++) read_key(table, op, op->entry->keys[i], op->entry->items[i]);
}

/* What each class of operators must have, once all entries are known: keys, and that the functions written by hand
 * which entries name are declared in the headers they belong to. */
#include "ops/opgen/table.h"

#include "ops/opgen/allocate.h"
#include "ops/opgen/report.h"

#include <ctype.h>
#include <string.h>

/* What C itself gives an element's expression, besides operators: words, and the functions of <math.h>. */
static const char *const c_words[] = {
    "true",     "false", "bool",  "float", "double",    "int32_t", "int64_t",   "uint32_t", "uint64_t", "INFINITY",
    "NAN",      "acos",  "acosh", "asin",  "asinh",     "atan",    "atan2",     "atanh",    "cbrt",     "ceil",
    "copysign", "cos",   "cosh",  "erf",   "erfc",      "exp",     "exp2",      "expm1",    "fabs",     "fdim",
    "floor",    "fma",   "fmax",  "fmin",  "fmod",      "hypot",   "isfinite",  "isinf",    "isnan",    "lgamma",
    "log",      "log10", "log1p", "log2",  "nearbyint", "pow",     "remainder", "rint",     "round",    "signbit",
    "sin",      "sinh",  "sqrt",  "tan",   "tanh",      "tgamma",  "trunc",
};

static bool is_c_word(const char *name) {
  for (size_t i = 0; i < sizeof(c_words) / sizeof(*c_words); i++)
    if (strcmp(c_words[i], name) == 0) return true;
  return false;
}

static const char *meant(const char *name) {
  return name == NULL ? "" : memory_format("; did you mean \"%s\"?", name);
}

static const char *suggest_element(const gen_table *table, const char *name) {
  const char *best = known_suggest(&table->known, KNOWN_ELEMENT, name);
  int best_distance = best == NULL ? NEAR_WORDS + 1 : word_distance(name, best);
  for (size_t i = 0; i < sizeof(c_words) / sizeof(*c_words); i++) {
    const int found = word_distance(name, c_words[i]);
    if (found >= best_distance) continue;
    best_distance = found;
    best = c_words[i];
  }
  return best;
}

static void check_element(gen_table *table, const gen_operator *op, gen_place at, const char *text) {
  if (!table->known.was_read[KNOWN_ELEMENT]) return;
  for (const char *c = text, *end; *c != '\0'; c = end) {
    end = c + 1;
    if (!isalnum((unsigned char)*c) && *c != '_') continue;
    while (isalnum((unsigned char)*end) || *end == '_') end++;
    if (isdigit((unsigned char)*c)) continue; /* 1e5, 0x1p-3f */
    const char *name = memory_copy(c, (size_t)(end - c));
    if (schema_find(&op->schema, name) >= 0 || is_c_word(name)) continue;
    if (known_has(&table->known, KNOWN_ELEMENT, name)) continue;
    report_error(&table->report, at,
                 "eval: \"%s\" is neither an argument nor a function of <math.h> or codegen/interp/eval_support.h%s",
                 name, meant(suggest_element(table, name)));
  }
}

/* Each key that names a function: what stands before the name, and where it is declared. */
static const struct {
  const char *before, *after, *header;
} places[KNOWN_COUNT] = {
    [KNOWN_LOWERING] = {"LAZE_LOWERING(", ")", "codegen/llvm/lowerings.h"},
    [KNOWN_JOIN] = {"laze_join_", "", "codegen/schedule/join.h"},
    [KNOWN_EXECUTE] = {"interp_execute_", "", "codegen/interp/unit.h"},
    [KNOWN_CONTROL] = {"interp_control_", "", "codegen/interp/unit.h"},
    [KNOWN_REGIONS] = {"laze_control_rule_", "", "ir/control.h"},
    [KNOWN_BY_HAND] = {"laze_composite_", "", "ir/composite/"},
};

static void check_function(gen_table *table, const gen_operator *op, const char *key, const char *name,
                           gen_known_kind kind) {
  if (name == NULL || *name == '\0') return; /* missing, which is another fault */
  if (!table->known.was_read[kind] || known_has(&table->known, kind, name)) return;
  gen_place at = op->at;
  at.line = tree_get(op->entry, key)->line;
  report_error(&table->report, at, "\"%s: %s\" names no function; write %s%s%s of %s%s", key,
               tree_get(op->entry, key)->text, places[kind].before, name, places[kind].after, places[kind].header,
               kind == KNOWN_BY_HAND ? "" : meant(known_suggest(&table->known, kind, name)));
}

#define MAX_ELEMENTWISE_OPERANDS 4 /* LAZE_EVAL_MAX_OPERANDS */

static void require(gen_table *table, const gen_operator *op, const char *key, const char *what) {
  if (!entry_has(op, key))
    report_error(&table->report, op->at, "class %s needs \"%s\"; write %s", class_name(op->op_class), key, what);
}

/* Whether a C expression mentions a name. */
static bool mentions(const char *text, const char *name) {
  const size_t size = strlen(name);
  for (const char *found = text; (found = strstr(found, name)) != NULL; found++) {
    const bool starts = found == text || (!isalnum((unsigned char)found[-1]) && found[-1] != '_');
    if (starts && !isalnum((unsigned char)found[size]) && found[size] != '_') return true;
  }
  return false;
}

static void check_eval(gen_table *table, const gen_operator *op, const char *key, const char *text) {
  gen_place at = op->at;
  at.line = tree_get(tree_get(op->entry, "eval"), key)->line;
  for (int i = 0; i < op->schema.count; i++) {
    const gen_argument *argument = &op->schema.arguments[i];
    if (mentions(text, argument->name) && argument_may_be_absent(argument))
      report_error(&table->report, at,
                   "eval: \"%s\" may be absent; expand calls that have it with \"when: present(%s)\" and a composite",
                   argument->name, argument->name);
  }
  check_element(table, op, at, text);
}

/* Each operand must matter to some element, or it should not be one. */
static void check_evals(gen_table *table, const gen_operator *op) {
  const gen_tree *evals = tree_get(op->entry, "eval");
  if (evals == NULL || evals->form != TREE_MAP) return;
  for (int i = 0; i < evals->count; i++) check_eval(table, op, evals->keys[i]->text, evals->items[i]->text);
  for (int a = 0; a < op->schema.count; a++) {
    const gen_argument *argument = &op->schema.arguments[a];
    bool used = argument_may_be_absent(argument) || !kind_is_operand(argument->kind);
    for (int i = 0; i < evals->count; i++) used |= mentions(evals->items[i]->text, argument->name);
    if (!used)
      report_error(&table->report, op->at, "eval: \"%s\" is never used; use it or drop the argument", argument->name);
  }
}

/* What has f32 has the floats that are computed in it. One that selects moves their bits; of two there is no pair. */
static void add_halves(gen_operator *op) {
  int single = dtype_find("f32");
  if ((op->dtypes >> single & 1) == 0 || op->compute == COMPUTE_PAIR) return;
  op->dtypes |= dtype_mask_of_halves();
  for (int dtype = 0; dtype < DTYPE_COUNT && op->compute == COMPUTE_SELECT; dtype++) {
    if (!dtype_infos[dtype].is_half) continue;
    op->evals[dtype] = op->evals[single];
    op->eval_lines[dtype] = op->eval_lines[single];
  }
}

static void check_compute(gen_table *table, gen_operator *op) {
  if (op->compute == COMPUTE_CONVERT) {
    op->dtypes = DTYPE_ALL;
    if (operator_segments(op) != 1 || operator_attributes(op) != 1 || op->schema.arguments[1].kind != KIND_DTYPE)
      report_error(&table->report, op->at, "compute: convert needs the arguments (Tensor self, ScalarType dtype)");
    return;
  }
  add_halves(op);
  if (op->complex != COMPLEX_REFUSED) op->dtypes |= dtype_mask_of(LAZE_KIND_COMPLEX);
  require(table, op, "eval", "one element in C: {float: self + other, int: ..., bool: ...}");
  require(table, op, "lower", "the NAME of laze_lower_NAME in codegen/llvm/");
  check_function(table, op, "lower", op->lower, KNOWN_LOWERING);
  if (op->compute == COMPUTE_LOGICAL && op->dtypes != 0 && op->dtypes != dtype_mask_of(LAZE_KIND_BOOL))
    report_error(&table->report, op->at, "compute: logical computes in bool; write eval: {bool: ...}");
  if (op->compute == COMPUTE_FLOAT &&
      (op->dtypes & ~(dtype_mask_of(LAZE_KIND_FLOAT) | dtype_mask_of(LAZE_KIND_COMPLEX))) != 0)
    report_error(&table->report, op->at, "compute: float computes in floats; write eval: {float: ...}");
  if (op->compute == COMPUTE_BITS)
    require(table, op, "dtype", "the rule that checks the operands' dtypes");
  else if (op->dtype_count > 0)
    report_error(&table->report, op->at, "\"dtype\" beside \"compute\", which gives the dtype already; drop one");
  for (int i = 0; i < op->schema.count && operator_attributes(op) > 0; i++)
    if (!kind_is_operand(op->schema.arguments[i].kind))
      report_error(&table->report, op->at,
                   "argument \"%s\" is an attribute, which an element does not see; write a composite over operators "
                   "for each case",
                   op->schema.arguments[i].name);
}

static void check_elementwise(gen_table *table, gen_operator *op) {
  require(table, op, "compute", "one of: promote float compare logical select convert bits part pair");
  if (op->compute != COMPUTE_NONE) check_compute(table, op);
  check_evals(table, op);
  int present = 0;
  for (int i = 0; i < op->schema.count; i++) {
    const gen_argument *argument = &op->schema.arguments[i];
    if (kind_is_tensors(argument->kind))
      report_error(&table->report, op->at,
                   "\"%s\" is a list, which elementwise operators cannot have; write a composite", argument->name);
    if (argument_may_be_absent(argument) && kind_is_operand(argument->kind) && op->when == NULL)
      report_error(&table->report, op->at, "\"%s\" may be absent; add \"when: present(%s)\" and the composite for it",
                   argument->name, argument->name);
    present += kind_is_operand(argument->kind) && !argument_may_be_absent(argument);
  }
  if (present < 1 || present > MAX_ELEMENTWISE_OPERANDS)
    report_error(&table->report, op->at, "elementwise operators have 1 to %d operands, this has %d",
                 MAX_ELEMENTWISE_OPERANDS, present);
  if (op->schema.result_count != 1) report_error(&table->report, op->at, "elementwise operators have one result");
}

static void check_combine(gen_table *table, gen_operator *op) {
  require(table, op, "combine", "the elementwise operator that joins two states, such as add.Tensor");
  require(table, op, "initial", "one of: zero one lowest highest");
  const gen_tree *name = tree_get(op->entry, "combine");
  if (name == NULL) return;
  op->combine = table_find(table, name->text);
  if (op->combine == NULL)
    report_error(&table->report, op->at,
                 "combine: there is no operator \"%s\"; write its full name, such as add.Tensor", name->text);
  else if (op->combine->op_class != CLASS_ELEMENTWISE)
    report_error(&table->report, op->at, "combine: \"%s\" is of class %s; name an elementwise operator of two operands",
                 name->text, class_name(op->combine->op_class));
}

static void check_scan(gen_table *table, gen_operator *op) {
  require(table, op, "state", "result (states have the dtype of the result) or double (f64 where that is a float)");
  check_combine(table, op);
  const int dim = schema_find(&op->schema, "dim");
  if (dim < 0 || op->schema.arguments[dim].kind != KIND_INT)
    report_error(&table->report, op->at, "a scan goes along one dim; add the argument \"int dim\"");
  if (operator_segments(op) != 1 || op->schema.result_count != 1)
    report_error(&table->report, op->at,
                 "a scan has one Tensor and one result; write a composite over scans for more of them");
}

static void check_composite(gen_table *table, const gen_operator *op) {
  if (!entry_has(op, "composite")) {
    report_error(&table->report, op->at,
                 "neither a class nor a composite; add \"composite: expression\" or \"class:\" with its keys");
    return;
  }
  if (op->by_hand) check_function(table, op, "composite", op->symbol, KNOWN_BY_HAND);
  if (op->late) {
    require(table, op, "shape", "a rule of rules.yaml (a late composite is a node until it expands)");
    require(table, op, "dtype", "a rule of rules.yaml (a late composite is a node until it expands)");
  } else if (op->shape_count > 0 || op->dtype_count > 0) {
    report_error(&table->report, op->at, "shape and dtype follow from the composite; drop them or add \"late: true\"");
  }
}

static void check_interpret(gen_table *table, const gen_operator *op, gen_known_kind kind) {
  require(table, op, "interpret", "the NAME of its function in codegen/interp/unit.h");
  check_function(table, op, "interpret", op->interpret, kind);
}

/* One of class library that names none is always interpreted. */
static void check_join(gen_table *table, const gen_operator *op) {
  if (op->op_class != CLASS_LIBRARY)
    require(table, op, "lower", "the NAME of laze_join_NAME in codegen/schedule/join.h, or none: always interpreted");
  if (op->lower != NULL && strcmp(op->lower, "none") != 0) check_function(table, op, "lower", op->lower, KNOWN_JOIN);
}

static void check_class(gen_table *table, gen_operator *op) {
  switch (op->op_class) {
  case CLASS_COMPOSITE: check_composite(table, op); break;
  case CLASS_ELEMENTWISE: check_elementwise(table, op); break;
  case CLASS_CONTROL:
    require(table, op, "regions", "their number");
    require(table, op, "infer", "the NAME of laze_control_rule_NAME in ir/control.h");
    check_function(table, op, "infer", op->infer, KNOWN_REGIONS);
    check_interpret(table, op, KNOWN_CONTROL);
    check_join(table, op);
    break;
  case CLASS_STRUCTURE: break;
  default:
    if (op->infer == NULL) require(table, op, "shape", "a rule of rules.yaml with arguments, such as same(self)");
    if (op->infer == NULL) require(table, op, "dtype", "a rule of rules.yaml with arguments, such as same(self)");
    if (op->op_class == CLASS_REDUCTION)
      check_combine(table, op);
    else if (op->op_class == CLASS_SCAN)
      check_scan(table, op);
    else
      check_interpret(table, op, KNOWN_EXECUTE);
    if (op->op_class == CLASS_MOVEMENT || op->op_class == CLASS_INDEXING || op->op_class == CLASS_PRODUCT ||
        op->op_class == CLASS_CREATION || op->op_class == CLASS_LIBRARY)
      check_join(table, op);
  }
}

/* The operator that takes the place of one with complex operands is called with its arguments. */
static void check_complex(gen_table *table, gen_operator *op) {
  if (op->complex == COMPLEX_FOLDED && op->op_class != CLASS_REDUCTION && op->op_class != CLASS_SCAN)
    report_error(&table->report, op->at, "complex: folds is for reductions and scans; write moves, parts or refused");
  if (op->complex != COMPLEX_OTHER) return;
  const char *name = tree_get(op->entry, "complex")->text;
  op->complex_operator = table_find(table, name);
  if (op->complex_operator == NULL) {
    report_error(&table->report, op->at,
                 "complex: there is no operator \"%s\"; write moves, parts, folds, refused or the full name of one",
                 name);
    return;
  }
  const gen_schema *own = &op->schema, *other = &op->complex_operator->schema;
  bool same = own->count == other->count && own->result_count == other->result_count;
  for (int i = 0; same && i < own->count; i++) same = own->arguments[i].kind == other->arguments[i].kind;
  if (!same)
    report_error(&table->report, op->at, "complex: \"%s\" has other arguments or results; it is called with these",
                 name);
}

static void check_rule_count(gen_table *table, const gen_operator *op, const char *what, int count) {
  if (count > 1 && count != op->schema.result_count)
    report_error(&table->report, op->at, "%d %s for %d results; give one for all or one for each", count, what,
                 op->schema.result_count);
}

/* Every operand of a node is a value: a list with absent ones is for calls that never become one. */
static void check_optional_lists(gen_table *table, const gen_operator *op) {
  for (int i = 0; i < op->schema.count; i++)
    if (op->schema.arguments[i].kind == KIND_OPTIONAL_LIST && (op->op_class != CLASS_COMPOSITE || op->late))
      report_error(&table->report, op->at,
                   "\"%s\" is Tensor?[], which a node cannot hold; write a composite without \"late\" over operators "
                   "that take the tensors which are there",
                   op->schema.arguments[i].name);
}

static void check_entry(gen_table *table, gen_operator *op) {
  check_class(table, op);
  check_complex(table, op);
  if (op->op_class != CLASS_COMPOSITE && entry_has(op, "composite") != entry_has(op, "when"))
    report_error(&table->report, op->at, "a primitive has \"when\" and \"composite\" together or neither; add \"%s\"",
                 entry_has(op, "when") ? "composite" : "when");
  check_rule_count(table, op, "shapes", op->shape_count);
  check_rule_count(table, op, "dtypes", op->dtype_count);
  if ((op->shape_count > 0) != (op->dtype_count > 0) && op->op_class >= CLASS_CONTROL)
    report_error(&table->report, op->at, "shape and dtype go together; add the other one");
  bool may_list = op->op_class == CLASS_CONTROL || op->op_class == CLASS_STRUCTURE || op->infer ||
                  (op->op_class == CLASS_COMPOSITE && !op->late);
  if (op->schema.result_count < 0 && !may_list)
    report_error(
        &table->report, op->at,
        "a result Tensor[] is only for class control, composites that are not late, and what has \"infer\"; write the "
        "results one by one");
  check_optional_lists(table, op);
  rules_check(table, op);
}

void table_check_entries(gen_table *table) {
  for (int i = 0; i < table->count; i++) check_entry(table, table->operators[i]);
}

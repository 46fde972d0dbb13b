/* Random modules as text.
 *
 *   %v0 = mul %a, %b                               statements, over f32[n]
 *   %v1:4 = while [%i, %a, %v0, %a] (...) {...}    a counter goes first, and bounds the loop
 *   %v2:2 = if %c, [%v1#1, %v0] (...) {...} (...) {...}
 *   %v3:2 = scan [%a], [%v3i0] (...) {...}         a state, and a table by rows
 *   %v4:2 = reduce %v4i, [%v4j, %v4j], dim=[0] (...) {...}   elements of a table
 *   %v5s = slice %v4, end=%i                                   a size of the round, used in the block
 *   %v6e = if %c, sizes=[u6], axes=[0] {...} {...}             and one that the branch that ran gives
 *
 * Some regions use values of the blocks around them, which the parser makes operands.
 */
#include "tests/support/random_text_internal.h"

#include <stdio.h>
#include <string.h>

void test_text_define(scope *s, const char *name) {
  if (s->count < MOST_VALUES) snprintf(s->names[s->count++], NAME, "%s", name);
}

/* Some regions see the block around them. */
static void inherit(writer *w, scope *inside, const scope *outside) {
  if (below(w, 2)) return;
  for (int i = 0; i < outside->count; i++) test_text_define(inside, outside->names[i]);
  memcpy(inside->ragged, outside->ragged, sizeof inside->ragged);
  inside->ragged_count = outside->ragged_count;
}

/* A value with a slice of another in it, at places that the counter says, or in a branch a constant. */
static void write_update(writer *w, scope *s, const char *name, int depth) {
  char constant[NAME], *start = s->counter;
  int length = 1 + below(w, w->size < 3 ? w->size : 3);
  snprintf(constant, sizeof constant, "%.8sk", name);
  if (!s->counter[0] || below(w, 3) == 0) {
    indent(w, depth);
    laze_text_format(&w->text, "%s = constant %d : i64[]\n", constant, below(w, w->size) - (below(w, 4) == 0));
    start = constant;
  }
  indent(w, depth);
  laze_text_format(&w->text, "%ss = dynamic_slice %s, %s, dim=0, length=%d\n", name, any(w, s),
                   s->counter[0] ? s->counter : start, length);
  if (below(w, 2)) {
    indent(w, depth);
    laze_text_format(&w->text, "%sn = neg %ss\n", name, name);
  } else {
    indent(w, depth);
    laze_text_format(&w->text, "%sn = reshape %ss, shape=[-1]\n", name, name);
  }
  /* The last value, often, so that updates follow each other in one place. */
  const char *self = below(w, 2) ? s->names[s->count - 1] : any(w, s);
  indent(w, depth);
  laze_text_format(&w->text, "%s = dynamic_update %s, %sn, %s, dim=0\n", name, self, name, start);
}

/* A value of a size that is known when the block runs, by the counter or by how many elements are positive. */
static void write_sized(writer *w, const scope *s, const char *name, int depth) {
  const char *self = any(w, s);
  indent(w, depth);
  if (s->counter[0] && below(w, 2)) {
    laze_text_format(&w->text, "%s = slice %s, end=%s\n", name, self, s->counter);
    return;
  }
  laze_text_format(&w->text, "%sm = gt %s, %d.5\n", name, self, below(w, 4) - 2);
  indent(w, depth);
  laze_text_format(&w->text, "%s = masked_select %s, %sm\n", name, any(w, s), name);
}

/* What has a size of its own becomes one row again. */
static void write_used(writer *w, const scope *s, const char *name, const char *sized, int depth) {
  char used[NAME];
  snprintf(used, sizeof used, "%.8su", name);
  indent(w, depth);
  laze_text_format(&w->text, "%s = %s %s\n", used, below(w, 2) ? "relu" : "neg", sized);
  indent(w, depth);
  laze_text_format(&w->text, "%ss = sum %s, dim=[0], keepdim=true\n", name, used);
  indent(w, depth);
  laze_text_format(&w->text, "%s = add %ss, %s\n", name, name, any(w, s));
}

static void write_size(writer *w, scope *s, int depth) {
  char name[NAME], sized[NAME];
  snprintf(name, sizeof name, "%%v%d", w->next++);
  snprintf(sized, sizeof sized, "%.8sz", name);
  write_sized(w, s, sized, depth);
  write_used(w, s, name, sized, depth);
  test_text_define(s, name);
}

/* A statement without regions. */
static void write_operator(writer *w, scope *s, int depth) {
  static const char *const unary[] = {"neg", "abs", "relu", "ceil"};
  static const char *const binary[] = {"add", "sub", "mul", "maximum", "where"};
  char name[NAME];
  if (below(w, 8) == 0) {
    write_size(w, s, depth);
    return;
  }
  snprintf(name, sizeof name, "%%v%d", w->next++);
  indent(w, depth);
  int kind = below(w, 10);
  if (kind > 7) {
    write_update(w, s, name, depth);
  } else if (kind < 2) {
    laze_text_format(&w->text, "%s = %s %s\n", name, unary[below(w, 4)], any(w, s));
  } else if (kind < 6) {
    laze_text_format(&w->text, "%s = %s %s, %s\n", name, binary[below(w, 4)], any(w, s), any(w, s));
  } else if (kind == 6 || !s->counter[0]) { /* rows of their own, stored in between */
    laze_text_format(&w->text, "%ss = sum %s, dim=[0], keepdim=true\n", name, any(w, s));
    indent(w, depth);
    laze_text_format(&w->text, "%s = add %ss, %s\n", name, name, any(w, s));
  } else { /* the counter as an index, which a long loop or a short axis makes fail */
    laze_text_format(&w->text, "%ss = index_select %s, %s, dim=0\n", name, any(w, s), s->counter);
    indent(w, depth);
    laze_text_format(&w->text, "%s = sub %s, %ss\n", name, any(w, s), name);
  }
  test_text_define(s, name);
}

/* Parameters of a region: `count` f32[n], behind a counter if it has one. */
static void write_parameters(writer *w, scope *s, int count, bool counts) {
  memset(s, 0, sizeof *s);
  laze_text_append(&w->text, "(");
  if (counts) {
    snprintf(s->counter, NAME, "%%v%d", w->next++);
    laze_text_format(&w->text, "%s: i64[]%s", s->counter, count ? ", " : "");
  }
  for (int i = 0; i < count; i++) {
    char name[NAME];
    snprintf(name, sizeof name, "%%v%d", w->next++);
    laze_text_format(&w->text, "%s%s: f32[%d]", i ? ", " : "", name, w->size);
    test_text_define(s, name);
  }
  laze_text_append(&w->text, ") {\n");
}

/* Returns `count` values, some twice; a constant now and then. */
static void write_return(writer *w, scope *s, int count, const char *first, int depth) {
  char constant[NAME] = "";
  if (below(w, 6) == 0) {
    snprintf(constant, sizeof constant, "%%v%d", w->next++);
    indent(w, depth);
    laze_text_format(&w->text, "%s = full size=[%d], fill_value=0.75\n", constant, w->size);
  }
  indent(w, depth);
  laze_text_format(&w->text, "return %s", first);
  for (int i = 0; i < count; i++) {
    /* Its own parameter is what comes around unchanged: often. */
    const char *value = constant[0] && below(w, 3) == 0         ? constant
                        : s->count >= count && below(w, 3) == 0 ? s->names[i]
                                                                : any(w, s);
    laze_text_format(&w->text, "%s%s", i || first[0] ? ", " : "", value);
  }
  laze_text_append(&w->text, "\n");
}

static void write_block(writer *w, scope *s, int depth);

static void define_results(scope *s, const char *name, int first, int count) {
  char result[NAME];
  for (int i = 0; i < count; i++) {
    snprintf(result, sizeof result, "%.8s#%d", name, first + i);
    test_text_define(s, result);
  }
}

static void define_suffixed(scope *s, const char *name) {
  char result[NAME];
  snprintf(result, sizeof result, "%.8ss", name);
  test_text_define(s, result);
}

static void write_while(writer *w, scope *s, int depth) {
  char name[NAME], zero[NAME], next[NAME];
  scope condition, body;
  int count = 2 + below(w, 3), rounds = below(w, 5); /* two at least, so that results have numbers */
  snprintf(name, sizeof name, "%%v%d", w->next++);
  snprintf(zero, sizeof zero, "%%v%d", w->next++);
  snprintf(next, sizeof next, "%%v%d", w->next++);
  indent(w, depth);
  laze_text_format(&w->text, "%s = constant 0 : i64[]\n", zero);
  indent(w, depth);
  laze_text_format(&w->text, "%s:%d = while [%s", name, count + 1, zero);
  for (int i = 0; i < count; i++) laze_text_format(&w->text, ", %s", any(w, s));
  laze_text_append(&w->text, "] ");
  write_parameters(w, &condition, count, true);
  indent(w, depth + 1);
  laze_text_format(&w->text, "%sc = lt %s, %d\n", next, condition.counter, rounds);
  indent(w, depth + 1);
  laze_text_format(&w->text, "return %sc\n", next);
  indent(w, depth);
  laze_text_append(&w->text, "} ");
  write_parameters(w, &body, count, true);
  inherit(w, &body, s);
  write_block(w, &body, depth + 1);
  indent(w, depth + 1);
  laze_text_format(&w->text, "%s = add %s, 1\n", next, body.counter);
  write_return(w, &body, count, next, depth + 1);
  indent(w, depth);
  laze_text_append(&w->text, "}\n");
  define_results(s, name, 1, count);
}

/* Along the first axis of what stands for a table: its rows go in, and others come out. */
static void write_scan(writer *w, scope *s, int depth) {
  char name[NAME];
  scope body;
  int states = 1 + below(w, 2), inputs = 1 + below(w, 2), stacked = 1 + below(w, 2), rounds = below(w, 5);
  snprintf(name, sizeof name, "%%v%d", w->next++);
  for (int i = 0; i < inputs; i++) {
    indent(w, depth);
    laze_text_format(&w->text, "%st%d = iota size=[%d, %d], dim=0, dtype=f32\n", name, i, rounds, w->size);
    indent(w, depth);
    laze_text_format(&w->text, "%si%d = add %st%d, %s\n", name, i, name, i, any(w, s));
  }
  indent(w, depth);
  laze_text_format(&w->text, "%s:%d = scan [", name, states + stacked);
  for (int i = 0; i < states; i++) laze_text_format(&w->text, "%s%s", i ? ", " : "", any(w, s));
  laze_text_append(&w->text, "], [");
  for (int i = 0; i < inputs; i++) laze_text_format(&w->text, "%s%si%d", i ? ", " : "", name, i);
  laze_text_append(&w->text, "] ");
  write_parameters(w, &body, states + inputs, false);
  inherit(w, &body, s);
  write_block(w, &body, depth + 1);
  write_return(w, &body, states + stacked, "", depth + 1);
  indent(w, depth);
  laze_text_append(&w->text, "}\n");
  define_results(s, name, 0, states);
  indent(w, depth);
  laze_text_format(&w->text, "%ss = sum %s#%d, dim=[0]\n", name, name, states + stacked - 1);
  define_suffixed(s, name);
}

/* Both branches compute, and one is taken; `name` becomes one of the two results. */
static void write_fold_branches(writer *w, char *name, const char *a, const char *b, int depth) {
  static const char *const binary[] = {"add", "sub", "mul", "maximum"};
  char node[NAME];
  snprintf(node, NAME, "%s", name);
  laze_text_format(&w->text, "%sc = lt %s, %s\n", node, a, b);
  indent(w, depth);
  laze_text_format(&w->text, "%s:2 = if %sc {\n", node, node);
  indent(w, depth + 1);
  laze_text_format(&w->text, "%st = %s %s, %s\n", node, binary[below(w, 4)], a, b);
  indent(w, depth + 1);
  laze_text_format(&w->text, "return %s, %st\n", b, node);
  indent(w, depth);
  laze_text_append(&w->text, "} {\n");
  indent(w, depth + 1);
  laze_text_format(&w->text, "%se = %s %s, %s\n", node, binary[below(w, 4)], b, a);
  indent(w, depth + 1);
  laze_text_format(&w->text, "return %se, %s\n", node, a);
  indent(w, depth);
  laze_text_append(&w->text, "}\n");
  snprintf(name, NAME, "%.12s#%d", node, below(w, 2));
}

/* A region over single elements: statements over f32[], of which the last ones are the next states. */
static void write_fold(writer *w, const char *name, int states, const char *initial, int depth) {
  static const char *const binary[] = {"add", "sub", "mul", "maximum"};
  char names[16][NAME];
  int count = 0, statements = states + below(w, 4);
  laze_text_append(&w->text, "(");
  for (int i = 0; i <= states; i++) {
    snprintf(names[count++], NAME, "%.8sp%d", name, i);
    laze_text_format(&w->text, "%s%s: f32[]", i ? ", " : "", names[count - 1]);
  }
  laze_text_append(&w->text, ") {\n");
  if (below(w, 3) == 0) snprintf(names[count++], NAME, "%s", initial); /* of the block around */
  for (int i = 0; i < statements; i++) {
    const char *a = names[below(w, count)], *b = names[below(w, count)];
    char *next = names[count];
    snprintf(next, NAME, "%.8sf%d", name, i);
    indent(w, depth + 1);
    if (below(w, 5) == 0) {
      laze_text_format(&w->text, "%sc = lt %s, %s\n", next, a, b);
      indent(w, depth + 1);
      laze_text_format(&w->text, "%s = where %sc, %s, %s\n", next, next, b, a);
    } else if (below(w, 5) == 0)
      write_fold_branches(w, next, a, b, depth + 1);
    else if (below(w, 5) == 0)
      laze_text_format(&w->text, "%s = mul %s, 0.5\n", next, a);
    else
      laze_text_format(&w->text, "%s = %s %s, %s\n", next, binary[below(w, 4)], a, b);
    count++;
  }
  indent(w, depth + 1);
  laze_text_append(&w->text, "return ");
  for (int i = 0; i < states; i++)
    laze_text_format(&w->text, "%s%s", i ? ", " : "", names[count - 1 - below(w, count)]);
  laze_text_append(&w->text, "\n");
  indent(w, depth);
  laze_text_append(&w->text, "}\n");
}

/* Over rows, which gives f32[n], or over columns or all, which are summed to one number. */
static void write_reduce(writer *w, scope *s, int depth) {
  static const char *const dims[] = {"0", "0", "1", "0, 1"};
  char name[NAME], initial[NAME];
  int states = 2, rows = below(w, 5), dim = below(w, 4);
  snprintf(name, sizeof name, "%%v%d", w->next++);
  snprintf(initial, sizeof initial, "%.8sj", name);
  indent(w, depth);
  laze_text_format(&w->text, "%st = iota size=[%d, %d], dim=0, dtype=f32\n", name, rows, w->size);
  indent(w, depth);
  laze_text_format(&w->text, "%si = add %st, %s\n", name, name, any(w, s));
  indent(w, depth);
  if (below(w, 2))
    laze_text_format(&w->text, "%s = constant 0.25 : f32[]\n", initial);
  else
    laze_text_format(&w->text, "%s = sum %s\n", initial, any(w, s));
  indent(w, depth);
  laze_text_format(&w->text, "%s:%d = reduce %si, [%s, %s], dim=[%s] ", name, states, name, initial, initial,
                   dims[dim]);
  write_fold(w, name, states, initial, depth);
  indent(w, depth);
  if (dim > 1)
    laze_text_format(&w->text, "%sr = sum %s#1\n", name, name);
  else
    laze_text_format(&w->text, "%sr = neg %s#1\n", name, name);
  indent(w, depth);
  laze_text_format(&w->text, "%ss = add %sr, %s\n", name, name, any(w, s));
  define_suffixed(s, name);
}

static void write_if(writer *w, scope *s, int depth) {
  char name[NAME];
  int count = 2 + below(w, 2), given = 1 + below(w, 3);
  snprintf(name, sizeof name, "%%v%d", w->next++);
  indent(w, depth);
  if (below(w, 4) > 0) {
    laze_text_format(&w->text, "%ss = sum %s\n", name, any(w, s));
    indent(w, depth);
    laze_text_format(&w->text, "%sc = lt %ss, %d\n", name, name, below(w, 9) - 4);
  } else { /* known before anything runs */
    static const char *const comparisons[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    laze_text_format(&w->text, "%ss = size_tensor value=%d\n", name, w->size);
    indent(w, depth);
    laze_text_format(&w->text, "%sc = %s %ss, %d\n", name, comparisons[below(w, 6)], name, below(w, 6));
  }
  indent(w, depth);
  laze_text_format(&w->text, "%s:%d = if %sc, [", name, count, name);
  for (int i = 0; i < given; i++) laze_text_format(&w->text, "%s%s", i ? ", " : "", any(w, s));
  laze_text_append(&w->text, "] ");
  for (int branch = 0; branch < 2; branch++) {
    scope inside;
    write_parameters(w, &inside, given, false);
    inherit(w, &inside, s);
    if (below(w, 3) > 0) write_block(w, &inside, depth + 1);
    write_return(w, &inside, count, "", depth + 1);
    indent(w, depth);
    laze_text_append(&w->text, branch ? "}\n" : "} ");
  }
  define_results(s, name, 0, count);
}

/* Branches of which each may give another size, with the values of the block around. */
static void write_either(writer *w, scope *s, int depth) {
  char name[NAME], either[NAME];
  snprintf(name, sizeof name, "%%v%d", w->next++);
  snprintf(either, sizeof either, "%.8se", name);
  indent(w, depth);
  laze_text_format(&w->text, "%sq = sum %s\n", name, any(w, s));
  indent(w, depth);
  laze_text_format(&w->text, "%sc = lt %sq, %d\n", name, name, below(w, 9) - 4);
  indent(w, depth);
  laze_text_format(&w->text, "%s = if %sc ", either, name);
  for (int branch = 0; branch < 2; branch++) {
    scope inside = *s;
    char sized[NAME];
    snprintf(sized, sizeof sized, "%%v%d", w->next++);
    laze_text_append(&w->text, "{\n");
    if (below(w, 3) == 0) write_block(w, &inside, depth + 1);
    if (below(w, 3) > 0)
      write_sized(w, &inside, sized, depth + 1);
    else
      snprintf(sized, sizeof sized, "%s", any(w, &inside));
    indent(w, depth + 1);
    laze_text_format(&w->text, "return %s\n", sized);
    indent(w, depth);
    laze_text_append(&w->text, branch ? "}\n" : "} ");
  }
  write_used(w, s, name, either, depth);
  test_text_define(s, name);
}

/* Nests at most DEPTH deep. */
static void write_block(writer *w, scope *s, int depth) {
  int statements = 1 + below(w, 4);
  for (int i = 0; i < statements; i++) {
    int kind = depth >= DEPTH ? 0 : below(w, 8);
    if (w->options->values && below(w, 2) == 0)
      test_text_write_value(w, s, depth);
    else if (kind == 7)
      write_either(w, s, depth);
    else if (kind == 6)
      write_reduce(w, s, depth);
    else if (kind == 5)
      write_scan(w, s, depth);
    else if (kind == 4)
      write_if(w, s, depth);
    else if (kind == 3 || (depth == 0 && i == 0))
      write_while(w, s, depth);
    else
      write_operator(w, s, depth);
  }
}

/* A graph, or a function, of `count` inputs and results. */
static void write_graph(writer *w, const char *kind, const char *name, int count) {
  scope body = {0};
  w->next = 0;
  laze_text_format(&w->text, "%s @%s(", kind, name);
  for (int i = 0; i < count; i++) {
    char input[NAME];
    snprintf(input, sizeof input, "%%x%d", i);
    laze_text_format(&w->text, "%s%s: f32[%d]", i ? ", " : "", input, w->size);
    test_text_define(&body, input);
  }
  laze_text_append(&w->text, ") -> ");
  for (int i = 0; i < count; i++) laze_text_format(&w->text, "%sf32[%d]", i ? ", " : "", w->size);
  laze_text_append(&w->text, " {\n");
  write_block(w, &body, 0);
  write_return(w, &body, count, "", 0);
  laze_text_append(&w->text, "}\n");
}

void test_write_random_module(laze_text *text, test_random *random, const test_text_options *options) {
  static const int sizes[] = {1, 3, 4, 17, 40};
  writer w = {.text = *text, .random = random, .options = options};
  int functions = options->values ? below(&w, MOST_FUNCTIONS + 1) : 0;
  w.size = sizes[below(&w, 5)];
  laze_text_append(&w.text, "laze 1\n");
  for (int i = 0; i < functions; i++) {
    char name[NAME];
    snprintf(name, sizeof name, "f%d", i);
    write_graph(&w, "function", name, 2);
    w.functions++;
  }
  write_graph(&w, "graph", "main", 3);
  *text = w.text;
}

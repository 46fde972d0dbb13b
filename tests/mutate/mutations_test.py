#!/usr/bin/env python3
"""What mutations.py makes of a small file: every kind of change, in place, and nothing of comments and directives."""
import unittest

import mutations

TEXT = """\
/* a < b + 1 is only a comment */
#include <stdio.h>
#define LIMIT 64 /* entries */
enum { FEW = 4 };
static bool is_small(int a) {
  return a < LIMIT;
}
static laze_status visit(laze_error *error, int count, const char *name) {
  const char *text = "a + 1";
  for (int i = 0; i < count; i++) {
    if (name && i != 7) break;
    note(name, text);
  }
  int kept = count ? FEW : 2;
  total = kept * 0.5;
  return LAZE_OK;
}
"""


def results(kind):
    """What the changes of a kind make of the lines that they touch, without the blanks around."""
    old, changed = TEXT.split("\n"), set()
    for mutation in mutations.all_mutations(TEXT).get(kind, []):
        new = mutations.apply(TEXT, mutation).split("\n")
        changed.update(line.strip() for line, before in zip(new, old) if line != before)
    return changed


class Mutations(unittest.TestCase):
    def test_every_kind_finds_its_places(self):
        expected = {
            "operator": {"return a <= LIMIT;", "if (name || i != 7) break;", "if (name && i == 7) break;",
                         "for (int i = 0; i <= count; i++) {", "for (int i = 0; i < count; i--) {",
                         "total = kept / 0.5;"},
            "constant": {"#define LIMIT 65 /* entries */", "#define LIMIT 0 /* entries */", "enum { FEW = 3 };",
                         "if (name && i != 8) break;", "int kept = count ? FEW : 1;", "total = kept * (2 * 0.5);"},
            "condition": {"if (!(name && i != 7)) break;", "if (false && (name && i != 7)) break;",
                          "if (true || (name && i != 7)) break;", "int kept = count ? 2 : FEW;",
                          "return !(a < LIMIT);"},
            "dropped": {"if (name && i != 7) {}", "{}"},
            "arguments": {"note(text, name);"},
            "return": {"if (true) return LAZE_OK; note(name, text);",
                       "if (true) return LAZE_OK; int kept = count ? FEW : 2;"},
            "limit": {"return a < -1 + LIMIT;", "for (int i = 0; i < 1 + count; i++) {"},
        }
        self.assertEqual(set(mutations.all_mutations(TEXT)), set(expected))
        for kind, lines in expected.items():
            self.assertLessEqual(lines, results(kind), kind)

    def test_comments_strings_and_includes_stay(self):
        for found in mutations.all_mutations(TEXT).values():
            for mutation in found:
                new = mutations.apply(TEXT, mutation)
                self.assertNotEqual(new, TEXT)
                for kept in ("/* a < b + 1 is only a comment */", "#include <stdio.h>", '"a + 1"', "/* entries */"):
                    self.assertIn(kept, new)

    def test_a_declaration_is_no_call(self):
        self.assertFalse([line for line in results("dropped") if "text" in line or "kept" in line])
        self.assertFalse([line for line in results("arguments") if "static" in line])

    def test_lines_are_counted_from_one(self):
        self.assertEqual(mutations.line_of(TEXT, 0), 1)
        self.assertEqual(mutations.line_of(TEXT, TEXT.index("enum")), 4)


if __name__ == "__main__":
    unittest.main()

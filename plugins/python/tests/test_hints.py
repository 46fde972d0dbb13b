"""What an AttributeError says about the names that a NumPy user types."""
import math
import unittest

import laze
from laze import _hints


def message_of(owner, name):
    try:
        getattr(owner, name)
    except AttributeError as error:
        return str(error)
    return None


class Hints(unittest.TestCase):
    def test_names_of_numpy(self):
        """Of the table's entries for what is missing; an operator that laze gets later needs no change here."""
        seen = 0
        for name, other in _hints.OTHER_NAMES.items():
            for owner in (laze, laze.tensor([1.0])):
                message = message_of(owner, name)
                if message is None:
                    continue
                seen += 1
                self.assertIn(f"'{name}'; ", message)
                if other == "":
                    self.assertIn("no operator", message)
                elif not other.isidentifier():
                    self.assertTrue(message.endswith(f"write {other}"), message)
                else:
                    self.assertRegex(message, rf"laze calls it (laze)?\.{other}$")
        self.assertGreater(seen, 40)

    def test_what_the_table_names_is_there(self):
        for name, other in _hints.OTHER_NAMES.items():
            if other.isidentifier():
                self.assertTrue(hasattr(laze, other) or hasattr(laze.Tensor, other), (name, other))

    def test_what_the_table_writes_is_right(self):
        x, y = laze.tensor([1.0, 2.0, 4.0]), laze.tensor([3.0, 2.0, 1.0])
        write = {name: eval(text, {"laze": laze, "x": x, "y": y, "n": 2, "len": len})
                 for name, text in _hints.OTHER_NAMES.items() if text and not text.isidentifier()}
        expected = {"allclose": False, "array_equal": False, "flip": [4, 2, 1], "inner": 11, "norm": math.sqrt(21),
                    "outer": [[3, 2, 1], [6, 4, 2], [12, 8, 4]], "pad": [0, 0, 1, 2, 4, 0, 0], "roll": [2, 4, 1]}
        self.assertEqual(sorted(write), sorted(expected))
        for name, values in expected.items():
            found = write[name].tolist()
            self.assertAlmostEqual(found, values, places=6) if isinstance(values, float) else self.assertEqual(found, values)

    def test_misspelled_names(self):
        x = laze.tensor([1.0])
        self.assertTrue(message_of(x, "softmx").endswith("did you mean .softmax?"))
        self.assertTrue(message_of(laze, "sofmax").endswith("did you mean laze.softmax?"))
        self.assertTrue(message_of(x, "stack").endswith("did you mean laze.stack?"))

    def test_programs_that_ask_what_an_object_can_do(self):
        """They ask often, and for names that nobody misspelled."""
        x = laze.tensor([1.0])
        self.assertNotIn("mean", message_of(x, "__array_interface__"))
        self.assertFalse(hasattr(x, "_repr_html_"))
        self.assertEqual(getattr(x, "expand_dims", None), None)


if __name__ == "__main__":
    unittest.main()

"""The package as a whole: what it exports, its type stubs, and its binary."""
import ast
import pathlib
import unittest

import laze

FOLDER = pathlib.Path(laze.__file__).parent


class Package(unittest.TestCase):
    def test_names(self):
        for name in laze.__all__:
            self.assertTrue(hasattr(laze, name), name)
        for name in ["tensor", "asarray", "float32", "f32", "add", "matmul", "Tensor", "Error", "metrics", "step"]:
            self.assertIn(name, laze.__all__)

    def test_there_is_one_binary_for_all_versions_of_python(self):
        self.assertEqual([path.name for path in FOLDER.glob("_laze*.so")], ["_laze.abi3.so"])


class Stubs(unittest.TestCase):
    def setUp(self):
        self.tree = ast.parse((FOLDER / "__init__.pyi").read_text())

    def test_every_operator_has_one(self):
        defined = {node.name for node in self.tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
        defined |= {node.target.id for node in self.tree.body if isinstance(node, ast.AnnAssign)}
        imports = [node for node in self.tree.body if isinstance(node, ast.ImportFrom)]
        defined |= {alias.asname for node in imports for alias in node.names}  # `x as x` gives it to others
        missing = set(laze.__all__) - defined
        self.assertEqual({name for name in missing if not isinstance(getattr(laze, name), type)}, {"newaxis"} & missing)

    def test_every_method_has_one(self):
        tensor = next(node for node in self.tree.body if isinstance(node, ast.ClassDef) and node.name == "Tensor")
        defined = {node.name for node in tensor.body if isinstance(node, ast.FunctionDef)}
        defined |= {node.target.id for node in tensor.body if isinstance(node, ast.AnnAssign)}
        self.assertEqual({name for name in vars(laze.Tensor) if not name.startswith("_")} - defined, set())

    def test_arguments_have_types(self):
        functions = {node.name: node for node in self.tree.body if isinstance(node, ast.FunctionDef)}
        linear = functions["linear"]
        self.assertEqual(ast.unparse(linear.args), "input: Tensor, weight: Tensor, bias: Union[Tensor, None]=..., *, "
                                                  "out: Union[Tensor, None]=...")
        self.assertTrue((FOLDER / "py.typed").exists())


if __name__ == "__main__":
    unittest.main()

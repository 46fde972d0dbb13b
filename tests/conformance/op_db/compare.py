"""Whether two results are the same as PyTorch's tests see it: by TestCase.assertEqual, with the tolerances of an OpInfo.

assertEqual compares dtype, shape and values; NaN equals NaN, 0.0 equals -0.0. Its tolerances are the defaults of the
dtype, or what decorators of the OpInfo widen them to. PyTorch attaches those to tests; the ones that count here are of
tests that compare results on the CPU with a reference.
"""
import torch
from torch.testing._internal import common_device_type, common_utils
from torch.testing._internal.opinfo.core import DecorateInfo

CLASSES = {None, "TestCommon", "TestUnaryUfuncs", "TestBinaryUfuncs", "TestBinaryUfuncsDevice", "TestReductions",
           "TestFFT", "TestMasked"}
TESTS = {None, "test_compare_cpu", "test_noncontiguous_samples", "test_numpy_ref", "test_numpy_refs", "test_out",
         "test_variant_consistency_eager", "test_reference_numerics", "test_reference_numerics_normal",
         "test_reference_numerics_small", "test_reference_numerics_large", "test_reference_numerics_hard",
         "test_reference_numerics_extremal", "test_ref_small_input", "test_ref_duplicate_values",
         "test_ref_extremal_values", "test_reference_masked", "test_reference_nd", "test_reference_1d"}


def decorators(info, dtype):
    """The decorators of an OpInfo that are in force for a dtype in a test of results on the CPU."""
    for decorator in info.decorators:
        if not isinstance(decorator, DecorateInfo):
            yield decorator
        elif (decorator.cls_name in CLASSES and decorator.test_name in TESTS and
              decorator.device_type in (None, "cpu") and decorator.active_if and
              (decorator.dtypes is None or dtype in decorator.dtypes)):
            yield from decorator.decorators


def tolerances(info, dtype):
    """(absolute, relative), to which the defaults of a dtype are widened; 0 leaves them."""
    absolute = relative = 0.0
    for decorator in decorators(info, dtype):
        if isinstance(decorator, common_device_type.toleranceOverride) and dtype in decorator.d:
            absolute, relative = max(absolute, decorator.d[dtype].atol), max(relative, decorator.d[dtype].rtol)
        elif isinstance(decorator, common_device_type.precisionOverride) and dtype in decorator.d:
            absolute = max(absolute, decorator.d[dtype])
    return absolute, relative


class Comparison(common_utils.TestCase):
    """A test case of PyTorch, of which only assertEqual is used."""

    def runTest(self):
        raise NotImplementedError

    def difference(self, actual, expected, widened):
        """None, or what is not equal in one line."""
        self.precision, self.rel_tol = widened
        try:
            self.assertEqual(actual, expected)
        except Exception as error:  # an AssertionError, or what comes of comparing a list with a tensor
            return " ".join(str(error).split())
        return None


def form(value):
    """Dtype and shape, for results whose values are nobody's business."""
    if isinstance(value, torch.Tensor):
        return value.dtype, tuple(value.shape)
    if isinstance(value, (list, tuple)):
        return [form(item) for item in value]
    return type(value)


def pairs(actual, expected, exact):
    """Their tensors side by side; nothing where the three are not built alike."""
    if isinstance(actual, (list, tuple)) and isinstance(expected, (list, tuple)) and isinstance(exact, (list, tuple)):
        if len(actual) == len(expected) == len(exact):
            for items in zip(actual, expected, exact):
                yield from pairs(*items)
    elif isinstance(actual, torch.Tensor) and isinstance(expected, torch.Tensor) and isinstance(exact, torch.Tensor):
        if actual.shape == expected.shape == exact.shape and actual.dtype == expected.dtype:
            yield actual, expected, exact


NEARER = "nearer than PyTorch to the result in float64: "
AS_NEAR = "about as near as PyTorch to the result in float64: "
ROUNDED = 0.51  # units of the last place: computed in f32 and rounded once


def each_is_right(actual, expected, exact, is_right):
    """Whether there are tensors, those that are no floats are equal, and of all others `is_right` says so."""
    found = list(pairs(actual, expected, exact))
    return bool(found) and all(is_right(one, other, true) if one.is_floating_point() else torch.equal(one, other)
                               for one, other, true in found)


def is_nearer(one, other, true):
    rounded = true.to(one.dtype)
    unit = (torch.nextafter(rounded.abs(), torch.tensor(torch.inf, dtype=one.dtype)) - rounded.abs()).double()
    error, allowed = (one.double() - true).abs(), (other.double() - true).abs()
    same = (one == rounded) | (one.isnan() & true.isnan()) | (one == other)
    return bool((same | (error <= allowed) | (error <= ROUNDED * unit)).all())


def nearer(actual, expected, exact):
    """Whether each element is at least as near to the exact one as the expected element, or that one rounded."""
    return each_is_right(actual, expected, exact, is_nearer)


TWICE = 2  # what PyTorch allows its own compiler of 16 bits


def about_as_near(actual, expected, exact):
    """Whether the errors of a result, the root of their mean square, are at most twice those of the expected one."""
    return each_is_right(actual, expected, exact, lambda one, other, true:
                         root_mean_square(one, true) <= TWICE * root_mean_square(other, true))


def root_mean_square(actual, exact):
    """Of errors; not a number where one of the two is none and the other is."""
    same = (actual == exact) | (actual.isnan() & exact.isnan())
    return float(torch.where(same, 0.0, actual.double() - exact).square().mean().sqrt())


def nearness(actual, expected, exact):
    """Of a result that is not close to the expected one: how near both are to the exact one, to begin a sentence with."""
    if nearer(actual, expected, exact):
        return NEARER
    return AS_NEAR if about_as_near(actual, expected, exact) else ""

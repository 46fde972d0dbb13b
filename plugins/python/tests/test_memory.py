"""Who owns what: buffers, DLPack, references, garbage."""
import array
import gc
import io
import sys
import threading
import tracemalloc
import unittest
import weakref

import laze

try:
    import numpy
except ImportError:
    numpy = None


def held_bytes():
    gc.collect()
    return laze.metrics()["current_bytes"]


class Buffers(unittest.TestCase):
    def test_a_view_of_a_tensor(self):
        view = memoryview(laze.tensor([[1, 2, 3], [4, 5, 6]], dtype=laze.int32))
        self.assertEqual((view.format, view.shape, view.strides, view.readonly), ("i", (2, 3), (12, 4), True))
        self.assertEqual(view.tolist(), [[1, 2, 3], [4, 5, 6]])
        self.assertEqual(memoryview(laze.tensor(2.5)).tolist(), 2.5)
        self.assertEqual(memoryview(laze.zeros(0, 3)).shape, (0, 3))
        self.assertEqual(memoryview(laze.tensor([True, False])).tolist(), [True, False])
        self.assertEqual(memoryview(laze.tensor([1], dtype=laze.int32)).tobytes(), b"\x01\0\0\0")

    def test_a_view_outlives_the_tensor(self):
        before = held_bytes()
        view = memoryview(laze.arange(1000) + 1)
        self.assertGreaterEqual(held_bytes(), before + 8000)
        self.assertEqual(view[999], 1000)
        view.release()
        self.assertEqual(held_bytes(), before)

    def test_nobody_may_write(self):
        with self.assertRaises(TypeError):
            memoryview(laze.tensor([1]))[0] = 2
        with self.assertRaises((BufferError, TypeError)):
            io.BytesIO(b"abcdefgh").readinto(laze.tensor([1]))

    def test_a_tensor_of_a_buffer_holds_it(self):
        data = array.array("d", [1, 2, 3])
        tensor = laze.asarray(data)
        with self.assertRaises(BufferError):
            data.append(4)  # a buffer that is lent cannot move
        self.assertEqual((tensor.dtype, (tensor + 1).tolist()), (laze.float64, [2, 3, 4]))
        del tensor
        gc.collect()
        laze.tensor(0)
        data.append(4)

    def test_a_copy_does_not_hold_it(self):
        data = array.array("d", [1, 2, 3])
        tensor = laze.tensor(data)
        data[0] = 9
        data.append(4)
        self.assertEqual(tensor.tolist(), [1, 2, 3])

    def test_what_is_no_number(self):
        with self.assertRaises(TypeError):
            laze.asarray(array.array("u", "text"))

    def test_loans_end_where_another_thread_lets_go(self):
        data = array.array("d", [1, 2, 3])
        box = [laze.asarray(data) + 1]
        thread = threading.Thread(target=lambda: (box[0].tolist(), box.clear()))
        thread.start()
        thread.join()
        gc.collect()
        laze.tensor(0)
        data.append(4)


class Capsules(unittest.TestCase):
    def test_names_and_versions(self):
        tensor = laze.tensor([1.0, 2.0])
        self.assertIn('"dltensor"', repr(tensor.__dlpack__()))
        self.assertIn('"dltensor_versioned"', repr(tensor.__dlpack__(max_version=(1, 0))))
        self.assertIn('"dltensor_versioned"', repr(tensor.__dlpack__(max_version=(2**70, 0))))
        self.assertIn('"dltensor"', repr(tensor.__dlpack__(max_version=(-2**70, 0))))
        with self.assertRaisesRegex(TypeError, "max_version is 'x'"):
            tensor.__dlpack__(max_version="x")
        self.assertEqual(tensor.__dlpack_device__(), (1, 0))
        for wrong in ({"stream": 1}, {"dl_device": (2, 0)}, {"copy": True}):
            with self.assertRaises(BufferError):
                tensor.__dlpack__(**wrong)

    def test_a_capsule_is_taken_once(self):
        capsule = laze.tensor([1, 2]).__dlpack__(max_version=(1, 0))
        self.assertEqual(laze.from_dlpack(capsule).tolist(), [1, 2])
        with self.assertRaises(TypeError):
            laze.from_dlpack(capsule)
        with self.assertRaises(TypeError):
            laze.from_dlpack([1, 2])

    def test_capsules_that_nobody_takes_give_their_memory_back(self):
        before = held_bytes()
        for version in (None, (1, 0)):
            capsule = (laze.arange(1000) + 1).__dlpack__(max_version=version)
            self.assertGreater(held_bytes(), before)
            del capsule
            self.assertEqual(held_bytes(), before)

    def test_round_trip_shares_memory(self):
        for version in (None, (1, 0)):
            first = laze.arange(1000) + 1
            second = laze.from_dlpack(first.__dlpack__(max_version=version))
            self.assertEqual(second.tolist(), first.tolist())
            before = held_bytes()
            del first
            self.assertEqual(held_bytes(), before)
            self.assertEqual(second[999].item(), 1000)

    @unittest.skipUnless(numpy, "needs NumPy")
    def test_numpy(self):
        array_of_tensor = numpy.from_dlpack(laze.arange(3) + 1)
        self.assertEqual(array_of_tensor.tolist(), [1, 2, 3])
        self.assertFalse(array_of_tensor.flags.writeable)
        data = numpy.arange(12, dtype="f4").reshape(3, 4)
        shared = laze.from_dlpack(data)
        data[0, 0] = 7
        self.assertEqual(shared[0].tolist(), [7, 1, 2, 3])
        self.assertEqual(laze.from_dlpack(data.T).tolist(), data.T.tolist())


class References(unittest.TestCase):
    def test_weak_references(self):
        tensor = laze.tensor([1])
        reference = weakref.ref(tensor)
        self.assertIs(reference(), tensor)
        del tensor
        self.assertIsNone(reference())

    def test_counts_do_not_grow(self):
        tensor, data, name = laze.tensor([[1.0, 2.0]]), array.array("d", [1.0]), "dim"

        def use():
            tensor.sum(**{name: 0}), tensor + 1, 1 - tensor, tensor == None, tensor[0], tensor[None, ..., [0]]  # noqa
            tensor.tolist(), repr(tensor), tensor.shape, tensor.dtype, tensor.T, laze.max(tensor, dim=1)
            laze.asarray(data), laze.tensor(data), memoryview(tensor).tolist(), laze.cat([tensor, tensor])
            laze.from_dlpack(tensor.__dlpack__()), tensor.add, laze.Tensor.add, laze.add.schemas, laze.add.__doc__
            for wrong in (lambda: tensor + "x", lambda: tensor[9], lambda: tensor.sum(foo=1), lambda: tensor.sum(5),
                          lambda: laze.tensor([[1], 2]), lambda: laze.tensor(object()), lambda: tensor.item(),
                          lambda: laze.cat([tensor, "x"])):
                try:
                    wrong()
                except Exception:
                    pass

        objects = [tensor, data, name, None, True, laze.float32, laze.Tensor, laze.add, type(laze.add), laze.Error,
                   laze.ArgumentTypeError, laze.metrics]
        # Python itself keeps some of them as code gets warm: what leaks grows in every round.
        grown = [10**6] * len(objects)
        for _ in range(6):
            before = [sys.getrefcount(one) for one in objects]
            for _ in range(100):
                use()
            gc.collect()
            changes = [abs(sys.getrefcount(one) - count) for one, count in zip(objects, before)]
            grown = [min(pair) for pair in zip(grown, changes)]
        for one, count in zip(objects, grown):
            self.assertLess(count, 50, f"references to {one!r} after 100 rounds")

    def test_memory_stays_flat_under_collections_at_every_allocation(self):
        data = array.array("d", range(1000))

        def use():
            x = laze.asarray(data)
            y = (x * 2 + 1)[laze.tensor([1, 2, 3])]
            cycle = [y, x]
            cycle.append(cycle)
            return memoryview(y).tolist(), laze.max(x, 0), laze.cat([x, laze.tensor(data)])

        thresholds = gc.get_threshold()
        gc.set_threshold(1)
        try:
            for _ in range(20):
                use()
            before = held_bytes()
            tracemalloc.start()
            first = tracemalloc.get_traced_memory()[0]
            for _ in range(200):
                use()
            self.assertEqual(held_bytes(), before)
            self.assertLess(tracemalloc.get_traced_memory()[0] - first, 100_000)
        finally:
            tracemalloc.stop()
            gc.set_threshold(*thresholds)
        data.append(1)

    def test_handles_are_given_back(self):
        for _ in range(3):
            x = laze.tensor([1.0])
            for _ in range(1000):
                x = x + 1
            x.item()
        before = laze.metrics()["node_bytes"]
        for _ in range(20):
            for _ in range(1000):
                x = x + 1
            x.item()
        self.assertLessEqual(laze.metrics()["node_bytes"], before * 2)


if __name__ == "__main__":
    unittest.main()

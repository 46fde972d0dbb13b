"""A recurrent network that reads sequences of different lengths.

Shows a loop of Python's that is recorded as it runs: a sequence becomes one graph, as long as the sequence. A length
that comes again is found, and kernels are shared between lengths.

    python recurrent.py [SEQUENCES]
"""
import sys

import laze

INPUTS, HIDDEN, CLASSES = 16, 64, 4


def data(count):
    laze.manual_seed(3)
    parameters = [laze.randn(INPUTS, HIDDEN) * 0.25, laze.randn(HIDDEN, HIDDEN) * 0.125, laze.randn(HIDDEN),
                  laze.randn(HIDDEN, CLASSES) * 0.125]
    sequences = [laze.randn(5 + 7 * number % 24, INPUTS) for number in range(count)]
    return [p.evaluate() for p in parameters], [s.evaluate() for s in sequences]


def read(parameters, sequence):
    """The log probabilities of the classes, after the last element."""
    wx, wh, bias, out = parameters
    h = laze.zeros(HIDDEN)
    for x in sequence @ wx + bias:
        h = laze.tanh(x + h @ wh)
    return laze.log_softmax(h @ out, dim=0)


def run(parameters, sequences):
    results = []
    for sequence in sequences:
        with laze.step():
            results.append(read(parameters, sequence))
    return laze.stack(results)


if __name__ == "__main__":
    parameters, sequences = data(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
    results = run(parameters, sequences)
    print("classes", laze.one_hot(results.argmax(dim=1), CLASSES).sum(dim=0).tolist())
    print("lengths", sorted({len(sequence) for sequence in sequences}))

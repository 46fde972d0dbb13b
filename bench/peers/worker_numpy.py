"""The cases in NumPy, as its users write them."""

import numpy as np

import worker


class Network:
    def __init__(self):
        self.parameters = worker.parameters()
        self.means = [np.zeros_like(p) for p in self.parameters]
        self.squares = [np.zeros_like(p) for p in self.parameters]
        self.steps = 0


class Library:
    network = Network

    def __init__(self):
        self.x = worker.fill(worker.CHAIN_ELEMENTS, 0)
        self.y = worker.fill(worker.CHAIN_ELEMENTS, 12345)
        self.small_x = worker.fill(worker.ADD_ELEMENTS, 0)
        self.small_y = worker.fill(worker.ADD_ELEMENTS, 1000)
        self.million = worker.fill(worker.PLACES, 777)
        self.places = worker.places()

    def chain(self):
        positive = np.maximum((self.x * self.y + self.x) * 0.5 - self.y, 0)
        return positive * positive * self.x + 1

    def functions(self):
        return np.maximum(np.exp((np.tanh(self.x * self.y) + self.x) * 0.5) - self.y, 0) + 1

    def adds(self):
        z = self.small_x
        for _ in range(worker.ADDS):
            z = z + self.small_y
        return z

    def sort(self):
        return np.sort(self.million)

    def topk(self):
        largest = np.argpartition(self.million, -worker.TOP)[-worker.TOP:]
        return np.sort(self.million[largest])[::-1]

    def cumsum(self):
        return np.cumsum(self.million)

    def scatter(self):
        result = np.zeros_like(self.million)
        result[self.places] = self.million
        return result

    def step(self, network, images, labels):
        w1, b1, w2, b2 = network.parameters
        hidden = np.maximum(images @ w1 + b1, 0)
        logits = hidden @ w2 + b2
        shifted = logits - logits.max(axis=1, keepdims=True)
        log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
        rows = np.arange(len(labels))
        network.loss = -log_p[rows, labels].mean()
        d_logits = np.exp(log_p)
        d_logits[rows, labels] -= 1
        d_logits /= np.float32(len(labels))
        d_sum = (d_logits @ w2.T) * (hidden > 0)
        gradients = [images.T @ d_sum, d_sum.sum(axis=0), hidden.T @ d_logits, d_logits.sum(axis=0)]
        network.steps += 1
        rate = worker.LEARNING_RATE / (1 - 0.9**network.steps)
        lacks = np.sqrt(1 - 0.999**network.steps)
        for parameter, mean, square, gradient in zip(network.parameters, network.means, network.squares, gradients):
            parameter *= 1 - worker.LEARNING_RATE * 0.01
            mean += 0.1 * (gradient - mean)
            square *= 0.999
            square += 0.001 * gradient * gradient
            parameter -= rate * mean / (np.sqrt(square) / lacks + 1e-8)

    def finish(self):
        """Nothing runs behind the caller's back."""

    def values(self, network):
        return network.parameters

    def numpy(self, result):
        return result


if __name__ == "__main__":
    worker.serve(Library())

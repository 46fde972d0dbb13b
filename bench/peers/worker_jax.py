"""The training step in JAX, as its users write it: one compiled function of parameters, state and data."""

import jax
import jax.numpy as jnp

import worker


def loss_of(parameters, images, labels):
    w1, b1, w2, b2 = parameters
    log_p = jax.nn.log_softmax(jax.nn.relu(images @ w1 + b1) @ w2 + b2)
    return -jnp.take_along_axis(log_p, labels[:, None], axis=1).mean()


@jax.jit
def train(parameters, means, squares, steps, images, labels):
    """A step of AdamW."""
    loss, gradients = jax.value_and_grad(loss_of)(parameters, images, labels)
    steps = steps + 1
    rate = worker.LEARNING_RATE / (1 - 0.9**steps)
    lacks = jnp.sqrt(1 - 0.999**steps)
    means = [m + 0.1 * (g - m) for m, g in zip(means, gradients)]
    squares = [0.999 * s + 0.001 * g * g for s, g in zip(squares, gradients)]
    parameters = [p * (1 - worker.LEARNING_RATE * 0.01) - rate * m / (jnp.sqrt(s) / lacks + 1e-8)
                  for p, m, s in zip(parameters, means, squares)]
    return loss, parameters, means, squares, steps


class Network:
    def __init__(self):
        self.parameters = [jnp.asarray(p) for p in worker.parameters()]
        self.means = [jnp.zeros_like(p) for p in self.parameters]
        self.squares = [jnp.zeros_like(p) for p in self.parameters]
        self.steps = jnp.float32(0)


class Library:
    network = Network

    def __init__(self):
        self.last = None

    def step(self, network, images, labels):
        network.loss, network.parameters, network.means, network.squares, network.steps = train(
            network.parameters, network.means, network.squares, network.steps, images, labels)
        self.last = network

    def finish(self):
        """JAX returns before it has computed."""
        if self.last:
            jax.block_until_ready(self.last.parameters)

    def values(self, network):
        return [jax.device_get(p) for p in network.parameters]


if __name__ == "__main__":
    worker.serve(Library())

"""The cases in PyTorch, as its users write them: eager on the CPU, on its lazy backend with the argument `lazy`, or the
training step compiled by its inductor with the argument `inductor`."""

import sys

import torch
import torch.nn.functional as F

import worker


def loss_of(w1, b1, w2, b2, images, labels):
    return F.cross_entropy(F.relu(images @ w1 + b1) @ w2 + b2, labels)


class Network:
    def __init__(self, device):
        self.parameters = [torch.from_numpy(p).to(device).requires_grad_() for p in worker.parameters()]
        self.optimiser = torch.optim.AdamW(self.parameters, lr=worker.LEARNING_RATE)


class Library:
    def __init__(self, lazy, loss):
        self.device = "lazy" if lazy else "cpu"
        self.loss_of = loss
        if lazy:
            import torch._lazy
            import torch._lazy.ts_backend

            torch._lazy.ts_backend.init()
            self.end_step = torch._lazy.mark_step
            self.finish = torch._lazy.wait_device_ops
        else:
            self.end_step = self.finish = lambda: None
        self.x = self.tensor(worker.fill(worker.CHAIN_ELEMENTS, 0))
        self.y = self.tensor(worker.fill(worker.CHAIN_ELEMENTS, 12345))
        self.small_x = self.tensor(worker.fill(worker.ADD_ELEMENTS, 0))
        self.small_y = self.tensor(worker.fill(worker.ADD_ELEMENTS, 1000))
        self.million = self.tensor(worker.fill(worker.PLACES, 777))
        self.places = self.tensor(worker.places())

    def tensor(self, array):
        return torch.from_numpy(array).to(self.device)

    def network(self):
        return Network(self.device)

    def chain(self):
        positive = F.relu((self.x * self.y + self.x) * 0.5 - self.y)
        result = positive * positive * self.x + 1
        self.end_step()
        return result

    def functions(self):
        result = F.relu(torch.exp((torch.tanh(self.x * self.y) + self.x) * 0.5) - self.y) + 1
        self.end_step()
        return result

    def adds(self):
        z = self.small_x
        for _ in range(worker.ADDS):
            z = z + self.small_y
        return z.cpu()

    def ended(self, result):
        self.end_step()
        return result

    def sort(self):
        return self.ended(torch.sort(self.million).values)

    def topk(self):
        return self.ended(torch.topk(self.million, worker.TOP).values)

    def cumsum(self):
        return self.ended(torch.cumsum(self.million, 0))

    def scatter(self):
        return self.ended(torch.zeros_like(self.million).scatter(0, self.places, self.million))

    def step(self, network, images, labels):
        network.loss = self.loss_of(*network.parameters, self.tensor(images), self.tensor(labels))
        network.optimiser.zero_grad()
        network.loss.backward()
        network.optimiser.step()
        self.end_step()

    def values(self, network):
        return [self.numpy(p.detach()) for p in network.parameters]

    def numpy(self, result):
        return result.cpu().numpy()


if __name__ == "__main__":
    compiled = torch.compile(loss_of) if sys.argv[1:] == ["inductor"] else loss_of
    worker.serve(Library(sys.argv[1:] == ["lazy"], compiled))

"""Two networks that PyTorch trains and laze runs.

A small GPT learns to write text, character by character, and a ResNet-18, narrowed for images of 8 by 8, learns to
read handwritten digits: compiled by torch.compile, which is one word more than without, or as lazy tensors of a device;
or by PyTorch alone, for comparison.

    python train.py gpt [--text FILE] [--steps N] [--by compile|device|eager]
    python train.py resnet [--steps N] [--by compile|device|eager]
"""
import argparse
import gzip
import pathlib

import torch
from torch import nn
from torch.nn import functional as F

EXAMPLES = pathlib.Path(__file__).resolve().parents[1]
TEXT, DIGITS = EXAMPLES.parent / "docs" / "guide.md", EXAMPLES / "data" / "digits.csv.gz"


class Block(nn.Module):
    """Attention to the characters before, then a layer for each character."""

    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads, self.dropout = heads, nn.Dropout(dropout)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attend, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2)
                   for part in self.attend(self.norm1(x)).split(width, dim=2))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.dropout(self.project(mixed.transpose(1, 2).reshape(batch, length, width)))
        return x + self.dropout(self.down(F.gelu(self.up(self.norm2(x)))))


class GPT(nn.Module):
    def __init__(self, symbols, length=64, width=64, heads=4, layers=2, dropout=0.1):
        super().__init__()
        self.length = length
        self.characters, self.places = nn.Embedding(symbols, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*(Block(width, heads, dropout) for _ in range(layers)))
        self.norm, self.end = nn.LayerNorm(width), nn.Linear(width, symbols)

    def forward(self, text):
        x = self.characters(text) + self.places(torch.arange(text.shape[1], device=text.device))
        return self.end(self.norm(self.blocks(x)))


class Residual(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs)
        self.conv2, self.norm2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs)
        self.shortcut = nn.Identity() if stride == 1 and inputs == outputs else nn.Sequential(
            nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(y)) + self.shortcut(x))


def resnet(width=8):
    layers, inputs = [nn.Conv2d(1, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU()], width
    for stage in range(4):
        for index in range(2):
            layers.append(Residual(inputs, width << stage, 2 if stage > 0 and index == 0 else 1))
            inputs = width << stage
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 10))


def runnable(model, by):
    """What is called in place of the model, and where its tensors are."""
    if by == "device":
        return model.to("laze"), "laze"
    return torch.compile(model, backend="laze") if by == "compile" else model, "cpu"


def train(run, steps, batch, loss_of):
    optimizer = torch.optim.AdamW(run.parameters(), lr=3e-3)
    for step in range(1, steps + 1):
        inputs, targets = batch()
        loss = loss_of(run(inputs), targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        value = loss.item()
        if step % 20 == 0:
            print(f"step {step:5}  loss {value:.4f}", flush=True)


def learn_text(text, steps, by):
    """Prints losses, then text that the network writes."""
    letters = sorted(set(text))
    tokens, model = torch.tensor([letters.index(letter) for letter in text]), GPT(len(letters))
    run, device = runnable(model, by)
    chance = torch.Generator().manual_seed(1)  # its own: the same batches, whatever else is drawn

    def batch():
        rows = torch.randint(len(tokens) - model.length, (16, 1), generator=chance) + torch.arange(model.length)
        return tokens[rows].to(device), tokens[rows + 1].to(device)
    train(run, steps, batch, lambda found, wanted: F.cross_entropy(found.flatten(0, 1), wanted.flatten()))
    model.eval()
    written = tokens[:model.length].tolist()
    with torch.no_grad():
        for _ in range(100):
            likely = F.softmax(run(torch.tensor([written[-model.length:]], device=device))[0, -1] / 0.8, dim=0)
            written.append(int(torch.multinomial(likely.cpu(), 1)))
    print("".join(letters[token] for token in written[model.length:]))


def learn_digits(steps, by):
    """Prints losses, then how many of 297 digits the network reads right that it has not seen."""
    with gzip.open(DIGITS, "rt") as file:
        table = torch.tensor([[int(number) for number in line.split(",")] for line in file])
    images, labels = table[:, :64].view(-1, 1, 8, 8) / 16, table[:, 64]
    model = resnet()
    run, device = runnable(model, by)
    chance = torch.Generator().manual_seed(1)

    def batch():
        rows = torch.randint(1500, (64,), generator=chance)
        return images[rows].to(device), labels[rows].to(device)
    train(run, steps, batch, F.cross_entropy)
    model.eval()
    with torch.no_grad():
        right = (run(images[1500:].to(device)).argmax(1).cpu() == labels[1500:]).sum().item()
    print(f"{right} of {len(labels) - 1500} digits are read right")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("network", choices=["gpt", "resnet"])
    parser.add_argument("--text", type=pathlib.Path, default=TEXT, help="what is to be learnt (default: docs/guide.md)")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--by", choices=["compile", "device", "eager"], default="compile")
    options = parser.parse_args()
    torch.manual_seed(1)
    if options.network == "gpt":
        learn_text(options.text.read_text(), options.steps, options.by)
    else:
        learn_digits(options.steps, options.by)


if __name__ == "__main__":
    main()

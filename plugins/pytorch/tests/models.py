"""The models that people bring, as they write them, over images, words and sizes that are small: what is compiled is
the same as in their large ones."""
import dataclasses
import math
from typing import Callable

import torch
from torch import nn
from torch.nn import functional as F

CLASSES, WORDS, LENGTH = 10, 61, 12


@dataclasses.dataclass(frozen=True)
class Case:
    make: Callable[[], nn.Module]
    inputs: Callable[[int], tuple]  # for a batch of n
    targets: Callable[[int], torch.Tensor]
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor] = F.cross_entropy
    large: bool = False  # takes ten seconds and more, most of them to trace
    dtype: torch.dtype = torch.float32  # float64 where so many ReLUs follow each other that a rounding switches some
    left: tuple = ()  # what draws random numbers, which PyTorch does here: those of eager are compared with


def images(size):
    return lambda n: (torch.randn(n, 3, size, size),)


def words(n):
    return (torch.randint(0, WORDS, (n, LENGTH)),)


def classes(n):
    return torch.arange(n) % CLASSES


def next_words(n):
    return torch.randint(0, WORDS, (n, LENGTH))


def loss_of_words(logits, targets):
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def perceptron():
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.GELU(), nn.Linear(128, CLASSES))


# ---- Residual networks (He and others, 2015). What blocks add begins small, as where large ones are trained: otherwise
# gradients of so narrow a network grow by ten from stage to stage, and a rounding decides what it learns.

ADDED = 0.2


class BasicBlock(nn.Module):
    growth = 1

    def __init__(self, inputs, width, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, width, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        self.shortcut = shortcut(inputs, width, stride)
        nn.init.constant_(self.norm2.weight, ADDED)

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)), inplace=True)
        y = self.norm2(self.conv2(y))
        y += self.shortcut(x)
        return F.relu(y, inplace=True)


class Bottleneck(nn.Module):
    growth = 4

    def __init__(self, inputs, width, stride=1):
        super().__init__()
        outputs = width * self.growth
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, outputs, 1, bias=False)
        self.norm3 = nn.BatchNorm2d(outputs)
        self.shortcut = shortcut(inputs, outputs, stride)
        nn.init.constant_(self.norm3.weight, ADDED)

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)), inplace=True)
        y = F.relu(self.norm2(self.conv2(y)), inplace=True)
        y = self.norm3(self.conv3(y))
        y += self.shortcut(x)
        return F.relu(y, inplace=True)


def shortcut(inputs, outputs, stride):
    if stride == 1 and inputs == outputs:
        return nn.Identity()
    return nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))


class ResNet(nn.Module):
    def __init__(self, block, depths, width):
        super().__init__()
        self.begin = nn.Sequential(nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width),
                                   nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1))
        stages, inputs = [], width
        for stage, depth in enumerate(depths):
            for index in range(depth):
                stages.append(block(inputs, width << stage, 2 if stage > 0 and index == 0 else 1))
                inputs = (width << stage) * block.growth
        self.stages, self.pool, self.end = nn.Sequential(*stages), nn.AdaptiveAvgPool2d(1), nn.Linear(inputs, CLASSES)

    def forward(self, x):
        return self.end(torch.flatten(self.pool(self.stages(self.begin(x))), 1))


# ---- MobileNetV3 (Howard and others, 2019).

class SqueezeExcite(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.pool, self.act, self.gate = nn.AdaptiveAvgPool2d(1), nn.ReLU(), nn.Hardsigmoid()
        self.down, self.up = nn.Conv2d(width, width // 4, 1), nn.Conv2d(width // 4, width, 1)

    def forward(self, x):
        return x * self.gate(self.up(self.act(self.down(self.pool(x)))))


class InvertedResidual(nn.Module):
    def __init__(self, inputs, hidden, outputs, kernel, stride, excite, act):
        super().__init__()
        layers = [nn.Conv2d(inputs, hidden, 1, bias=False), nn.BatchNorm2d(hidden), act(inplace=True),
                  nn.Conv2d(hidden, hidden, kernel, stride, kernel // 2, groups=hidden, bias=False),
                  nn.BatchNorm2d(hidden), act(inplace=True)]
        layers += [SqueezeExcite(hidden)] if excite else []
        layers += [nn.Conv2d(hidden, outputs, 1, bias=False), nn.BatchNorm2d(outputs)]
        self.layers, self.adds = nn.Sequential(*layers), stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.layers(x) if self.adds else self.layers(x)


def mobilenet():
    blocks = [(8, 16, 8, 3, 1, True, nn.ReLU), (8, 24, 12, 3, 2, False, nn.ReLU), (12, 32, 12, 3, 1, False, nn.ReLU),
              (12, 32, 16, 5, 2, True, nn.Hardswish), (16, 48, 16, 5, 1, True, nn.Hardswish)]
    return nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.Hardswish(inplace=True),
                         *(InvertedResidual(*block) for block in blocks),
                         nn.Conv2d(16, 48, 1, bias=False), nn.BatchNorm2d(48), nn.Hardswish(inplace=True),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(48, 64), nn.Hardswish(inplace=True),
                         nn.Linear(64, CLASSES))


# ---- U-Nets: of images (Ronneberger and others, 2015), and a level of one that takes noise away (Ho and others, 2020).

def two_convolutions(inputs, outputs):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True),
                         nn.Conv2d(outputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, width=6):
        super().__init__()
        self.down1, self.down2 = two_convolutions(3, width), two_convolutions(width, 2 * width)
        self.middle, self.pool = two_convolutions(2 * width, 4 * width), nn.MaxPool2d(2)
        self.up2, self.join2 = nn.ConvTranspose2d(4 * width, 2 * width, 2, 2), two_convolutions(4 * width, 2 * width)
        self.up1 = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False)
        self.join1, self.end = two_convolutions(3 * width, width), nn.Conv2d(width, 1, 1)

    def forward(self, x):
        first = self.down1(x)
        second = self.down2(self.pool(first))
        y = self.middle(self.pool(second))
        y = self.join2(torch.cat([self.up2(y), second], dim=1))
        return self.end(self.join1(torch.cat([self.up1(y), first], dim=1)))


class TimedBlock(nn.Module):
    def __init__(self, inputs, outputs, times):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(4, inputs), nn.Conv2d(inputs, outputs, 3, padding=1)
        self.time = nn.Linear(times, outputs)
        self.norm2, self.conv2 = nn.GroupNorm(4, outputs), nn.Conv2d(outputs, outputs, 3, padding=1)
        self.skip = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x, time):
        y = self.conv1(F.silu(self.norm1(x))) + self.time(F.silu(time))[:, :, None, None]
        return self.skip(x) + self.conv2(F.silu(self.norm2(y)))


class ImageAttention(nn.Module):
    def __init__(self, width, heads=2):
        super().__init__()
        self.heads, self.norm = heads, nn.GroupNorm(4, width)
        self.attend, self.project = nn.Conv2d(width, 3 * width, 1), nn.Conv2d(width, width, 1)

    def forward(self, x):
        n, width, height, breadth = x.shape
        parts = self.attend(self.norm(x)).reshape(n, 3, self.heads, width // self.heads, height * breadth)
        q, k, v = parts.transpose(-1, -2).unbind(1)
        y = F.scaled_dot_product_attention(q, k, v).transpose(-1, -2).reshape(n, width, height, breadth)
        return x + self.project(y)


class DiffusionUNet(nn.Module):
    def __init__(self, width=8, times=16):
        super().__init__()
        self.times = times
        self.time = nn.Sequential(nn.Linear(times, times), nn.SiLU(), nn.Linear(times, times))
        self.begin, self.block1 = nn.Conv2d(3, width, 3, padding=1), TimedBlock(width, width, times)
        self.down, self.block2 = nn.Conv2d(width, 2 * width, 3, 2, 1), TimedBlock(2 * width, 2 * width, times)
        self.attention = ImageAttention(2 * width)
        self.up, self.block3 = nn.Conv2d(2 * width, width, 3, padding=1), TimedBlock(2 * width, width, times)
        self.end = nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, x, steps):
        rates = torch.exp(torch.arange(self.times // 2, dtype=x.dtype) * (-math.log(10000) * 2 / self.times))
        angles = steps[:, None] * rates
        time = self.time(torch.cat([angles.sin(), angles.cos()], dim=1))
        first = self.block1(self.begin(x), time)
        y = self.attention(self.block2(self.down(first), time))
        y = self.up(F.interpolate(y, scale_factor=2, mode="nearest"))
        return self.end(self.block3(torch.cat([y, first], dim=1), time))


# ---- Words.

class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.words, self.cells = nn.Embedding(WORDS, 16), kind(16, 24, num_layers=2, batch_first=True)
        self.end = nn.Linear(24, CLASSES)

    def forward(self, tokens):
        outputs, _ = self.cells(self.words(tokens[:, :5]))  # steps are unrolled
        return self.end(outputs[:, -1])


class GPTBlock(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads, self.dropout = heads, nn.Dropout(dropout)
        self.norm1, self.attend = nn.LayerNorm(width), nn.Linear(width, 3 * width)
        self.project, self.norm2 = nn.Linear(width, width), nn.LayerNorm(width)
        self.up, self.act, self.down = nn.Linear(width, 4 * width), nn.GELU("tanh"), nn.Linear(4 * width, width)

    def forward(self, x):
        n, length, width = x.shape
        q, k, v = (part.view(n, length, self.heads, -1).transpose(1, 2)
                   for part in self.attend(self.norm1(x)).split(width, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.dropout(self.project(y.transpose(1, 2).contiguous().view(n, length, width)))
        return x + self.dropout(self.down(self.act(self.up(self.norm2(x)))))


class GPT(nn.Module):
    def __init__(self, words=WORDS, length=LENGTH, width=32, heads=4, layers=2, dropout=0.1):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(GPTBlock(width, heads, dropout) for _ in range(layers))
        self.norm, self.end = nn.LayerNorm(width), nn.Linear(width, words, bias=False)
        self.end.weight = self.words.weight

    def forward(self, tokens):
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.dropout(self.words(tokens) + self.places(places))
        for block in self.blocks:
            x = block(x)
        return self.end(self.norm(x))


class BERT(nn.Module):
    """Words, of which some are padding, and sentences; guesses words."""

    def __init__(self, width=32, heads=4, layers=2):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, width, padding_idx=0), nn.Embedding(LENGTH, width)
        self.sentences, self.norm = nn.Embedding(2, width), nn.LayerNorm(width)
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.0, activation="gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.guess = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width), nn.Linear(width, WORDS))

    def forward(self, tokens, sentences):
        x = self.words(tokens) + self.sentences(sentences) + self.places.weight[:tokens.shape[1]]
        return self.guess(self.encoder(self.norm(x), src_key_padding_mask=tokens == 0))

    @staticmethod
    def inputs(n):
        tokens = torch.randint(1, WORDS, (n, LENGTH))
        tokens[::2, -3:] = 0
        return tokens, torch.arange(LENGTH).ge(LENGTH // 2).long().expand(n, LENGTH).contiguous()


class ViT(nn.Module):
    def __init__(self, size=16, patch=4, width=32, heads=4, layers=2):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.first = nn.Parameter(torch.randn(1, 1, width) * 0.02)
        self.places = nn.Parameter(torch.randn(1, 1 + (size // patch) ** 2, width) * 0.02)
        layer = nn.TransformerEncoderLayer(width, heads, 2 * width, dropout=0.0, activation="gelu", batch_first=True,
                                           norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.norm, self.end = nn.LayerNorm(width), nn.Linear(width, CLASSES)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(x.shape[0], -1, -1), x], dim=1) + self.places
        return self.end(self.norm(self.encoder(x))[:, 0])


CASES = {
    "perceptron": Case(perceptron, lambda n: (torch.randn(n, 64),), classes),
    "resnet18": Case(lambda: ResNet(BasicBlock, (2, 2, 2, 2), 8), images(48), classes),
    "resnet50": Case(lambda: ResNet(Bottleneck, (3, 4, 6, 3), 4), images(32), classes, large=True,
                     dtype=torch.float64),
    "mobilenet": Case(mobilenet, images(32), classes, large=True),
    "unet": Case(UNet, images(16), lambda n: torch.randint(0, 2, (n, 1, 16, 16)).float(),
                 F.binary_cross_entropy_with_logits),
    "lstm": Case(lambda: Recurrent(nn.LSTM), words, classes),
    "gru": Case(lambda: Recurrent(nn.GRU), words, classes),
    "gpt": Case(GPT, words, next_words, loss_of_words, left=("aten::native_dropout",)),
    "bert": Case(BERT, BERT.inputs, next_words, loss_of_words),
    "vit": Case(ViT, images(16), classes),
    "diffusion": Case(DiffusionUNet, lambda n: (torch.randn(n, 3, 8, 8), torch.arange(n) * 7.0),
                      lambda n: torch.randn(n, 3, 8, 8), F.mse_loss),
}

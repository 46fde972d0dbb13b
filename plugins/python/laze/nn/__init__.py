"""What networks are made with, under PyTorch's names: laze.nn.functional, laze.nn.init, laze.nn.utils."""
from laze.nn import functional, init, utils

__all__ = ["functional", "init", "utils"]

"""Linear algebra, as torch.linalg has it: linalg.inv is laze.linalg_inv."""
from laze import _names

__getattr__, __dir__ = _names.of("linalg")

"""Fourier transforms, as torch.fft has them: fft.rfft is laze.fft_rfft."""
from laze import _names

__getattr__, __dir__ = _names.of("fft")

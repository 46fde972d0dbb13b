"""Whether this PyTorch has what the package is made of. Nothing is compiled against it, so that an upgrade is a matter
of names in Python: an unknown version is tried, and one that lacks a name is an error that says so."""
from __future__ import annotations

import importlib
import warnings

import torch

KNOWN = "2.13"
# What PyTorch does not promise to keep.
_NEEDED = {
    "torch._C._acc": ["DeviceGuard", "create_empty_tensor"],
    "torch._C._dynamo.guards": ["_empty_strided_cpu"],
    "torch._decomp": ["decomposition_table"],
    "torch._dynamo.backends.common": ["aot_autograd"],
    "torch._dynamo.backends.registry": ["list_backends", "register_backend"],
    "torch._dynamo.utils": ["counters"],
    "torch._functorch": ["config"],
    "torch._functorch.config": ["cse", "patch"],
    "torch._functorch.partitioners": ["min_cut_rematerialization_partition"],
    "torch._guards": ["detect_fake_mode"],
    "torch.utils.backend_registration": ["_setup_privateuseone_for_python_backend"],
}


def check() -> None:
    """An ImportError where names are missing; a warning where the version is unknown."""
    missing = [f"{module}.{name}" for module, names in _NEEDED.items() for name in names if not _has(module, name)]
    version = str(torch.__version__)
    if missing:
        raise ImportError(f"laze_torch needs PyTorch {KNOWN}, and this is {version}, without {', '.join(missing)}: "
                          f"pip install 'torch=={KNOWN}.*', or a newer laze")
    if version.split(".")[:2] != KNOWN.split("."):
        warnings.warn(f"laze_torch was made for PyTorch {KNOWN}, and this is {version}: what it needs is there, and it "
                      "goes on", RuntimeWarning, stacklevel=3)


def _has(module: str, name: str) -> bool:
    try:
        return hasattr(importlib.import_module(module), name)
    except ImportError:
        return False

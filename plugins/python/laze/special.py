"""Special functions, as torch.special has them: special.entr is laze.special_entr."""
from laze import _names

# Those that PyTorch has elsewhere as well, here and there under another name.
_OTHERS = {"expit": "sigmoid", "gammaln": "lgamma", "multigammaln": "mvlgamma", "psi": "digamma"}
_OTHERS.update({name: name for name in (
    "digamma", "erf", "erfc", "erfinv", "exp2", "expm1", "i0", "log1p", "log_softmax", "logit", "logsumexp", "round",
    "sinc", "softmax", "xlogy")})

__getattr__, __dir__ = _names.of("special", _OTHERS)

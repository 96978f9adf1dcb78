"""Apertus."""

from dataclasses import replace

from tests.support.any_arch import Case
from tests.support.arch_cases.granite import FACTORS
from tests.support.arch_cases.llama import LONGROPE
from tests.support.arch_cases.llama_kin import BIASES, UNREAD, llama_like

BY_LAYER = {
    "xielu.alpha_n": [1.5, -0.7], "xielu.alpha_p": [0.3, 2.0], "xielu.beta": [0.5, 0.9], "xielu.eps": [-0.4, -0.1],
}  # fmt: skip
FOR_ALL = {"xielu.alpha_n": 25.0, "xielu.alpha_p": -1.0, "xielu.beta": 0.5, "xielu.eps": -1e-6}
VARIANTS = {
    **llama_like("apertus", tied=False, freqs=True),
    "apertus unread keys": Case("apertus", keys=UNREAD, drop=BIASES),
    "apertus long factors": Case("apertus", keys=LONGROPE, context=512, **FACTORS),
    "apertus short factors": Case("apertus", keys=LONGROPE, context=256, **FACTORS),
}
CASES = {
    **{name: replace(case, plain_keys=BY_LAYER) for name, case in VARIANTS.items()},
    "apertus one curve": Case("apertus", drop=BIASES, plain_keys=FOR_ALL),
}

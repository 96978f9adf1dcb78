"""ChatGLM and GLM-4."""

from tests.support.any_arch import Case
from tests.support.arch_variants import BIASES, LINEAR, NEXT_TOKEN, UNREAD, YARN, llama_like

HALF = {"rope.dimension_count": 32}
QUARTER = {"rope.dimension_count": 16}
SECTIONS = {**HALF, "rope.dimension_sections": [4, 6, 6, 0]}
CASES = {
    "chatglm as converted": Case("chatglm", keys=HALF, fused=True),
    **llama_like("chatglm", wide=False),
    "chatglm quarter turned, linear": Case("chatglm", keys={**QUARTER, **LINEAR}),
    "chatglm half turned, yarn": Case("chatglm", keys={**HALF, **YARN}, fused=True),
    "chatglm unread keys": Case("chatglm", keys=UNREAD, drop=BIASES),
    "glm4 as converted": Case("glm4", keys=HALF, fused=True),
    **llama_like("glm4"),
    "glm4 quarter turned, linear": Case("glm4", keys={**QUARTER, **LINEAR}),
    "glm4 half turned, yarn": Case("glm4", keys={**HALF, **YARN}, fused=True),
    "glm4 unread keys": Case("glm4", keys=UNREAD, drop=BIASES),
    "glm4 with a block for the next token": Case("glm4", **NEXT_TOKEN),
    "glm4 sections": Case("glm4", keys=SECTIONS, drop=BIASES),
    "glm4 sections, yarn, fused": Case("glm4", keys={**SECTIONS, **YARN}, fused=True),
    "glm4 one section": Case("glm4", keys={**SECTIONS, "rope.dimension_sections": [16, 0, 0, 0]}, drop=BIASES),
    "glm4 sections of nothing": Case("glm4", keys={**SECTIONS, "rope.dimension_sections": [0, 0, 0, 0]}, drop=BIASES),
}

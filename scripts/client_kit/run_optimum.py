"""optimum's ORTModelForCausalLM with a tokenizer of transformers, padded left as for any decoder."""

from importlib.metadata import version
from typing import Any

from greedy import answer, job
from optimum.onnxruntime import ORTModelForCausalLM
from transformers import AutoTokenizer

asked = job()
tokenizer = AutoTokenizer.from_pretrained(asked["folder"], padding_side="left")
model = ORTModelForCausalLM.from_pretrained(asked["folder"])


def generate(inputs: Any) -> dict[str, Any]:
    rows, length = inputs["input_ids"], inputs["input_ids"].shape[1]
    made = model.generate(**inputs, max_new_tokens=asked["count"], do_sample=False)
    kept = inputs["attention_mask"].bool()
    return {
        "prompts": [row[mask].tolist() for row, mask in zip(rows, kept, strict=True)],
        "tokens": made[:, length:].tolist(),
    }


def chats() -> dict[str, Any]:
    found: dict[str, Any] = {"prompts": [], "tokens": []}
    for chat in asked["chats"]:
        inputs = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_tensors="pt", return_dict=True)
        for key, rows in generate(inputs).items():
            found[key] += rows
    return found


tests = {
    "text": lambda: generate(tokenizer(asked["texts"][:1], return_tensors="pt")),
    "batch": lambda: generate(tokenizer(asked["texts"], return_tensors="pt", padding=True)),
}
versions = f"{version('optimum-onnx')} (transformers {version('transformers')}, onnxruntime {version('onnxruntime')})"
answer(versions, tests | ({"chat": chats} if asked["chats"] else {}))

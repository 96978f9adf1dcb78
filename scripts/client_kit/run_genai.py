"""onnxruntime-genai: its own tokenizer, chat template, padding and search."""

import json
from typing import Any

import numpy as np
import onnxruntime_genai as og
from greedy import answer, job

asked = job()
model = og.Model(asked["folder"])
tokenizer = og.Tokenizer(model)


def generate(rows: np.ndarray[Any, Any]) -> list[list[int]]:
    params = og.GeneratorParams(model)
    length = rows.shape[1]
    params.set_search_options(max_length=length + asked["count"], do_sample=False, batch_size=len(rows))
    generator = og.Generator(model, params)
    generator.append_tokens(rows)
    while not generator.is_done():
        generator.generate_next_token()
    return [[int(token) for token in generator.get_sequence(index)[length:]] for index in range(len(rows))]


def texts(chosen: list[str]) -> dict[str, Any]:
    tokenizer.update_options(add_special_tokens="true")  # else plain text gets no BOS, whatever the files say
    prompts = [[int(i) for i in tokenizer.encode(text)] for text in chosen]
    rows = np.asarray(tokenizer.encode_batch(chosen).as_numpy(), np.int32)
    return {"prompts": prompts, "tokens": generate(rows)}


def chats() -> dict[str, Any]:
    tokenizer.update_options(add_special_tokens="false")  # the template writes them
    prompts = [
        [int(i) for i in tokenizer.encode(tokenizer.apply_chat_template(json.dumps(chat), add_generation_prompt=True))]
        for chat in asked["chats"]
    ]
    return {"prompts": prompts, "tokens": [generate(np.array([row], np.int32))[0] for row in prompts]}


tests = {"text": lambda: texts(asked["texts"][:1]), "batch": lambda: texts(asked["texts"])}
answer(og.__version__, tests | ({"chat": chats} if asked["chats"] else {}))

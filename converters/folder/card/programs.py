"""The programs themselves."""

from converters.folder.layout import FLAT, GraphFiles

TEXT = "The sea is"
CHAT = '[{"role": "user", "content": "What is the sea?"}]'
JS_CHAT = '[{ role: "user", content: "What is the sea?" }]'


def onnxruntime(provider: str, files: GraphFiles) -> str:
    """Greedy tokens with the cache, whatever the model carries from token to token."""
    return f'''import json

import numpy as np
import onnxruntime as ort
from tokenizers import Tokenizer

tokenizer = Tokenizer.from_file("tokenizer.json")
session = ort.InferenceSession("{files.model}", providers=["{provider}"])
types = {{"tensor(float)": np.float32, "tensor(float16)": np.float16}}
past = {{}}  # what layers carry from token to token: no positions yet
for state in session.get_inputs()[2:]:
    shape = [size if isinstance(size, int) else int(size == "batch_size") for size in state.shape]
    past[state.name] = np.zeros(shape, types[state.type])
with open("generation_config.json") as file:
    stops = np.ravel(json.load(file).get("eos_token_id", []))

ids = tokenizer.encode("{TEXT}").ids
step = ids
for _ in range(20):
    feeds = {{"input_ids": np.array([step]), "attention_mask": np.ones((1, len(ids)), np.int64), **past}}
    logits, *states = session.run(None, feeds)
    past = dict(zip(past, states))
    step = [int(logits[0, -1].argmax())]
    ids += step
    if step[0] in stops:
        break
print(tokenizer.decode(ids))
'''


def genai(chat: bool, bos: int | None) -> str:
    """A chat where there is a template, else a text behind the token `bos`, which it does not add itself."""
    if chat:
        prompt = f"""prompt = tokenizer.apply_chat_template('{CHAT}', add_generation_prompt=True)
ids = tokenizer.encode(prompt)"""
    else:
        first = "" if bos is None else f"{bos}, "
        prompt = f'ids = [{first}*tokenizer.encode("{TEXT}")]'
    return f"""import onnxruntime_genai as og

model = og.Model(".")
tokenizer = og.Tokenizer(model)
{prompt}
params = og.GeneratorParams(model)
params.set_search_options(max_length=len(ids) + 20)
generator = og.Generator(model, params)
generator.append_tokens(ids)
while not generator.is_done():
    generator.generate_next_token()
print(tokenizer.decode(generator.get_sequence(0)[len(ids):]))
"""


def optimum(chat: bool, files: GraphFiles) -> str:
    """PreTrainedTokenizerFast takes tokenizer.json as it is."""
    folder, _, name = files.model.rpartition("/")
    where = f', subfolder="{folder}", file_name="{name}"' if files != FLAT else ""
    if chat:
        inputs = f"""inputs = tokenizer.apply_chat_template(
    {CHAT}, add_generation_prompt=True, return_dict=True, return_tensors="pt"
)"""
    else:
        inputs = f'inputs = tokenizer("{TEXT}", return_tensors="pt")'
    return f"""from optimum.onnxruntime import ORTModelForCausalLM
from transformers import PreTrainedTokenizerFast

tokenizer = PreTrainedTokenizerFast.from_pretrained(".")
model = ORTModelForCausalLM.from_pretrained("."{where})
{inputs}
output = model.generate(**inputs, max_new_tokens=20)
print(tokenizer.decode(output[0][inputs["input_ids"].shape[1]:], skip_special_tokens=True))
"""


def transformers_js(chat: bool, files: GraphFiles) -> str:
    """`dtype` chooses a file by its name, whatever type the graph has; `subfolder` is where it stands, if not onnx."""
    where = f', {{ dtype: "{files.js_dtype}", subfolder: "" }}' if files == FLAT else ""
    prompt = JS_CHAT if chat else f'"{TEXT}"'
    return f"""import {{ env, pipeline }} from "@huggingface/transformers";
import {{ basename, dirname }} from "node:path";

env.localModelPath = dirname(process.cwd());
env.allowRemoteModels = false;
const generator = await pipeline("text-generation", basename(process.cwd()){where});
const output = await generator({prompt}, {{ max_new_tokens: 20 }});
console.log(JSON.stringify(output[0].generated_text));
"""

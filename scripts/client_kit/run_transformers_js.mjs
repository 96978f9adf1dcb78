// transformers.js: a pipeline of the folder with no options; its own tokenizer, chat template and padding.
import { answer, job, load, versionOf } from './answer.mjs';

const { pipeline, env } = await load('@huggingface/transformers');
env.allowRemoteModels = false;
const generator = await pipeline('text-generation', job.folder);
const { model, tokenizer } = generator;
const greedy = { max_new_tokens: job.count, do_sample: false };
const numbers = (tensor) => tensor.tolist().map((row) => row.map(Number));

async function generate(inputs) {
    const rows = numbers(inputs.input_ids);
    const mask = numbers(inputs.attention_mask);
    const made = numbers(await model.generate({ ...inputs, ...greedy }));
    return {
        prompts: rows.map((row, index) => row.filter((_, place) => mask[index][place])),
        tokens: made.map((row) => row.slice(rows[0].length)),
    };
}

/** The pipeline itself: what it says is what the model's tokens are. */
async function text() {
    const found = await generate(tokenizer(job.texts.slice(0, 1)));
    const [{ generated_text: said }] = await generator(job.texts[0], { ...greedy, return_full_text: false });
    const wanted = tokenizer.decode(found.tokens[0], { skip_special_tokens: true });
    if (said.trim() !== wanted.trim()) throw new Error(`the pipeline says ${said}, its model's tokens are ${wanted}`);
    return found;
}

async function batch() {
    tokenizer.padding_side = 'left'; // as the pipeline sets it
    return generate(tokenizer(job.texts, { padding: true, truncation: true }));
}

async function chat() {
    const found = { prompts: [], tokens: [] };
    for (const messages of job.chats) {
        const inputs = tokenizer.apply_chat_template(messages, { add_generation_prompt: true, return_dict: true });
        const { prompts, tokens } = await generate(inputs);
        found.prompts.push(...prompts);
        found.tokens.push(...tokens);
    }
    return found;
}

const versions = `${versionOf('@huggingface/transformers')} (onnxruntime-node ${versionOf('onnxruntime-node')})`;
await answer(versions, job.chats.length ? { text, batch, chat } : { text, batch });

// What a client in JavaScript is asked, how it answers, and greedy decoding with a bare session.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

export const job = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const require = createRequire(`${job.node_modules}/`);

/** A package of the clients' own folder. */
export const load = (name) => import(pathToFileURL(require.resolve(name)).href);
export const versionOf = (name) => JSON.parse(readFileSync(`${job.node_modules}/${name}/package.json`)).version;

/** Run each test, and print what came of all so far: the last line of stdout counts, also if time runs out. */
export async function answer(version, tests) {
    const found = Object.fromEntries(Object.keys(tests).map((name) => [name, { error: 'no answer in time' }]));
    const print = () => console.log(JSON.stringify({ version, tests: found }));
    print();
    for (const [name, test] of Object.entries(tests)) {
        try {
            found[name] = await test();
        } catch (error) {
            found[name] = { error: String(error) };
        }
        print();
    }
}

const ARRAYS = { float32: Float32Array, float16: globalThis.Float16Array ?? Uint16Array };

/** The three tests of a session that takes ids; `ort` is the module of its tensors. */
export function tests(ort, session) {
    const apart = (name) => async () => {
        const tokens = [];
        for (const row of job.ids[name]) tokens.push((await greedy(ort, session, [row]))[0]);
        return { tokens };
    };
    const found = { text: apart('text'), batch: async () => ({ tokens: await greedy(ort, session, job.ids.batch) }) };
    if (job.ids.chat.length) found.chat = apart('chat');
    return found;
}

async function greedy(ort, session, rows) {
    const int64 = (values, width) => new ort.Tensor('int64', BigInt64Array.from(values.flat(), BigInt), [rows.length, width]);
    const longest = Math.max(...rows.map((row) => row.length));
    const pad = (row, filled) => {
        const padding = Array(longest - row.length).fill(0);
        return job.side === 'right' ? [...filled, ...padding] : [...padding, ...filled];
    };
    let ids = rows.map((row) => pad(row, row));
    const mask = rows.map((row) => pad(row, row.map(() => 1)));
    let last = rows.map((row) => (job.side === 'right' ? row.length : longest) - 1);
    const past = {};
    for (const { input, dtype, shape } of job.states) {
        const sizes = shape.map((n) => (typeof n === 'number' ? n : n === 'batch_size' ? rows.length : 0));
        past[input] = new ort.Tensor(dtype, new ARRAYS[dtype](sizes.reduce((a, b) => a * b)), sizes);
    }
    const found = rows.map(() => []);
    for (let step = 0; step < job.count; step++) {
        const out = await session.run({ input_ids: int64(ids, ids[0].length), attention_mask: int64(mask, mask[0].length), ...past });
        for (const { input, output } of job.states) past[input] = out[output];
        const [, length, vocabulary] = out.logits.dims;
        ids = rows.map((_, row) => [best(out.logits, (row * length + last[row]) * vocabulary, vocabulary)]);
        last = rows.map(() => 0);
        ids.forEach(([token], row) => (found[row].push(token), mask[row].push(1)));
    }
    return found;
}

/** Where the largest logit stands; float16 may come as the bits of its numbers. */
function best(logits, start, count) {
    const data = logits.data;
    const bits = logits.type === 'float16' && data instanceof Uint16Array;
    const value = (index) => (bits ? order(data[start + index]) : data[start + index]);
    let found = 0;
    for (let index = 1; index < count; index++) if (value(index) > value(found)) found = index;
    return found;
}

/** A number that grows as the float16 of these bits does. */
const order = (half) => (half & 0x8000 ? -(half & 0x7fff) : half);

// onnxruntime-web: WebAssembly on one thread, from bytes, as a page has them.
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { answer, job, load, tests, versionOf } from './answer.mjs';

const ort = await load('onnxruntime-web');
ort.env.wasm.numThreads = 1;
const data = { path: basename(job.data), data: new Uint8Array(readFileSync(job.data)) };
const session = await ort.InferenceSession.create(new Uint8Array(readFileSync(job.graph)), {
    executionProviders: ['wasm'],
    externalData: [data],
});
await answer(versionOf('onnxruntime-web'), tests(ort, session));

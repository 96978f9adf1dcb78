// onnxruntime-node: the native runtime, from a path.
import { answer, job, load, tests, versionOf } from './answer.mjs';

const ort = await load('onnxruntime-node');
const session = await ort.InferenceSession.create(job.graph);
await answer(versionOf('onnxruntime-node'), tests(ort, session));

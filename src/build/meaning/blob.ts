/**
 * The model's bytes, as ffi/ame_kernel/encode/model.c reads them: a header of 64 bytes, and sections that each begin at
 * a multiple of 64. Every machine makes the same bytes: nothing here uses a function of Math that is not exact.
 */
import { BuildError } from "../step.ts";
import type { Vocabulary } from "./vocabulary.ts";
import type { Weights } from "./weights.ts";

const VERSION = 1;
const ALIGN = 64;
const MAGIC = "AMESENT1";
const PIECES = 8000;
const WINDOW = 128;
const INPUT = 256;
const WIDTH = 512;
const DIM = 128;
const CODE_MAX = 127;

const NETWORK = "Encoder_en/KonaTransformer/Encode";
const CONCAT = "ConcatPartitions/concat";

/** @param projection the codes of DIM directions, WIDTH each */
export function makeBlob(weights: Map<string, Weights>, vocabulary: Vocabulary, projection: Int8Array): Uint8Array {
  const floats = (name: string, count: number) => {
    const values = weights.get(name)?.values;
    if (values?.length !== count) throw new BuildError(`the package has no weights ${name} of ${count} numbers`);
    return values;
  };
  const module = (name: string) => `module_apply_default/${NETWORK}/${name}`;
  const sections: Uint8Array[] = [];
  const put = (values: ArrayBufferView) => {
    const bytes = new Uint8Array(Math.ceil(values.byteLength / ALIGN) * ALIGN);
    bytes.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
    sections.push(bytes);
  };
  const linear = (name: string, bias: string, inputs: number, outputs: number) => {
    const { codes, scales } = codesOf(transposed(floats(name, inputs * outputs), outputs), inputs);
    put(packed(codes, inputs));
    put(scales);
    put(floats(bias, outputs));
  };

  const embeddings = codesOf(floats("module/Embeddings_en", (PIECES + 2) * INPUT).subarray(0, PIECES * INPUT), INPUT);
  put(embeddings.codes);
  put(embeddings.scales.map((scale) => 2 * scale)); // the network reads twice the embedding
  put(timing(floats(module("TransformerStack/Layer_0/AddTimingSignal/TimingSignal/ExpandDims_1"), INPUT / 2)));
  for (const layer of [0, 1]) {
    const inputs = layer === 0 ? INPUT : WIDTH;
    const own = (name: string) => module(`Layer_${layer}/TransformerLayer/${name}`);
    const heads = (name: string) => `module/${NETWORK}/Layer_${layer}/TransformerLayer/MultiheadAttention/${name}`;
    const dense = (name: string) => module(`TransformerStack/Layer_${layer}/TransformerLayer/FFN/${name}`);
    const norm = "layer_prepostprocess/layer_norm/layer_norm";
    put(floats(own(`${norm}_scale/${CONCAT}`), inputs));
    put(floats(own(`${norm}_bias/${CONCAT}`), inputs));
    put(floats(own(`FFN/${norm}_scale/${CONCAT}`), WIDTH));
    put(floats(own(`FFN/${norm}_bias/${CONCAT}`), WIDTH));
    for (const [step, outputs] of [
      ["qkv_transform_single", 3 * inputs],
      ["output_transform_single", WIDTH],
    ] as const) {
      linear(heads(`${step}/kernel/part_0`), own(`MultiheadAttention/${step}/bias/${CONCAT}`), inputs, outputs);
    }
    linear(dense("conv1/Tensordot/Reshape_1"), own(`FFN/conv1/bias/${CONCAT}`), WIDTH, 3 * WIDTH);
    linear(dense("conv2/Tensordot/Reshape_1"), own(`FFN/conv2/bias/${CONCAT}`), 3 * WIDTH, WIDTH);
    if (layer === 0) linear(own(`dense/kernel/${CONCAT}`), own(`dense/bias/${CONCAT}`), INPUT, WIDTH);
  }
  const hidden = "module/Encoder_en/hidden_layers/tanh_layer_0";
  linear(`${hidden}/weights`, `${hidden}/bias`, WIDTH, WIDTH);
  put(packed(projection, WIDTH));
  put(unitScales(projection));
  put(new Float32Array(DIM));
  const { scores, chars, nodes, forms, formChars, pairs } = vocabulary;
  for (const part of [scores, chars, nodes, forms, formChars, pairs]) put(part);

  const body = Buffer.concat(sections);
  const header = new DataView(new ArrayBuffer(ALIGN));
  new TextEncoder().encodeInto(MAGIC, new Uint8Array(header.buffer));
  header.setUint32(8, VERSION, true);
  header.setUint32(12, ALIGN + body.length, true);
  new Uint8Array(header.buffer).set(new Bun.CryptoHasher("sha256").update(body).digest().subarray(0, 8), 16);
  const counts = [chars.length, nodes.length / 8, forms.length / 8, formChars.length, pairs.length / 3];
  counts.forEach((count, i) => {
    header.setUint32(24 + 4 * i, count, true);
  });
  return Buffer.concat([new Uint8Array(header.buffer), body]);
}

/** Rows of `width` numbers as codes and what a code of each row stands for. */
function codesOf(values: Float32Array, width: number): { codes: Int8Array; scales: Float32Array } {
  const scales = new Float32Array(values.length / width);
  const codes = new Int8Array(values.length);
  for (let row = 0; row < scales.length; row++) {
    const from = values.subarray(row * width, (row + 1) * width);
    const scale = Math.fround(from.reduce((most, value) => Math.max(most, Math.abs(value)), 0) / CODE_MAX);
    scales[row] = scale;
    from.forEach((value, i) => {
      codes[row * width + i] = scale > 0 ? Math.round(value / scale) : 0;
    });
  }
  return { codes, scales };
}

/** Of numbers in rows of `width`, the columns as rows. */
function transposed(values: Float32Array, width: number): Float32Array {
  const height = values.length / width;
  return values.map((_, i) => values[(i % height) * width + Math.floor(i / height)]!);
}

/** Columns of `inputs` codes in the order of isa_linear (isa/isa.h), 128 larger each. */
function packed(columns: Int8Array, inputs: number): Uint8Array {
  const bytes = new Uint8Array(columns.length);
  columns.forEach((code, i) => {
    const column = Math.floor(i / inputs);
    const k = i % inputs;
    const group = Math.floor(column / 16) * 16 * inputs;
    bytes[group + 64 * (k >> 2) + 4 * (column % 16) + (k % 4)] = code + 128;
  });
  return bytes;
}

/** With these the directions have unit length. */
function unitScales(projection: Int8Array): Float32Array {
  if (projection.length !== DIM * WIDTH) throw new BuildError("projection.bin has another size");
  return Float32Array.from({ length: DIM }, (_, row) => {
    const squares = projection.subarray(row * WIDTH, (row + 1) * WIDTH).reduce((sum, code) => sum + code * code, 0);
    return 1 / Math.sqrt(squares);
  });
}

/** What is added to a piece's numbers by its place: sines, then cosines, of the place times each frequency. */
function timing(frequencies: Float32Array): Float32Array {
  const out = new Float32Array(WINDOW * INPUT);
  for (let place = 0; place < WINDOW; place++) {
    frequencies.forEach((frequency, i) => {
      const angle = Math.fround(place * frequency);
      out[place * INPUT + i] = sine(angle);
      out[place * INPUT + INPUT / 2 + i] = sine(angle + Math.PI / 2);
    });
  }
  return out;
}

/** Math.sin may differ between machines in its last bit. */
function sine(angle: number): number {
  const turns = Math.round(angle / (2 * Math.PI));
  const x = angle - turns * 2 * Math.PI;
  let term = x;
  let sum = x;
  for (let n = 2; n < 40; n += 2) {
    term *= -(x * x) / (n * (n + 1));
    sum += term;
  }
  return sum;
}

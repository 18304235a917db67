/**
 * An embedder behind an OpenAI-compatible address on this machine (`POST <base>/embeddings`), for operators who run a model of their own. It is the
 * only thing that `svc serve` connects to, and only where it was named.
 */
import { isLoopback, secureBase } from "../account/endpoints.ts";
import { httpRequest, jsonObject } from "../account/http.ts";
import { PermissionError, RuntimeError, ValueError } from "../errors.ts";
import { DIM_MAX } from "../limits.ts";
import type { Embedder, EmbedderProfile } from "../texts/embedder.ts";

/** Texts in one request: what such servers take without trouble. */
const BATCH = 64;
/** Bytes of an answer: 64 vectors of the largest dimension as JSON numbers, with room. */
const ANSWER_BYTES_MAX = 128 * 1024 * 1024;
const TIMEOUT_MS = 120_000;
const PEER = "the embedding endpoint";

/** An operator's wish: `name=http://127.0.0.1:11434/v1#model`. */
export interface EndpointSpec {
  name: string;
  base: string;
  model: string;
}

/** Reads `name=url#model`. @throws ValueError for anything else; PermissionError for an address that is not this machine */
export function parseEndpoint(text: string): EndpointSpec {
  const match = /^([^=\s]+)=([^#\s]+)#(\S+)$/.exec(text);
  if (!match)
    throw new ValueError(`'${text}' is not name=url#model, as in nomic=http://127.0.0.1:11434/v1#nomic-embed-text`);
  const [, name, base, model] = match as unknown as [string, string, string, string];
  const url = secureBase(base, "the embedder's address");
  if (!isLoopback(url.hostname)) {
    throw new PermissionError(
      `the embedder's address '${url.hostname}' is not this machine: texts are not sent elsewhere`,
    );
  }
  return { name, base, model };
}

/** Asks the endpoint for one vector, to learn the dimension. @throws OSError, RuntimeError where it does not answer as it should */
export async function openEndpoint(spec: EndpointSpec): Promise<Embedder> {
  const [probe] = await ask(spec, ["dimension"]);
  const dimension = probe!.length;
  if (dimension < 1 || dimension > DIM_MAX)
    throw new RuntimeError(`${PEER} '${spec.name}' makes vectors of ${dimension}`);
  const profile: EmbedderProfile = {
    provider: "openai-compatible",
    model_id: spec.name,
    model_version: spec.model,
    dimension,
    dtype: "f32",
    normalization: "l2",
    distance: "inner_product",
    pooling: "endpoint",
    tokenizer_hash: spec.model,
    projection_version: "1",
  };
  const embed = async (texts: readonly string[], signal?: AbortSignal) => {
    const matrix = new Float32Array(texts.length * dimension);
    for (let at = 0; at < texts.length; at += BATCH) {
      const vectors = await ask(spec, texts.slice(at, at + BATCH), signal);
      vectors.forEach((vector, i) => {
        if (vector.length !== dimension) {
          throw new RuntimeError(
            `${PEER} '${spec.name}' answered with ${vector.length} numbers, before with ${dimension}`,
          );
        }
        matrix.set(normalised(vector), (at + i) * dimension);
      });
    }
    return matrix;
  };
  return { profile, embedDocuments: embed, embedQueries: embed };
}

// ---------------------------------------------------------------------------------------------------------------------

async function ask(
  { name, base, model }: EndpointSpec,
  texts: readonly string[],
  signal?: AbortSignal,
): Promise<Float32Array[]> {
  const answer = await httpRequest(base, "/embeddings", {
    peer: PEER,
    method: "POST",
    json: { model, input: texts },
    bytesMax: ANSWER_BYTES_MAX,
    timeoutMs: TIMEOUT_MS,
    signal,
  });
  const strange = (what: string) => new RuntimeError(`${PEER} '${name}' ${what}`);
  if (answer.status !== 200) throw strange(`answered ${answer.status}: is model '${model}' there?`);
  const { data } = jsonObject(answer, PEER);
  if (!Array.isArray(data) || data.length !== texts.length)
    throw strange(`did not answer with ${texts.length} vectors`);
  const vectors: Float32Array[] = new Array(texts.length);
  data.forEach((item: { index?: unknown; embedding?: unknown } | null, i) => {
    const index = typeof item?.index === "number" ? item.index : i;
    const embedding = item?.embedding;
    if (!Array.isArray(embedding) || !(index in texts)) throw strange("answered with something else than vectors");
    vectors[index] = Float32Array.from(embedding as number[]);
  });
  for (let i = 0; i < texts.length; i++) {
    if (!vectors[i]?.every(Number.isFinite)) throw strange("answered with something else than finite numbers");
  }
  return vectors;
}

/** To unit length, so that the inner product is the cosine; a vector of zeros stays. */
function normalised(vector: Float32Array): Float32Array {
  let sum = 0;
  for (const x of vector) sum += x * x;
  const norm = Math.sqrt(sum);
  return norm > 0 ? vector.map((x) => x / norm) : vector;
}

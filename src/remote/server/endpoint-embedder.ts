/**
 * An embedder behind an OpenAI-compatible endpoint on this machine (`POST <base>/embeddings`), for operators who run
 * their own model. `svc serve` connects to nothing else, and to this only where it is configured.
 */

import { PermissionError, RuntimeError, ValueError } from "../../errors.ts";
import { DIM_MAX } from "../../limits.ts";
import type { Embedder, EmbedderProfile } from "../../texts/embedder.ts";
import { isLoopback, secureBase } from "../../trust/account/trusted/endpoints.ts";
import { httpRequest, jsonObject } from "../../trust/account/trusted/http.ts";

/** Texts in one request; such servers accept that many. */
const BATCH = 64;
/** Bytes of a response: 64 vectors of the largest dimension as JSON numbers, with room to spare. */
const ANSWER_BYTES_MAX = 128 * 1024 * 1024;
const TIMEOUT_MS = 120_000;
const PEER = "the embedding endpoint";

/** An endpoint as configured: `name=http://127.0.0.1:11434/v1#model`. */
interface EndpointSpec {
  name: string;
  base: string;
  model: string;
}

/** Parses `name=url#model`. @throws ValueError for other text; PermissionError for an address beyond this machine */
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

/**
 * Requests one vector, for the dimension. @throws OSError, RuntimeError where the endpoint fails or its response is
 * invalid
 */
export async function openEndpoint(spec: EndpointSpec): Promise<Embedder> {
  const [probe] = await request(spec, ["dimension"]);
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
      const vectors = await request(spec, texts.slice(at, at + BATCH), signal);
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

async function request(
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
  const invalid = (what: string) => new RuntimeError(`${PEER} '${name}' ${what}`);
  if (answer.status !== 200) throw invalid(`answered ${answer.status}: is model '${model}' there?`);
  const { data } = jsonObject(answer, PEER);
  if (!Array.isArray(data) || data.length !== texts.length)
    throw invalid(`did not answer with ${texts.length} vectors`);
  const vectors: Float32Array[] = new Array(texts.length);
  data.forEach((item: { index?: unknown; embedding?: unknown } | null, i) => {
    const index = typeof item?.index === "number" ? item.index : i;
    const embedding = item?.embedding;
    if (!Array.isArray(embedding) || !(index in texts)) throw invalid("answered with something other than vectors");
    vectors[index] = Float32Array.from(embedding as number[]);
  });
  for (let i = 0; i < texts.length; i++) {
    if (!vectors[i]?.every(Number.isFinite)) throw invalid("answered with something other than finite numbers");
  }
  return vectors;
}

/** The vector at unit length, so that the inner product is the cosine; a zero vector unchanged. */
function normalised(vector: Float32Array): Float32Array {
  let sum = 0;
  for (const x of vector) sum += x * x;
  const norm = Math.sqrt(sum);
  return norm > 0 ? vector.map((x) => x / norm) : vector;
}

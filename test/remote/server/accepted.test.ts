/** Forms beyond PROTOCOL.md that are accepted from other clients, in small frames and in large, decoded ones. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Answer, frame, type Raw, TestServer } from "./raw.ts";

let server: TestServer;
let raw: Raw;

beforeAll(async () => {
  server = await TestServer.start();
  raw = await server.open();
});
afterAll(() => server.stop());

/** A request as JSON writes it: an object literal has no -0, no 1e3 and no digits beyond 2^53. */
async function say(op: string, collection: string, args: string, padding = ""): Promise<Answer> {
  const more = padding && `,"padding":"${padding}"`;
  raw.send(frame(`{"op":"${op}","collection":"${collection}","args":${args},"id":5${more}}`));
  const reply = await raw.next();
  expect(reply.id).toBe(5);
  return reply.ok ? reply.result : reply.error;
}

const SIZES: [string, string][] = [
  ["small", ""],
  ["large", "x".repeat(200_000)],
];

test.each(SIZES)("integers are ids in every operation of rows, in %s frames", async (size, padding) => {
  const [v, t] = [`v ${size}`, `t ${size}`];
  await raw.ok("create_collection", v, { dim: 2 });
  await raw.ok("create_collection", t, { embedder: "bigram" });
  const ids = '[7,"x",-3,-0,1e3,9007199254740991]';
  const written = ["7", "x", "-3", "0", "1000", "9007199254740991"];
  const vectors = JSON.stringify(written.map(() => [1, 0]));
  const texts = JSON.stringify(written);
  expect(await say("add", v, `{"vectors":${vectors},"ids":${ids}}`, padding)).toEqual(written);
  expect(await say("upsert", v, '{"vectors":[[1,0],[0,1]],"ids":[7,"7"]}', padding)).toEqual(["7", "7"]);
  expect(await say("search", v, '{"vector":[0,1],"top_k":1}', padding)).toEqual({ ids: ["7"], scores: [1] });
  expect(await say("add_texts", t, `{"texts":${texts},"ids":${ids}}`, padding)).toEqual(written);
  expect(await say("upsert_texts", t, '{"texts":["a","b"],"ids":[8,8]}', padding)).toEqual(["8", "8"]);
  expect(await raw.ok("ids", t)).toEqual([...written, "8"]);
  expect(await say("add", v, '{"vectors":[[1,0]],"ids":["-3"]}', padding)).toMatch(/^KeyError: .*'-3'/);
  expect(await say("add_texts", t, '{"texts":["a","b"],"ids":["9",9]}', padding)).toMatch(/^KeyError: .*'9'/);
  for (const c of [v, t]) {
    expect(await say("delete", c, '{"ids":[7,-3,"-3",0,1000,9007199254740991]}', padding)).toBe(5);
  }
  expect(await raw.ok("ids", v)).toEqual(["x"]);
  // 9007199254740993 arrives as its neighbour, which is another id.
  for (const id of ["9007199254740993", "-9007199254740992", "1e300"]) {
    const refusal = /^ValueError: ids\[1\] is an integer beyond 2\^53 - 1.*send it as a string$/;
    expect(await say("delete", v, `{"ids":["x",${id}]}`, padding)).toMatch(refusal);
    expect(await say("add", v, `{"vectors":[[1,0],[1,0]],"ids":["y",${id}]}`, padding)).toMatch(refusal);
    expect(await say("add_texts", t, `{"texts":["a","b"],"ids":["y",${id}]}`, padding)).toMatch(refusal);
  }
  expect(await raw.ok("ids", v)).toEqual(["x"]);
});

test.each(SIZES)(
  "an empty where filters nothing, and a matrix of one row is a query, in %s frames",
  async (size, padding) => {
    const name = `q ${size}`;
    await raw.ok("create_collection", name, { embedder: "bigram" });
    const { dim } = await raw.ok("stats", name);
    await raw.ok("add_texts", name, { texts: ["one", "two"], ids: ["a", "b"], metadata: [{ scope: "x" }, null] });
    const floats = Float32Array.from({ length: dim }, (_, i) => i % 7);
    const f32 = Buffer.from(floats.buffer).toString("base64");
    const expected = await raw.ok("search", name, { vector: { f32 } });
    expect(expected.ids).toHaveLength(2);
    const forms = [[...floats], [[...floats]], { f32, shape: [1, dim] }, [{ f32 }], [{ f32, shape: [1, dim] }]];
    for (const vector of forms) {
      const args = JSON.stringify({ vector, where: {} });
      expect(await say("search", name, args, padding)).toEqual(expected);
    }
    expect((await say("search_text", name, '{"text":"one","where":{}}', padding)).ids).toEqual(["a", "b"]);
    expect(await say("ids", name, '{"where":{}}', padding)).toEqual(["a", "b"]);
    expect(await say("ids", name, '{"where":null}', padding)).toEqual(["a", "b"]);
    expect(await say("ids", name, '{"where":{"scope":"x"}}', padding)).toEqual(["a"]);
  },
);

test.each(SIZES)(
  "dim beside an embedder is a hint, and a list of one column is the partition key, in %s frames",
  async (size, padding) => {
    const name = `made ${size}`;
    const more = '"embedder":"bigram","partition_by":["tenant"],"filter_columns":["kind"],"dtype":"f32"';
    expect(await say("create_collection", name, `{"dim":384,${more}}`, padding)).toEqual({ created: name });
    const { dim, key_name } = await raw.ok("stats", name);
    expect([dim === 384, key_name]).toEqual([false, "tenant"]);
    for (const hint of [`"dim":${dim},`, '"dim":null,', "", '"dim":0,', '"dim":1000000,']) {
      expect(await say("create_collection", name, `{${hint}${more}}`, padding)).toEqual({ created: name });
    }
    expect(await say("create_collection", name, '{"dim":384,"partition_by":["tenant"]}', padding)).toMatch(
      /^ValueError: /,
    );
    await raw.ok("save", name);
    expect(await say("create_collection", name, `{"dim":1,${more}}`, padding)).toEqual({ created: name });
  },
);

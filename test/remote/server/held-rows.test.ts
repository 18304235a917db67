/** Rows of a large add wait on the decode thread for their schema; they are released however the request ends. */
import { expect, test } from "bun:test";
import { type Decoded, Decoder } from "../../../src/remote/server/requests/decoder.ts";
import { encodeFrame, FrameReader } from "../../../src/remote/wire/frame.ts";
import { large, TestServer } from "./raw.ts";

/** A body as a connection gets it: one frame of several in a chunk. */
function bodyOf(json: string, behind: Buffer): { body: Buffer; reader: FrameReader } {
  const reader = new FrameReader();
  reader.push(Buffer.from(new Uint8Array(Buffer.concat([encodeFrame(json), behind])).buffer));
  return { body: reader.next()!, reader };
}

test("frames after a large one in its chunk are still there when it is decoded", async () => {
  const decoder = new Decoder();
  for (const count of [0, 1, 2, 3, 4, 20]) {
    const behind = Buffer.concat(Array.from({ length: count }, () => encodeFrame('{"op":"ping"}')));
    const { body, reader } = bodyOf(JSON.stringify({ op: "ids", padding: "x".repeat(200_000) }), behind);
    const decoding = decoder.decode(body, () => true);
    for (let i = 0; i < count; i++) expect(reader.next()?.toString()).toBe('{"op":"ping"}');
    expect(reader.next()).toBeUndefined();
    expect(reader.bufferedBytes).toBe(0);
    expect((await decoding).request.op).toBe("ids");
  }
  decoder.stop();
});

test("rows of a request that is refused before they are packed are dropped", async () => {
  await using server = await TestServer.start();
  const original = Decoder.prototype.decode;
  let held = 0;
  let settled = 0;
  Decoder.prototype.decode = async function (body: Buffer, isWanted: () => boolean): Promise<Decoded> {
    const decoded = await original.call(this, body, isWanted);
    if (!decoded.held) return decoded;
    const inner = decoded.held;
    held++;
    let isSettled = false;
    const settle = () => {
      if (!isSettled) settled++;
      isSettled = true;
    };
    decoded.held = {
      pack: (schema) => {
        settle();
        return inner.pack(schema);
      },
      drop: () => {
        settle();
        inner.drop();
      },
    };
    return decoded;
  };
  try {
    const raw = await server.open();
    await raw.ok("create_collection", "c", { dim: 1 });
    const add = { op: "add", collection: "c", args: { vectors: [[1]] } };
    for (const request of [
      add,
      { ...add, collection: "nobody" },
      { ...add, collection: undefined },
      { ...add, args: { vectors: [[1, 2]] } },
      { ...add, id: {} },
      { ...add, id: 2 ** 60 },
      { ...add, op: "upsert", id: [] },
    ]) {
      raw.send(large(request));
      await raw.next();
      expect(`${JSON.stringify(request)}: ${held - settled} held`).toBe(`${JSON.stringify(request)}: 0 held`);
    }
    expect(held).toBe(7);
  } finally {
    Decoder.prototype.decode = original;
  }
});

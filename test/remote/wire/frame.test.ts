/** Bytes to frames: whatever the chunks, the same frames, and never more memory than what has arrived. */
import { expect, test } from "bun:test";
import { FRAME_BYTES_MAX } from "../../../src/limits.ts";
import { encodeFrame, FrameError, FrameReader } from "../../../src/remote/wire/frame.ts";
import { random } from "../../random.ts";

const header = (length: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(length);
  return bytes;
};
const framed = (body: Uint8Array) => Buffer.concat([header(body.length), body]);

/** All frames that are there now, copied. */
function drain(reader: FrameReader): Buffer[] {
  const out: Buffer[] = [];
  for (let body = reader.next(); body; body = reader.next()) out.push(Buffer.from(body));
  return out;
}

test("any stream cut anywhere gives the frames that were put in", () => {
  const seed = Date.now() >>> 0;
  const next = random(seed);
  const below = (n: number) => Math.floor(next() * n);
  for (let round = 0; round < 300; round++) {
    const bodies: Buffer[] = [];
    for (let i = below(12) + 1; i > 0; i--) {
      const size = [1, 2, 3, 5, 1 + below(40), 1 + below(3000), 1020 + below(8), 1 + below(20_000)][below(8)]!;
      bodies.push(Buffer.alloc(size, below(256)));
    }
    const stream = Buffer.concat(bodies.map(framed));
    const reader = new FrameReader();
    const seen: Buffer[] = [];
    const longest = [1, 3, 7, 100, 5000, stream.length][below(6)]!;
    // Byte by byte over a long stream would take its time and find nothing that 3 does not.
    for (let at = 0; at < stream.length; ) {
      const size = Math.min(stream.length - at, longest === 1 && stream.length > 3000 ? 3 : 1 + below(longest));
      reader.push(Buffer.from(stream.subarray(at, at + size)));
      at += size;
      // Sometimes no frame is read for a while: the next push comes while chunks remain.
      if (next() < 0.2) continue;
      if (next() < 0.2) {
        const one = reader.next();
        if (one) seen.push(Buffer.from(one));
      } else seen.push(...drain(reader));
    }
    seen.push(...drain(reader));
    const same = seen.length === bodies.length && seen.every((body, i) => body.equals(bodies[i]!));
    if (!same)
      throw new Error(`seed ${seed}, round ${round}: ${seen.length} of ${bodies.length} frames, or changed ones`);
    expect(reader.partialBytes).toBe(0);
    expect(reader.bufferedBytes).toBe(0);
  }
});

const LENGTHS = [
  { length: 0, max: FRAME_BYTES_MAX, isAllowed: false },
  { length: 1, max: FRAME_BYTES_MAX, isAllowed: true },
  { length: 4096, max: 4096, isAllowed: true },
  { length: 4097, max: 4096, isAllowed: false },
  { length: FRAME_BYTES_MAX, max: FRAME_BYTES_MAX, isAllowed: true },
  { length: FRAME_BYTES_MAX + 1, max: FRAME_BYTES_MAX, isAllowed: false },
  { length: 2 ** 31 - 1, max: FRAME_BYTES_MAX, isAllowed: false },
  { length: 2 ** 31, max: FRAME_BYTES_MAX, isAllowed: false },
  { length: 2 ** 32 - 1, max: FRAME_BYTES_MAX, isAllowed: false },
];

test.each(LENGTHS)("length $length of at most $max, its header cut at every byte", ({ length, max, isAllowed }) => {
  for (let cut = 0; cut <= 4; cut++) {
    const reader = new FrameReader(max);
    const bytes = header(length);
    reader.push(bytes.subarray(0, cut));
    const read = () => {
      expect(reader.next()).toBeUndefined();
      reader.push(bytes.subarray(cut));
      expect(reader.next()).toBeUndefined();
      // With the first byte of the body it is looked at again.
      reader.push(Buffer.of(0x7b));
      reader.next();
    };
    if (isAllowed) expect(read).not.toThrow();
    else expect(read).toThrow(FrameError);
  }
});

test("the largest body that is allowed arrives whole, one byte more is refused before it comes", () => {
  const reader = new FrameReader(10_000);
  const body = Buffer.alloc(10_000, 7);
  reader.push(framed(body));
  expect(reader.next()).toEqual(body);
  reader.push(header(10_001));
  expect(() => reader.next()).toThrow("10001");
});

test("memory follows what arrived, not what was announced", () => {
  const reader = new FrameReader();
  reader.push(header(FRAME_BYTES_MAX));
  expect(reader.next()).toBeUndefined();
  let arrived = 4;
  expect(reader.bufferedBytes).toBeLessThanOrEqual(1024);
  for (let i = 0; i < 2000; i++) {
    reader.push(Buffer.alloc(1000, 1));
    arrived += 1000;
    expect(reader.next()).toBeUndefined();
    expect(reader.partialBytes).toBe(arrived);
    expect(reader.partialBytes).toBeGreaterThan(0);
    // Doubling: at most twice what is there, and what a first step takes.
    expect(reader.bufferedBytes).toBeLessThanOrEqual(2 * arrived + 1024);
  }
});

test("thousands of frames in one chunk come out in order, and none is copied", () => {
  const bodies = Array.from({ length: 5000 }, (_, i) => Buffer.from(`{"i":${i}}`));
  const chunk = Buffer.concat(bodies.map(framed));
  const reader = new FrameReader();
  reader.push(chunk);
  for (const body of bodies) {
    const seen = reader.next()!;
    expect(seen.equals(body)).toBe(true);
    expect(seen.buffer).toBe(chunk.buffer);
  }
  expect(reader.next()).toBeUndefined();
});

test("a push while chunks remain keeps both in order, also after half a header", () => {
  const reader = new FrameReader();
  const [a, b, c] = ["a", "bb", "ccc"].map((text) => framed(Buffer.from(text))) as [Buffer, Buffer, Buffer];
  reader.push(Buffer.concat([a, b.subarray(0, 2)]));
  reader.push(b.subarray(2, 5));
  expect(reader.next()?.toString()).toBe("a");
  expect(reader.next()).toBeUndefined();
  reader.push(Buffer.concat([b.subarray(5), c]));
  reader.push(a);
  expect(drain(reader).map(String)).toEqual(["bb", "ccc", "a"]);
});

test("an allowance that changes between frames holds for the next one", () => {
  const reader = new FrameReader(4);
  reader.push(
    Buffer.concat([framed(Buffer.from("auth")), framed(Buffer.from("longer")), framed(Buffer.from("12345"))]),
  );
  expect(reader.next()?.toString()).toBe("auth");
  reader.bytesMax = 6;
  expect(reader.next()?.toString()).toBe("longer");
  reader.bytesMax = 4;
  expect(() => reader.next()).toThrow(FrameError);
});

test("an empty chunk changes nothing", () => {
  const reader = new FrameReader();
  reader.push(Buffer.alloc(0));
  expect(reader.next()).toBeUndefined();
  expect(reader.partialBytes).toBe(0);
  reader.push(framed(Buffer.from("abc")).subarray(0, 5));
  reader.next();
  reader.push(Buffer.alloc(0));
  expect(reader.next()).toBeUndefined();
  expect(reader.partialBytes).toBe(5);
});

test.each(["{}", "ü", "日本", "\u{1f600}", "x".repeat(70_000), "\ud800"])("a frame around text %#", (text) => {
  const bytes = Buffer.from(text);
  expect(encodeFrame(text)).toEqual(framed(bytes));
});

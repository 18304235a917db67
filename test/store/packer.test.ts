/** Rows packed one by one are what lists of rows are packed to. */
import { expect, test } from "bun:test";
import { encodeKey } from "../../src/store/filter.ts";
import { packRows } from "../../src/store/pack.ts";
import { Packer, release } from "../../src/store/packer.ts";
import { Put } from "../../src/store/writer.ts";
import { openStore } from "../fixture.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

test("rows packed one by one are those of lists, pack after pack", () => {
  const packer = new Packer();
  for (const [first, count] of [
    [0, 3],
    [3, 400],
    [403, 1],
  ] as const) {
    // biome-ignore format: rows of a table
    const numbers = Array.from({ length: count }, (_, at) => first + at);
    const texts = numbers.map((n) => `title ${n}\n${"é漢😀x".repeat(n)}`);
    const labels = numbers.map((n) => Array.from({ length: n % 3 }, (_, at) => `name${at}é`));
    const likes = numbers.map((n) => (n % 5 === 4 ? `like ${n}` : undefined));
    const metadata = numbers.map((n) => ({ k: `ключ ${n}`, n }));
    const ids = numbers.map((n) => `id:${n}`);
    const wanted = packRows({ ids, texts, labels, likes, metadata, dropText: true }, ["k", "n"]);
    for (const [at, id] of ids.entries()) {
      const [title, rest] = [texts[at]!.slice(0, 4), texts[at]!.slice(4)];
      const { k, n } = metadata[at]!;
      packer.add({
        id,
        text: [bytes(title), bytes(rest)],
        metadata: JSON.stringify({ k, n }),
        keys: [encodeKey(k), encodeKey(n)],
        labels: labels[at]!,
        like: likes[at],
      });
    }
    expect([packer.rows, packer.textBytes]).toEqual([count, Buffer.byteLength(texts.join(""))]);
    const pack = packer.take();
    const plain = ({ bytes, ends }: { bytes: Uint8Array; ends: BigUint64Array }) => [Buffer.from(bytes), [...ends]];
    for (const part of ["ids", "texts", "metas", "keys"] as const)
      expect(plain(pack[part])).toEqual(plain(wanted[part]!));
    // Lists that are all empty are left out.
    const hasLikes = likes.some((like) => like !== undefined);
    expect(pack.likes && plain(pack.likes)).toEqual(hasLikes ? plain(wanted.likes!) : undefined);
    const hasLabels = labels.some((list) => list.length > 0);
    expect(pack.labels && plain(pack.labels)).toEqual(hasLabels ? plain(wanted.labels!) : undefined);
    expect([pack.count, pack.dropText]).toEqual([count, true]);
  }
  expect(packer.take().count).toBe(0);
});

test("a released pack has no memory, and the next pack is whole", () => {
  const packer = new Packer();
  const add = (id: string) =>
    packer.add({ id, text: [bytes("text")], metadata: "{}", keys: [], labels: ["label"], like: undefined });
  add("a");
  const first = packer.take();
  add("b");
  const second = packer.take();
  release(first);
  const parts = [first.ids, first.texts, first.metas, first.labels];
  expect(parts.map((part) => part!.bytes.length + part!.ends.length)).toEqual([0, 0, 0, 0]);
  expect(Buffer.from(second.ids.bytes).toString()).toBe("b");
});

test("puts that follow another of their change are as new as it, and one of the next change is not", async () => {
  const store = await openStore();
  const rows = store.create("rows", { dim: 4 });
  const put = (id: string, follows: boolean) => {
    const packed = packRows({ ids: [id], vectors: new Float32Array([1, 0, 0, 0]) }, rows.schema.filterColumns);
    return { ...packed, follows, following: 3 };
  };
  const change = (ids: string[]) =>
    rows.change(async (t) => {
      for (const id of ids) {
        await t.put(Put.ADD, put(id, id !== ids[0]));
        await Bun.sleep(3);
      }
    });
  await change(["a", "b", "c"]);
  await rows.change((t) => t.put(Put.ADD, put("d", true)));
  const times = rows.get(["a", "b", "c", "d"], { times: true }).map((row) => row.found && row.times!.created);
  expect(times.slice(0, 3)).toEqual([times[0]!, times[0]!, times[0]!]);
  expect(times[3]).toBeGreaterThan(times[0] as number);
});

/** The turns before and after rows of conversations, against a search through all rows. */
import { describe, expect, test } from "bun:test";
import type { Metadata } from "../../src/checks/values.ts";
import type { Collection } from "../../src/store/collection.ts";
import { openStore } from "../fixture.ts";
import { random, unitVectors } from "../random.ts";

const DIM = 8;
/** Live rows before and after a row that are looked at. */
const REACH = 32;

async function collection(): Promise<Collection> {
  return (await openStore()).create("chats", { dim: DIM, lexical: true });
}

function add(chats: Collection, ids: readonly string[], metadata: readonly (Metadata | undefined)[]) {
  const texts = ids.map((id) => `text of ${id}`);
  return chats.upsert({ ids, texts, metadata, vectors: unitVectors(ids.length, DIM, random(ids.length)) });
}

/** The ids beside rows; an empty one for none. */
const beside = (chats: Collection, ids: readonly string[]) =>
  chats.neighbours(ids, 100).map(({ before, after }) => [before?.id ?? "", after?.id ?? ""]);

/** The same by its definition. */
function expected(chats: Collection, ids: readonly string[]): string[][] {
  const live = chats.ids();
  const turns = chats.get(live, { metadata: true });
  const order = new Map(live.map((id, i) => [id, i]));
  return chats.get(ids, { metadata: true }).map((row) => {
    const { session, turn, scope } = row.metadata ?? {};
    const others = turns.filter(
      ({ id, metadata }) =>
        session !== undefined &&
        id !== row.id &&
        metadata?.session === session &&
        metadata.scope === scope &&
        Math.abs(order.get(id)! - order.get(row.id)!) <= REACH,
    );
    const placeOf = ({ metadata, birth }: (typeof turns)[number]) => (metadata?.turn as number | undefined) ?? birth;
    const place = turn === undefined ? row.birth : (turn as number);
    const nearest = (side: typeof turns) =>
      side.sort((a, b) => Math.abs(placeOf(a) - place) - Math.abs(placeOf(b) - place))[0]?.id ?? "";
    return [nearest(others.filter((o) => placeOf(o) < place)), nearest(others.filter((o) => placeOf(o) > place))];
  });
}

test.each([1, 2, 3, 4])("random conversations, seed %d", async (seed) => {
  const next = random(seed);
  const upTo = (n: number) => Math.floor(next() * n);
  const chats = await collection();
  const turns = new Map<string, number[]>();
  /** Numbered by what is left of a shuffled list, so that the order of insertion is another one. */
  const turnOf = (session: string) => {
    const left = turns.get(session) ?? Array.from({ length: 200 }, (_, i) => i).sort(() => next() - 0.5);
    turns.set(session, left);
    return left.pop();
  };
  const row = (): Metadata | undefined => {
    const kind = upTo(6);
    const scope = `s${upTo(2)}`;
    if (kind === 0) return undefined;
    if (kind === 1) return { scope, turn: upTo(9) };
    if (kind === 2) return { scope, session: upTo(2) };
    if (kind === 3) return { scope, session: String(upTo(2)) };
    const session = `numbered ${upTo(2)}`;
    return { scope, session, turn: turnOf(`${scope} ${session}`)! };
  };
  for (let step = 0, made = 0; step < 12; step++) {
    const ids = Array.from({ length: 1 + upTo(40) }, () => `r${made++}`);
    await add(chats, ids, ids.map(row));
    const some = chats.ids().filter(() => next() < 0.1);
    if (some.length > 0) await chats.delete(some);
    if (step % 4 === 2) await chats.compact();
    if (step === 8) await chats.buildIvf(1, 0.9);
    const all = [...chats.ids(), ...some];
    expect(beside(chats, all)).toEqual([...expected(chats, chats.ids()), ...some.map(() => ["", ""])]);
  }
});

describe("neighbours", () => {
  test("are of the row's partition and session, and the rows before it by `turn`", async () => {
    const chats = await collection();
    await add(
      chats,
      ["a2", "b1", "a1", "a3", "other", "c"],
      [
        { scope: "x", session: "a", turn: 2 },
        { scope: "x", session: "b", turn: 1 },
        { scope: "x", session: "a", turn: 1 },
        { scope: "x", session: "a", turn: 3 },
        { scope: "y", session: "a", turn: 4 },
        { scope: "x" },
      ],
    );
    const ids = ["a1", "a2", "a3", "b1", "other", "c", "unknown", "a2"];
    const none = ["", ""];
    expect(beside(chats, ids)).toEqual([["", "a2"], ["a1", "a3"], ["a2", ""], none, none, none, none, ["a1", "a3"]]);
    expect(beside(chats, [])).toEqual([]);
    await chats.delete(["a2"]);
    expect(beside(chats, ["a1"])).toEqual([["", "a3"]]);
  });

  test("are as replaced, by the order in which their ids came", async () => {
    const chats = await collection();
    await add(chats, ["a", "b", "c"], Array(3).fill({ session: 1 }));
    await add(chats, ["a"], [{ session: 1 }]);
    expect(beside(chats, ["b"])).toEqual([["a", "c"]]);
    await add(chats, ["a"], [{ session: 2 }]);
    expect(beside(chats, ["b"])).toEqual([["", "c"]]);
  });

  test("have the beginnings of their texts, whole characters", async () => {
    const chats = await collection();
    const texts = ["", "\u{1f600}".repeat(5_000_000 / 4), "short"];
    const metadata = Array(3).fill({ session: "a" });
    await chats.add({ ids: ["0", "1", "2"], texts, metadata, vectors: unitVectors(3, DIM, random(1)) });
    const [first, second, third] = chats.neighbours(["0", "1", "2"], 10);
    expect(first!.after!.text).toBe("\u{1f600}".repeat(2));
    expect([second!.before!.text, second!.after!.text]).toEqual(["", "short"]);
    expect(third!.before!.text).toBe("\u{1f600}".repeat(2));
  });

  test("of 10,000 turns are the ones beside a row, whatever `turn` is", async () => {
    const chats = await collection();
    const odd = [undefined, "second", null, true, [1], { n: 1 }];
    const ids = Array.from({ length: 10_000 }, (_, i) => `r${i}`);
    const metadata = ids.map((_, i) => {
      const turn = odd[i % odd.length];
      return { session: "long", ...(turn === undefined ? {} : { turn }) } as Metadata;
    });
    await add(chats, ids, metadata);
    const neighbours = ids.map((_, i) => [ids[i - 1] ?? "", ids[i + 1] ?? ""]);
    expect(beside(chats, ids)).toEqual(neighbours);
  });
});

/** Names of collections with what they are for and what is in them, in at most so many bytes. */
import { expect, test } from "bun:test";
import { fitCollections } from "../../src/answers/collections.ts";
import { jsonBytes } from "../../src/answers/sizes.ts";

const names = Array.from({ length: 40 }, (_, i) => `name-${String(i).padStart(2, "0")}`);
const describe = (name: string) =>
  Number(name.slice(-1)) % 3 === 0 ? `of ${name}: "quoted"\n${"ä".repeat(60)}` : undefined;
const reason = (name: string) => (Number(name.slice(-1)) % 4 === 1 ? `damaged: ${"x".repeat(70)}` : undefined);
/** Of those that cannot be read every other one has no manifest. */
const lookAt = (name: string) => ({
  name,
  isSaved: reason(name) === undefined || name.endsWith("5"),
  description: describe(name),
  unreadable: reason(name),
});
const saved = names.filter((name) => lookAt(name).isSaved);
const plain = (name: string) => ({ name, isSaved: true });

test("without a bound everything is there, and no descriptions where there are none", () => {
  const all = fitCollections(0, names, lookAt);
  expect(all.collections).toEqual(saved);
  expect(all.details!.map(({ name }) => name)).toEqual(names.filter((name) => describe(name) !== undefined));
  expect(Object.keys(all.unreadable!)).toEqual(names.filter((name) => reason(name) !== undefined));
  expect(fitCollections(0, names, plain)).toEqual({ collections: names });
  expect(fitCollections(1000, [], lookAt)).toEqual({ collections: [] });
});

test("pages hold every name once, each with its description and its damage, and keep their bound", () => {
  for (const max_bytes of [1000, 1300, 2500, 100_000]) {
    const seen: string[] = [];
    const unreadable: string[] = [];
    let read = 0;
    for (let after = ""; ; ) {
      const rest = names.filter((name) => name > after);
      const page = fitCollections(max_bytes, rest, (name) => {
        read++;
        return lookAt(name);
      });
      expect(jsonBytes(page)).toBeLessThanOrEqual(max_bytes);
      for (const name of page.collections)
        expect(page.details?.find((one) => one.name === name)?.description).toBe(describe(name)!);
      for (const [name, why] of Object.entries(page.unreadable ?? {})) expect(why).toBe(reason(name)!);
      seen.push(...page.collections);
      unreadable.push(...Object.keys(page.unreadable ?? {}));
      if (page.next === undefined) break;
      expect([page.collections.at(-1), unreadable.at(-1)]).toContain(page.next);
      after = page.next;
    }
    expect(seen).toEqual(saved);
    expect(unreadable).toEqual(names.filter((name) => reason(name) !== undefined));
    // A manifest is read of those that are shown, and of a few more.
    expect(read).toBeLessThan(names.length * 2);
  }
});

test("what is said of one name is cut where it is too long alone, and the name stays", () => {
  for (const text of ["x".repeat(4000), "\u0001".repeat(600), "日本".repeat(600)]) {
    const lost = fitCollections(1000, ["a", "b"], () => ({ name: "a", isSaved: false, unreadable: text }));
    expect([lost.next, lost.collections, text.startsWith(lost.unreadable!.a!)]).toEqual(["a", [], true]);
    const both = { ...plain("a"), description: text, unreadable: "u".repeat(500) };
    for (const one of [lost, fitCollections(1000, ["a"], () => both)]) {
      expect(jsonBytes(one)).toBeLessThanOrEqual(1000);
    }
    const page = fitCollections(1000, ["a", "b"], () => ({ ...plain("a"), description: text }));
    expect(page).toMatchObject({ next: "a", collections: ["a"] });
    expect(text.startsWith(page.details![0]!.description!)).toBe(true);
    expect(jsonBytes(page)).toBeLessThanOrEqual(1000);
    expect(jsonBytes(page)).toBeGreaterThan(980);
  }
});

const scopes = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`scope-${i}`, 20 - i]));
const inside = (name: string) => ({
  ...plain(name),
  ...(name.endsWith("3") && { description: "what it is for" }),
  lookInside: () => ({ name, rows: 7, scopes, ...(name.endsWith("3") && { description: "what it is for" }) }),
});

test("what is in them takes the room that names and descriptions leave, the first ones first", () => {
  const all = fitCollections(0, names, inside).details!;
  expect(all.map(({ name, rows }) => [name, rows])).toEqual(names.map((name) => [name, 7]));
  let looked = 0;
  for (const maxBytes of [1000, 1500, 2500, 8000]) {
    const page = fitCollections(maxBytes, names, (name) => {
      const { lookInside, ...one } = inside(name);
      const counted = () => {
        looked++;
        return lookInside();
      };
      return { ...one, lookInside: counted };
    });
    expect(jsonBytes(page)).toBeLessThanOrEqual(maxBytes);
    expect(page.collections).toEqual(names);
    for (const name of names.filter((one) => one.endsWith("3"))) {
      expect(page.details).toContainEqual(expect.objectContaining({ name, description: "what it is for" }));
    }
    const whole = page.details!.filter((one) => one.scopes !== undefined);
    expect(whole).toEqual(all.slice(0, whole.length));
    expect(whole.length).toBeGreaterThan(0);
  }
  expect(looked).toBeLessThan(names.length * 3);
});

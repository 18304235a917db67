/** Names of collections with their descriptions, in at most so many bytes. */
import { expect, test } from "bun:test";
import { fitDescribed } from "../../src/answers/lists.ts";
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
  const all = fitDescribed({ max_bytes: 0 }, names, lookAt);
  expect(all.collections).toEqual(saved);
  expect(Object.keys(all.descriptions!)).toEqual(names.filter((name) => describe(name) !== undefined));
  expect(Object.keys(all.unreadable!)).toEqual(names.filter((name) => reason(name) !== undefined));
  expect(fitDescribed({ max_bytes: 0 }, names, plain)).toEqual({ collections: names });
  expect(fitDescribed({ max_bytes: 1000 }, [], lookAt)).toEqual({ collections: [] });
});

test("pages hold every name once, each with its description and its damage, and keep their bound", () => {
  for (const max_bytes of [1000, 1300, 2500, 100_000]) {
    const seen: string[] = [];
    const unreadable: string[] = [];
    let read = 0;
    for (let after = ""; ; ) {
      const rest = names.filter((name) => name > after);
      const page = fitDescribed({ max_bytes, after }, rest, (name) => {
        read++;
        return lookAt(name);
      });
      expect(jsonBytes(page)).toBeLessThanOrEqual(max_bytes);
      for (const name of page.collections) expect(page.descriptions?.[name]).toBe(describe(name)!);
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
    const lost = fitDescribed({ max_bytes: 1000 }, ["a", "b"], () => ({ name: "a", isSaved: false, unreadable: text }));
    expect([lost.next, lost.collections, text.startsWith(lost.unreadable!.a!)]).toEqual(["a", [], true]);
    const both = { ...plain("a"), description: text, unreadable: "u".repeat(500) };
    for (const one of [lost, fitDescribed({ max_bytes: 1000 }, ["a"], () => both)]) {
      expect(jsonBytes(one)).toBeLessThanOrEqual(1000);
    }
    const page = fitDescribed({ max_bytes: 1000 }, ["a", "b"], () => ({ ...plain("a"), description: text }));
    expect(page).toMatchObject({ next: "a", collections: ["a"] });
    expect(text.startsWith(page.descriptions!.a!)).toBe(true);
    expect(jsonBytes(page)).toBeLessThanOrEqual(1000);
    expect(jsonBytes(page)).toBeGreaterThan(980);
  }
});

/** Names of collections with their descriptions, in at most so many bytes. */
import { expect, test } from "bun:test";
import { fitDescribed } from "../../../src/memory/bounds/lists.ts";
import { jsonBytes } from "../../../src/memory/bounds/sizes.ts";

const names = Array.from({ length: 40 }, (_, i) => `name-${String(i).padStart(2, "0")}`);
const describe = (name: string) =>
  Number(name.slice(-1)) % 3 === 0 ? `of ${name}: "quoted"\n${"ä".repeat(60)}` : undefined;

test("without a bound everything is there, and no descriptions where there are none", () => {
  const all = fitDescribed({ max_bytes: 0 }, names, describe);
  expect(all.collections).toEqual(names);
  expect(Object.keys(all.descriptions!)).toEqual(names.filter((name) => describe(name) !== undefined));
  expect(fitDescribed({ max_bytes: 0 }, names, () => undefined)).toEqual({ collections: names });
  expect(fitDescribed({ max_bytes: 1000 }, [], describe)).toEqual({ collections: [] });
});

test("pages hold every name once, each with its description, and keep their bound", () => {
  for (const max_bytes of [1000, 1300, 2500, 100_000]) {
    const seen: string[] = [];
    let read = 0;
    for (let after = ""; ; ) {
      const rest = names.filter((name) => name > after);
      const page = fitDescribed({ max_bytes, after }, rest, (name) => {
        read++;
        return describe(name);
      });
      expect(jsonBytes(page)).toBeLessThanOrEqual(max_bytes);
      for (const name of page.collections) expect(page.descriptions?.[name]).toBe(describe(name)!);
      seen.push(...page.collections);
      if (page.next === undefined) break;
      expect(page.next).toBe(page.collections.at(-1)!);
      after = page.next;
    }
    expect(seen).toEqual(names);
    // A manifest is read of those that are shown, and of a few more.
    expect(read).toBeLessThan(names.length * 2);
  }
});

test("a description that is too long alone is cut, and its name stays", () => {
  for (const text of ["x".repeat(4000), "\u0001".repeat(600), "日本".repeat(600)]) {
    const page = fitDescribed({ max_bytes: 1000 }, ["a", "b"], () => text);
    expect(page).toMatchObject({ next: "a", collections: ["a"] });
    expect(text.startsWith(page.descriptions!.a!)).toBe(true);
    expect(jsonBytes(page)).toBeLessThanOrEqual(1000);
    expect(jsonBytes(page)).toBeGreaterThan(980);
  }
});

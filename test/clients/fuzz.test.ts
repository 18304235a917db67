/** Random files: an edit changes one entry and inserts only, its way back is exact, and broken files are refused. */
import { expect, test } from "bun:test";
import { findNodeAtLocation, type Node, parseTree } from "jsonc-parser";
import { inverse, type Notation, type PlainObject, type Splice, spliced } from "../../src/clients/edit/edit.ts";
import { JSON_NOTATION } from "../../src/clients/edit/json.ts";
import { TOML_NOTATION } from "../../src/clients/edit/toml.ts";
import { isSame, valueAt, withoutEmpty, withValue } from "../../src/clients/edit/values.ts";
import { YAML_NOTATION } from "../../src/clients/edit/yaml.ts";
import { ValueError } from "../../src/errors.ts";
import { broken, Random, randomJson, randomToml, randomYaml } from "./random.ts";

const SEED = Number(process.env.CLIENTS_SEED ?? 1);
const CASES = Number(process.env.CLIENTS_CASES ?? 600);
const KEY = "mcpServers";
const VALUE: PlainObject = { command: "/opt/a b/svc", args: ["mcp", "--workspace", 'C:\\"x" # é'] };
const MOVED: PlainObject = { command: "/usr/bin/svc", args: [] };

const NOTATIONS: [string, Notation, (random: Random, key: string) => string][] = [
  ["JSON", JSON_NOTATION, randomJson],
  ["TOML", TOML_NOTATION, randomToml],
  ["YAML", YAML_NOTATION, randomYaml],
];

/** The text after an edit, if it makes of the document what it should. */
function after(notation: Notation, text: string, splices: Splice[], expected: PlainObject[]): string {
  const result = spliced(text, splices);
  const value = notation.parse(result);
  if (!expected.some((one) => isSame(one, value))) throw new Error(`an edit made\n${result}\nof\n${text}`);
  return result;
}

for (const [name, notation, make] of NOTATIONS) {
  test(`${name}: ${CASES} files`, () => {
    for (let seed = SEED; seed < SEED + CASES; seed++) {
      const random = new Random(seed);
      const text = make(random, KEY);
      const document = notation.parse(text);
      expect(valueAt(document, [KEY, "svc"])).toBeUndefined();
      const whole = withValue(document, [KEY, "svc"], VALUE);

      const splices = notation.add(text, [KEY], "svc", VALUE);
      for (const { removed } of splices) expect(["", " {}", " null"]).toContain(removed);
      const added = after(notation, text, splices, [whole]);
      expect(spliced(added, inverse(splices))).toBe(text);

      const update = notation.update(added, [KEY], "svc", MOVED);
      const updated = after(notation, added, update, [withValue(whole, [KEY, "svc"], MOVED)]);
      expect(spliced(updated, inverse(update))).toBe(added);
      const grown = { ...VALUE, ...MOVED, env: { A: "b" } };
      const grow = notation.update(added, [KEY], "svc", grown);
      after(notation, added, grow, [withValue(whole, [KEY, "svc"], grown)]);
      const replace = notation.replace(added, [KEY], "svc", { ...MOVED, env: { A: "b" } });
      after(notation, added, replace, [withValue(whole, [KEY, "svc"], { ...MOVED, env: { A: "b" } })]);

      const made = valueAt(document, [KEY]) === undefined ? 1 : 0;
      const less = withValue(whole, [KEY, "svc"], undefined);
      const gone = withoutEmpty(less, [KEY], 1);
      after(notation, updated, notation.remove(updated, [KEY], "svc", made), made ? [gone, less] : [less, gone]);
      notation.checkKeys(updated, [KEY], "svc");
    }
  });

  test(`${name}: ${CASES} broken files`, () => {
    let refused = 0;
    for (let seed = SEED; seed < SEED + CASES; seed++) {
      const random = new Random(seed + 1_000_000);
      let text = make(random, KEY);
      for (let left = 1 + random.below(3); left > 0; left--) text = broken(random, text);
      try {
        const document = notation.parse(text);
        notation.checkKeys(text, [KEY], "svc");
        const isThere = valueAt(document, [KEY, "svc"]) !== undefined;
        const value = isThere
          ? spliced(text, notation.remove(text, [KEY], "svc", 0))
          : spliced(text, notation.add(text, [KEY], "svc", VALUE));
        notation.parse(value);
      } catch (error) {
        if (!(error instanceof ValueError))
          throw new Error(`of seed ${seed}:\n${text}\n${String((error as Error).stack)}`);
        expect(error.message.length).toBeLessThan(500);
        refused += 1;
      }
    }
    expect(refused).toBeGreaterThan(CASES / 10);
  });
}

test(`JSON: entries anywhere are removed, with white space and commas only`, () => {
  let found = 0;
  for (let seed = SEED; seed < SEED + CASES; seed++) {
    const text = randomJson(new Random(seed), KEY, "svc");
    const entry = findNodeAtLocation(parseTree(text) ?? ({} as Node), [KEY, "svc"])?.parent;
    if (!entry) continue;
    found += 1;
    const document = JSON_NOTATION.parse(text);
    const splices = JSON_NOTATION.remove(text, [KEY], "svc", 0);
    after(JSON_NOTATION, text, splices, [withValue(document, [KEY, "svc"], undefined)]);
    let rest = "";
    for (const { at, removed } of splices) {
      const end = entry.offset + entry.length;
      rest += text.slice(at, Math.max(at, Math.min(at + removed.length, entry.offset)));
      rest += text.slice(Math.min(at + removed.length, Math.max(at, end)), at + removed.length);
    }
    if (!/^[\s,]*$/.test(rest)) throw new Error(`of seed ${seed} ${JSON.stringify(rest)} went of\n${text}`);
  }
  expect(found).toBeGreaterThan(CASES / 2);
});

/** A random file in which one server of the container is called svc; undefined where it has none that can be. */
function withEntry(name: string, random: Random): string | undefined {
  const text = name === "TOML" ? randomToml(random, KEY) : randomYaml(random, KEY);
  if (name === "TOML") {
    const id = /\[ mcpServers \. "(t\d+)" \]/.exec(text)?.[1];
    return id && text.replaceAll(`"${id}"`, "svc").replaceAll(`.${id}.`, ".svc.");
  }
  const servers = valueAt(YAML_NOTATION.parse(text), [KEY]);
  const key = Object.keys(servers ?? {}).find((one) => /^k\d+$/.test(one));
  return key && text.replace(`${key}:`, "svc:");
}

for (const [name, notation] of NOTATIONS.slice(1)) {
  test(`${name}: entries anywhere are removed and replaced`, () => {
    let found = 0;
    for (let seed = SEED; seed < SEED + CASES; seed++) {
      const text = withEntry(name, new Random(seed));
      if (text === undefined) continue;
      found += 1;
      const document = notation.parse(text);
      const less = withValue(document, [KEY, "svc"], undefined);
      const removed = notation.remove(text, [KEY], "svc", 0);
      after(notation, text, removed, [less, withoutEmpty(less, [KEY], 1)]);
      const comments = (one: string) => one.split("\n").filter((line) => /^\s*#/.test(line)).length;
      const gone = removed.map((splice) => splice.removed).join("");
      expect(comments(spliced(text, removed))).toBe(comments(text) - comments(gone));
      after(notation, text, notation.replace(text, [KEY], "svc", VALUE), [withValue(document, [KEY, "svc"], VALUE)]);
    }
    expect(found).toBeGreaterThan(CASES / 10);
  });
}

/** Random files: an edit changes one entry and inserts only, its way back is exact, and broken files are refused. */
import { expect, test } from "bun:test";
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

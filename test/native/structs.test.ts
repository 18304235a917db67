/** The argument structs of ffi/structs.ts are those of ty_runtime.h, field by field. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { FIELDS, STAT_NAMES, struct } from "../../ffi/structs.ts";

const HEADER = readFileSync(join(import.meta.dir, "../../ffi/ty_runtime/ty_runtime.h"), "utf8").replace(
  /\/\*[\s\S]*?\*\//g,
  "",
);

/** The 8-byte fields of each `ty_..._args`, in order; each counter of TY_STAT_... is a field. */
function structsOfHeader(): Record<string, string[]> {
  const structs: Record<string, string[]> = {};
  for (const [, name = "", body = ""] of HEADER.matchAll(/typedef struct (ty_\w+_args) \{([^}]*)\}/g)) {
    structs[name] = body.split(";").flatMap((line) => {
      const [, type = "", names = ""] = /^\s*((?:const )?\w+) (.*)$/s.exec(line) ?? [];
      if (names === "values[TY_STAT_COUNT]") return counters();
      return names.split(",").flatMap((one) => {
        const [, pointer = "", field] = /^\s*((?:\*(?:const \*)?)?)(\w+)$/.exec(one) ?? [];
        if (field === undefined) return [];
        // Everything else would not be a word of 64 bits.
        expect([type, pointer !== "" || /^(uint64_t|double)$/.test(type)]).toEqual([type, true]);
        return field;
      });
    });
  }
  return structs;
}

function counters(): string[] {
  const [, body = ""] = /enum \{([^}]*TY_STAT_COUNT[^}]*)\}/.exec(HEADER) ?? [];
  return [...body.matchAll(/TY_STAT_(\w+)/g)].map(([, name]) => name!.toLowerCase()).slice(0, -1);
}

test("have the names and the order of the header", () => {
  expect(counters()).toEqual([...STAT_NAMES]);
  expect(structsOfHeader()).toEqual(FIELDS as never);
});

test("have fields of 64 bits, whatever they held before", () => {
  const args = struct("ty_lexical_args");
  const bytes = () => [...new BigUint64Array(args.u32.buffer)];
  for (const value of [0, 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 40 + 7, Number.MAX_SAFE_INTEGER, 5]) {
    args.none("b").integer("b", value);
    expect(args.number("b")).toBe(value);
    expect(args.bits("b")).toBe(BigInt(value));
    expect(bytes()).toEqual([0n, BigInt(value)]);
  }
  expect(bytes()).toEqual([0n, 5n]);
  args.none("b").double("k1", -0.5);
  expect([bytes()[1], args.float("k1")]).toEqual([2n ** 64n - 1n, -0.5]);
});

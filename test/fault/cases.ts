/** Damage: which bytes of which file, and how. */
import { readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Region, regionsOf } from "./layout.ts";
import { type Made, NAME } from "./stores.ts";

/** One damaged copy of a store. */
export interface Case {
  store: string;
  file: string;
  /** The structure that it is aimed at. */
  what: string;
  how: "flip" | "ones" | "truncate" | "zero page" | "missing" | "replace";
  at: number;
  bytes?: number;
  /** The file that stands in its place. */
  by?: string;
  /** The collection is open and was read when it is damaged. */
  live?: boolean;
}

const PAGE = 4096;

/** Applies the damage to a memory directory. */
export function damage(dir: string, c: Case): void {
  const path = join(dir, NAME, c.file);
  if (c.how === "missing") rmSync(path);
  else if (c.how === "truncate") truncateSync(path, c.at);
  else if (c.how === "replace") writeFileSync(path, readFileSync(c.by!));
  else {
    const file = readFileSync(path);
    if (c.how === "flip") file[c.at]! ^= 1 << (c.at % 8);
    else file.fill(c.how === "ones" ? 0xff : 0, c.at, c.at + c.bytes!);
    writeFileSync(path, file); // in place: an open file gets the same bytes
  }
}

/** Places in a region: its first, middle and last byte. */
function placesIn({ at, bytes }: Region): number[] {
  return [...new Set([at, at + (bytes >> 1), at + bytes - 1])];
}

/** All damage to a store that is aimed at a structure; `other` was made by the same recipe with another seed. */
export function casesOf(made: Made, other: Made): Case[] {
  const { recipe, states } = made;
  const store = recipe.name;
  const folder = join(states.at(-1)!, NAME);
  const out: Case[] = [];
  for (const name of readdirSync(folder).sort()) {
    const file = readFileSync(join(folder, name));
    out.push({ store, file: name, what: "whole file", how: "missing", at: 0 });
    for (const region of regionsOf(name, file)) {
      const { what, at, bytes } = region;
      for (const place of placesIn(region)) out.push({ store, file: name, what, how: "flip", at: place });
      out.push({ store, file: name, what, how: "ones", at, bytes: Math.min(bytes, 8) });
      out.push({ store, file: name, what, how: "truncate", at });
      out.push({ store, file: name, what, how: "truncate", at: at + bytes - 1 });
      if (name.endsWith(".slab")) out.push({ store, file: name, what, how: "truncate", at, live: true });
      const page = at - (at % PAGE);
      out.push({ store, file: name, what, how: "zero page", at: page, bytes: Math.min(PAGE, file.length - page) });
    }
    // With the manifest of an earlier state, whose files are there, the store is what it was then.
    const earlier = name === "collection.json" ? [] : states.slice(0, -1);
    out.push(...replacements(store, name, [...earlier, ...other.states]));
  }
  const seen = new Set<string>();
  return out.filter((c) => {
    const key = `${c.file} ${c.how} ${c.at} ${c.bytes ?? 0} ${c.by ?? ""} ${c.live ?? ""}`;
    return !seen.has(key) && seen.add(key);
  });
}

/** Files of the same role out of earlier states and of another store. */
function replacements(store: string, name: string, states: readonly string[]): Case[] {
  const role = /^[a-z_]+/.exec(name)?.[0];
  if (role === undefined) return [];
  return states.flatMap((state) =>
    readdirSync(join(state, NAME))
      .filter((file) => file.startsWith(role))
      .map((file) => ({
        store,
        file: name,
        what: "whole file",
        how: "replace" as const,
        at: 0,
        by: join(state, NAME, file),
      })),
  );
}

/** Whether what is damaged follows from other files: it must cost neither a row nor the collection. */
export function isDerived({ file, what, how }: Case, dtype: string, hasVectors: boolean): boolean {
  if (/^(ivf|lexical)-|^id_map|^\./.test(file)) return true;
  if (!file.startsWith("base-") || how === "truncate" || how === "zero page" || what.includes(":")) return false;
  if (/by value$|^squares|^padding|^partitions$|^sums/.test(what)) return true;
  return hasVectors && dtype !== "int8" && dtype !== "int4" && /^(codes|info|blocks|coding)$/.test(what);
}

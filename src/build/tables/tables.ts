/** Headers of the kernel that are made and not kept: tables that follow from a file in git or from a formula. */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { partnersHeader, readPartners } from "./partners-table.ts";
import { header, readLevels } from "./prior-table.ts";

const SOURCES = [
  join(import.meta.dir, "prior.tsv"),
  ...["meanings", "languages"].map((name) => join(import.meta.dir, `${name}.tsv`)),
  join(import.meta.dir, "prior-table.ts"),
  join(import.meta.dir, "partners-table.ts"),
  import.meta.path,
];

/** Their names below the include folder, and what makes them. */
const HEADERS: Record<string, () => string> = {
  "embed/prior_table.h": () => header(readLevels(readFileSync(join(import.meta.dir, "prior.tsv"), "utf8"))).text,
  "text/partners_table.h": () => partnersHeader({ meanings: partners("meanings"), languages: partners("languages") }),
  "isa/crc32c_table.h": crc32cTable,
};

const partners = (name: string) => readPartners(readFileSync(join(import.meta.dir, `${name}.tsv`), "utf8"));

/** The include folder of the made headers, below a cache; made where its sources have changed. */
export function madeHeaders(cache: string): string {
  const hasher = new Bun.CryptoHasher("sha256");
  for (const source of SOURCES) hasher.update(readFileSync(source)).update("\0");
  const name = hasher.digest("hex").slice(0, 20);
  const all = join(cache, "tables");
  const folder = join(all, name);
  if (existsSync(folder)) return folder;
  const temporary = join(all, `.${process.pid}-${name}`);
  for (const [file, make] of Object.entries(HEADERS)) {
    mkdirSync(dirname(join(temporary, file)), { recursive: true });
    writeFileSync(join(temporary, file), make());
  }
  try {
    renameSync(temporary, folder);
  } catch (error) {
    rmSync(temporary, { recursive: true });
    if (!existsSync(folder)) throw error; // else another build was first
  }
  return folder;
}

/** The remainders of CRC-32C for slicing by eight, from the polynomial. */
function crc32cTable(): string {
  const POLYNOMIAL = 0x82f63b78; // bits reversed
  const step = (remainder: number) => (remainder >>> 1) ^ (remainder & 1 ? POLYNOMIAL : 0);
  let row = Array.from({ length: 256 }, (_, byte) => {
    let remainder = byte;
    for (let bit = 0; bit < 8; bit++) remainder = step(remainder);
    return remainder >>> 0;
  });
  const first = row;
  let rows = "";
  for (let zeros = 0; zeros < 8; zeros++) {
    rows += `    {${row.map((remainder) => `0x${remainder.toString(16)}u`).join(", ")}},\n`;
    row = row.map((remainder) => ((remainder >>> 8) ^ first[remainder & 255]!) >>> 0);
  }
  return `/* crc32c_table[k][b]: byte b followed by k zero bytes; table[0] is that of RFC 3720. Made by src/build/tables/tables.ts. */
#ifndef AME_CRC32C_TABLE_H
#define AME_CRC32C_TABLE_H

#include <stdint.h>

static const uint32_t crc32c_table[8][256] = {
${rows}};

#endif
`;
}

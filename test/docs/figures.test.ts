/** Figures and addresses of the pages are those of the program, of src/published.ts and of the pages that they are from. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { CLIENTS } from "../../src/clients/clients.ts";
import { ANSWER_BYTES_DEFAULT, REPO_ANSWER_BYTES_DEFAULT } from "../../src/limits.ts";
import { TOOLS } from "../../src/mcp/tools.ts";
import { PROJECT_URL } from "../../src/published.ts";
import { ROOT } from "../e2e/home.ts";

const BENCHMARKS = readFileSync(join(ROOT, "docs/benchmarks.md"), "utf8").replaceAll(/\s+/g, " ");
const README = readFileSync(join(ROOT, "README.md"), "utf8").replaceAll(/\s+/g, " ");
const RANKING = readFileSync(join(ROOT, "docs/ranking.md"), "utf8");

/** The cells of a row of ranking.md that begins so. */
function row(beginning: string): string[] {
  const line = RANKING.split("\n").find((each) => each.startsWith(`| ${beginning} |`));
  return line!.split("|").map((cell) => cell.trim());
}

test("of the program", () => {
  expect(README).toContain(`${TOOLS.length} tools`);
  expect(README).toContain(`at most ${ANSWER_BYTES_DEFAULT.toLocaleString("en")} bytes`);
  expect(README).toContain(`one about a repository ${REPO_ANSWER_BYTES_DEFAULT.toLocaleString("en")}.`);
  for (const { title } of CLIENTS) expect(README).toContain(title);
  expect(README).toContain(`${CLIENTS.length} clients`);
});

test("the address for reports of vulnerabilities", () => {
  expect(readFileSync(join(ROOT, "SECURITY.md"), "utf8")).toContain(`(${PROJECT_URL}/security/advisories/new)`);
});

test("of docs/ranking.md", () => {
  const [scifact, cranfield] = [row("scifact"), row("cranfield")];
  const short = (cell: string) => cell.replace(/^0/, "");
  expect(BENCHMARKS).toContain(
    `${short(scifact[5]!)} and ${short(cranfield[5]!)} | FTS5 ${short(scifact[8]!)} and ${short(cranfield[8]!)}`,
  );
  const kinds = [
    "that share words with the note",
    "with a slip in the word that matters",
    "with another word for it",
    "in another language",
  ];
  for (const kind of kinds) {
    const [, , asked, , , , fused] = row(kind);
    expect(README).toContain(`${fused} of ${asked}`);
  }
});

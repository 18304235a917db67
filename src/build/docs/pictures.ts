/**
 * Pictures of commands on a terminal of 60 and of 120 columns, to look at: `bun src/build/docs/pictures.ts`, after a build,
 * leaves them in `.build/pictures/terminal`.
 */
import { rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stills } from "./record.ts";

const ROOT = join(import.meta.dir, "../../..");
const FOLDER = join(ROOT, ".build/pictures/terminal");
/** Texts of which an import takes long enough to show how far it is. */
const MANY = 60_000;

const rows = join(tmpdir(), `svc-pictures-${process.pid}.jsonl`);
const COMMANDS: readonly string[] = [
  "svc",
  "svc --help",
  "svc mem --help",
  "svc mem search --help",
  "svc mem search notes tea",
  "svc login --yes",
  `!svc mem import notes '${join(ROOT, "test/data/notes.jsonl")}'`,
  "svc mem search notes 'how do we switch to a new version' --top-k 3",
  "svc mem search note tea",
  "svc mem list",
  "svc mem stats notes",
  "!mkdir .claude .cursor",
  "svc mcp install --all",
  "svc mcp status",
  "svc doctor",
  `!cp '${rows}' many.jsonl`,
  "%svc mem import many many.jsonl",
];

const lines = Array.from({ length: MANY }, (_, i) => {
  return JSON.stringify({ id: `note-${i}`, text: `Note ${i}: the train at ${i % 24}:42 has sockets at every seat.` });
});
writeFileSync(rows, lines.join("\n"));
rmSync(FOLDER, { recursive: true, force: true });
try {
  for (const columns of [60, 120]) await stills(FOLDER, columns, COMMANDS);
} finally {
  rmSync(rows);
}

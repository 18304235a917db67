/**
 * What an export of a Claude account has beside conversations, in 2025 and 2026: `memories.json`, with the memory of all
 * conversations and of each project as Markdown, and `projects.json` with instructions and documents; in exports of several
 * archives a file for each account and project.
 */
import { isObject } from "../../checks/kinds.ts";
import { ValueError } from "../../errors.ts";
import { isBlankText, rowOf, timeOf } from "../input/fields.ts";
import { type Found, mapped } from "../input/json-document.ts";
import type { Remarks } from "../input/remarks.ts";
import type { ForeignRow } from "../input/row.ts";
import { blocksOf } from "../notes/blocks.ts";
import { beginning, type Fields, memoryRow } from "./turns.ts";

/** A line that is a heading: bold and nothing else, as Claude writes them, or one of Markdown. */
const HEADING = /^(?:\*\*(.+?)\*\*:?|#{1,6}[ \t]+(.+?))$/;

/** The rows of the memory of an account. @throws ValueError naming the place */
export function* memoriesOf(value: unknown, where: string, remarks: Remarks): Generator<Found> {
  if (!isObject(value) || !("conversations_memory" in value || "project_memories" in value)) {
    throw new ValueError(
      `${where}: not a memory of Claude: it has neither 'conversations_memory' nor 'project_memories': ` +
        "export the account again, or leave it out with --on-error skip",
    );
  }
  const { conversations_memory, project_memories, memory_files } = value;
  yield* entries(conversations_memory, `${where}, conversations_memory`, [], remarks);
  const projects = isObject(project_memories) ? Object.entries(project_memories) : [];
  for (const [project, text] of projects) {
    yield* entries(text, `${where}, project_memories '${project.slice(0, 80)}'`, [["project", project]], remarks);
  }
  for (const [i, one] of (Array.isArray(memory_files) ? (memory_files as unknown[]) : []).entries()) {
    if (!isObject(one)) continue;
    const path: [string, unknown][] = typeof one.path === "string" ? [["path", beginning(one.path)]] : [];
    yield* entries(one.content, `${where}, memory_files[${i}]`, path, remarks);
  }
}

/** A row for each bullet and paragraph of a memory, below its heading. */
function* entries(
  text: unknown,
  where: string,
  metadata: readonly (readonly [string, unknown])[],
  remarks: Remarks,
): Generator<Found> {
  if (typeof text !== "string" || isBlankText(text)) return;
  let heading = "";
  for (const { text: block, lead } of blocksOf(text)) {
    const [, bold, marked] = HEADING.exec(block) ?? [];
    if (bold !== undefined || marked !== undefined) {
      heading = beginning((bold ?? marked)!);
      continue;
    }
    const whole = [heading, lead ?? "", block].filter((part) => part !== "").join("\n\n");
    const fields = heading === "" ? metadata : [...metadata, ["title", heading] as const];
    yield remarks.row(() => memoryRow({ text: whole, metadata: fields }, where));
  }
}

/** The rows of a project: one for what it is and how to work in it, and one for each document. @throws as `memoriesOf` */
export function* projectOf(value: unknown, where: string, remarks: Remarks): Generator<Found> {
  if (!isObject(value) || typeof value.uuid !== "string" || typeof value.name !== "string") {
    throw new ValueError(
      `${where}: not a project of Claude: 'uuid' or 'name' is missing: export the account again, or leave it out with ` +
        "--on-error skip",
    );
  }
  if (value.is_starter_project === true) {
    remarks.add("a project that Claude begins every account with", where);
    return;
  }
  const { uuid, name, description, prompt_template, docs } = value;
  const common = [["type", "project"] as const, ["project", uuid] as const, ["title", beginning(name)] as const];
  const parts = [name, description, prompt_template].filter((part) => typeof part === "string" && !isBlankText(part));
  const times = (of: Fields) => ({ created: timeOf(of.created_at), updated: timeOf(of.updated_at) });
  if (parts.length > 1) {
    const id = `project/${uuid}`;
    yield remarks.row(() => rowOf({ id, text: parts.join("\n\n"), ...times(value), metadata: common }, where));
  }
  const list = Array.isArray(docs) ? (docs as unknown[]) : [];
  yield* mapped(list, remarks, (doc, i) => document(doc, `${where}, docs[${i}]`, { uuid, common }, remarks));
}

function document(
  doc: unknown,
  where: string,
  { uuid, common }: { uuid: string; common: readonly (readonly [string, unknown])[] },
  remarks: Remarks,
): ForeignRow | undefined {
  if (!isObject(doc)) throw new ValueError(`${where}: not an object`);
  const { uuid: own, filename, content, created_at } = doc;
  if (typeof content !== "string" || isBlankText(content)) return remarks.blank(where);
  const name = typeof filename === "string" ? beginning(filename) : "";
  const metadata = name === "" ? common : [...common, ["file", name] as const];
  const id = `project/${uuid}/${typeof own === "string" && own !== "" ? own : name}`;
  return rowOf(
    { id, text: name === "" ? content : `${name}\n\n${content}`, created: timeOf(created_at), metadata },
    where,
  );
}

/**
 * What svc finds out about a client's entry: lists that block it, an entry that wins over it, other readers of its file,
 * a file of earlier versions.
 */
import { blockOf } from "../../clients/blocks.ts";
import type { Block, Client, Override, ToolFilter } from "../../clients/client.ts";
import { currentFile, findClient, otherReaders } from "../../clients/clients.ts";
import { overrideOf } from "../../clients/overrides.ts";
import { ownNames, type readEntry } from "../../clients/plan.ts";
import { oneLine } from "../terminal/output.ts";
import { entryCommand, listed, printedFile, type Target } from "./targets.ts";

/** What svc found. */
export interface EntryFindings {
  /** What keeps the client from starting svc. */
  readonly blocked: Block | undefined;
  /** The same of a part of the client; another part has svc. */
  readonly partlyBlocked: Block | undefined;
  /** Which tools it offers, where the entry chooses. */
  readonly filter: ToolFilter | undefined;
  /** The entry of the same name that the client uses in place of this one. */
  readonly override: Override | undefined;
  /** The other clients that read the file. */
  readonly readers: readonly Client[];
  /** Where the current version of the client looks, if the entry is in a file of earlier ones. */
  readonly currentFile: string | undefined;
}

/** What is known of an entry; of one that does not start svc, only who reads its file. */
export function findingsOn(client: Client, target: Target, entry: ReturnType<typeof readEntry>): EntryFindings {
  const { scope, name, site } = target;
  const isOurs = entry.state === "present" && entry.isOurs;
  const block = isOurs ? blockOf(client, { name, scope, server: entry.server }, site) : undefined;
  return {
    blocked: block?.isPartial ? undefined : block,
    partlyBlocked: block?.isPartial ? block : undefined,
    filter: isOurs ? entry.filter : undefined,
    override: isOurs ? overrideOf(client, name, scope, site) : undefined,
    readers: otherReaders(client, scope, entry.file, site),
    currentFile: isOurs ? currentFile(client, scope, entry.file, site) : undefined,
  };
}

/** What keeps a client from starting svc, as a sentence without the client: "does not start svc: …". */
export function blockSentence({ file, key, why, effect = "does not start svc" }: Block, site: Target["site"]): string {
  return `${effect}: '${oneLine(key)}' in ${printedFile(file, site)} ${oneLine(why)}`;
}

/** The findings as sentences. @param title what the client is called in them */
export function findingSentences(
  title: string,
  client: Client,
  file: string,
  findings: EntryFindings,
  target: Target,
): string[] {
  const { scope, name, site } = target;
  const { blocked, partlyBlocked, filter, override, readers, currentFile } = findings;
  const shown = printedFile(file, site);
  const sentences: string[] = [];
  const block = blocked ?? partlyBlocked;
  if (block !== undefined) sentences.push(`${title} ${blockSentence(block, site)}`);
  if (filter !== undefined) {
    const tools = filter.tools.length === 0 ? "none" : oneLine(filter.tools.join(", "));
    sentences.push(
      `${title} ${filter.isOnly ? "offers only" : "hides"} the tools in '${filter.key}' of the entry: ${tools}`,
    );
  }
  if (override !== undefined)
    sentences.push(
      `${title}: in this project the client uses the ${override.scope === "local" ? "local " : ""}entry ` +
        `'${oneLine(name)}' in ${printedFile(override.file, site)} instead: ${client.precedence!.rule}`,
    );
  if (currentFile !== undefined) {
    const [uninstall, install] = (["uninstall", "install"] as const).map((verb) =>
      entryCommand(verb, { client, scope, name }),
    );
    sentences.push(
      `${title}: earlier versions read ${shown}, and current ones ${printedFile(currentFile, site)}: to move the entry, ` +
        `run '${uninstall}' and '${install}'`,
    );
  }
  if (readers.length > 0) sentences.push(`${title}: ${shown} is also read by ${listed(readers)}`);
  return sentences;
}

/** What became of clients, each a sentence; those whose successor has svc need none. */
export function successorSentences(clients: readonly Client[], site: Target["site"]): string[] {
  return clients.flatMap(({ successor }) => {
    if (successor === undefined) return [];
    return ownNames(findClient(successor.id), "user", site).length > 0 ? [] : [successor.sentence];
  });
}

/** The findings for programs. @param findings absent where nothing could be read */
export function findingsJson(findings: EntryFindings | undefined) {
  const {
    blocked,
    partlyBlocked,
    filter,
    override,
    readers = [],
    currentFile,
  }: Partial<EntryFindings> = findings ?? {};
  const json = (block: Block | undefined) => block && { file: block.file, key: block.key, why: block.why };
  return {
    blocked: json(blocked) ?? null,
    partly_blocked: json(partlyBlocked) ?? null,
    tool_filter: filter === undefined ? null : { key: filter.key, tools: filter.tools, only: filter.isOnly },
    overridden_by: override ?? null,
    also_read_by: readers.map(({ id }) => id),
    current_file: currentFile ?? null,
  };
}

/**
 * `call_tool`: a tool of `svc mcp` as an operation, for `svc mcp --remote`. The verbs work on the collections that the
 * other operations have open: they see changes that are not saved yet, and a tool that changes a collection saves it with
 * all of these.
 */

import type { Kernel } from "../../../ffi/ame_kernel.ts";
import { answerText } from "../../answers/answer.ts";
import type { NamedCollections } from "../../api/named-collections.ts";
import { isObject, shown } from "../../checks/kinds.ts";
import { ValueError } from "../../errors.ts";
import { parseArguments } from "../../memory/arguments.ts";
import { Memory } from "../../memory/memory.ts";
import { storedReader } from "../../memory/repos/sources.ts";
import { type CallContext, isLocalVerb, VERBS, type VerbName } from "../../memory/requests.ts";
import { withOrigin } from "../../origin.ts";
import type { SecretPolicy } from "../../secrets/policy.ts";
import { MultigramEmbedder } from "../../texts/kernel.ts";
import type { AuditEntry } from "../tokens/audit-log.ts";
import { READING_TOOLS, type Request } from "../wire/protocol.ts";
import { RawJson } from "./replies/raw-json.ts";
import type { PutSize } from "./requests/put.ts";
import type { ArgumentsOf } from "./requests/schemas.ts";

const PREFIX = "svc_";

/** Whether a `call_tool` changes nothing. */
export function isReadingTool({ args }: Request): boolean {
  return isObject(args) && typeof args.name === "string" && READING_TOOLS.has(args.name);
}

/** Who is charged for rows that a tool puts. */
interface QuotaHolder {
  charged<T>(size: PutSize, put: () => Promise<T>): Promise<T>;
}

/** Runs tools over one store. */
export class ToolRunner {
  private readonly memories = new Map<SecretPolicy, Memory>();

  constructor(
    private readonly store: Pick<NamedCollections, "shared" | "encoder" | "following">,
    private readonly kernel: Kernel,
  ) {}

  /**
   * Calls a tool; the result is its answer, as `svc mcp` gives it.
   * @throws ValueError for an unknown tool, and one that works on the client's files; what the tool throws
   */
  async call(a: ArgumentsOf<"call_tool">, quota: QuotaHolder, entry: AuditEntry): Promise<RawJson> {
    const verb = verbOf(a.name);
    const parsed = parseArguments(verb, a.arguments);
    const context: CallContext = { days: a.days, weakTexts: a.weak_texts };
    if (a.text_bytes !== undefined) context.textBytes = a.text_bytes;
    if (a.project !== undefined) context.project = a.project;
    const memory = this.memory(a.secrets ?? "store");
    const origin = { client: a.client ?? "svc serve", version: a.version, tool: a.name, session: a.session };
    // The table's verb and its arguments belong together, which the type of a union cannot express.
    const run = memory[verb].bind(memory) as (a: unknown, c: CallContext) => Promise<object>;
    const work = () => withOrigin(origin, () => run(parsed, context));
    const size = sizeOf(parsed);
    recordForAudit(entry, a.name, parsed);
    const answer = size === undefined ? await work() : await quota.charged(size, work);
    recordForAudit(entry, a.name, parsed, answer);
    return new RawJson(answerText(answer, parsed.max_bytes));
  }

  private memory(secrets: SecretPolicy): Memory {
    const known = this.memories.get(secrets);
    if (known) return known;
    const { kernel, store } = this;
    const { shared, encoder } = store;
    const memory = new Memory({
      store: shared,
      repoStore: shared,
      embedder: new MultigramEmbedder(kernel, encoder),
      outage: () => store.following?.outage,
      repositories: () => Promise.reject(new Error("the tools for repositories are not called here")),
      repositoryTexts: storedReader, // files of this machine are not for clients of the server
      secrets: secrets === "store" ? undefined : secrets,
      dispose: async () => {},
    });
    this.memories.set(secrets, memory);
    return memory;
  }
}

/** The rows of a tool that puts texts. */
function sizeOf(args: object): PutSize | undefined {
  const a: { texts?: readonly string[]; ids?: readonly string[]; metadata?: unknown } = args;
  if (a.texts === undefined) return undefined;
  const strings = [...a.texts, ...(a.ids ?? []), a.metadata === undefined ? "" : JSON.stringify(a.metadata)];
  return { rows: a.texts.length, bytes: strings.reduce((sum, text) => sum + Buffer.byteLength(text), 0) };
}

/** Records what a tool changes for the audit log, by its arguments and, afterwards, its answer. */
function recordForAudit(entry: AuditEntry, tool: string, args: object, answer: object = {}): void {
  const a: { collection?: string; name?: string; ids?: readonly string[] } = args;
  const done: { added?: number; upserted?: number; updated?: number; deleted?: number; ids?: readonly string[] } =
    answer;
  const rows = done.added ?? done.upserted ?? done.updated ?? done.deleted;
  Object.assign(entry, { tool, collection: a.collection ?? a.name, rows, ids: a.ids ?? done.ids });
}

function verbOf(name: string): VerbName {
  const verb = VERBS.find((one) => PREFIX + one === name);
  if (verb === undefined) throw new ValueError(`unknown tool ${shown(name)}`);
  if (!isLocalVerb(verb)) return verb;
  throw new ValueError(`${name} works on the files of a machine: call it there, with 'svc mcp'`);
}

/** What all `svc mem` commands share: their common flags, the one call of a verb, and the two ways to print its answer. */
import { CancelledError } from "../../errors.ts";
import { ROWS_PER_CALL_MAX } from "../../limits.ts";
import { parseArguments } from "../../memory/arguments.ts";
import type { CallContext, VerbName, Verbs } from "../../memory/requests.ts";
import type { Env } from "../../paths.ts";
import { type ArgsDef, asUsage, type Command, type CommandSpec, command, type Invocation } from "../command.ts";
import { note, print } from "../output.ts";
import { startProgress } from "../progress.ts";

/** What a verb answers. */
export type PayloadOf<V extends VerbName> = Awaited<ReturnType<Verbs[V]>>;

/** Arguments with one entry a row. */
const ROW_LISTS = ["texts", "ids", "metadata"] as const;

/** Arguments as a tool's client would send them; what is undefined was not given. */
export type RawArguments = Record<string, unknown>;

/** Flags of every `svc mem` command. */
export const COMMON = {
  path: {
    type: "string",
    valueHint: "DIR",
    description: "memory directory (SVC_MEMORY_PATH, else memory in SVC_HOME)",
  },
  json: { type: "boolean", description: "print the tool's answer as one JSON object" },
} as const satisfies ArgsDef;

/** The positional that nearly every verb begins with. */
export const COLLECTION = { type: "positional", description: "name of the collection" } as const;

/** Where a call goes and who may stop it. */
export interface CallSite {
  readonly env: Env;
  readonly signal: AbortSignal;
  readonly path?: string;
  readonly workspace?: string;
}

interface VerbSpec<V extends VerbName, T extends ArgsDef> extends Omit<CommandSpec<T>, "run"> {
  toArguments(invocation: Invocation<T & typeof COMMON>): RawArguments | Promise<RawArguments>;
  /** The answer for a person. Nothing is printed for an empty string. */
  render(payload: PayloadOf<V>): string;
  /** Said on stderr, where a person sees it and a pipe does not, when nothing was printed. */
  nothing?: string;
  /** Joins the answers where one call may not carry all rows; absent: there is always one call. */
  join?(payloads: PayloadOf<V>[]): PayloadOf<V>;
}

/** A command that is one call of one verb. */
export function verbCommand<V extends VerbName, const T extends ArgsDef>(verb: V, spec: VerbSpec<V, T>): Command {
  return command<T & typeof COMMON>({
    ...spec,
    repeatable: spec.repeatable as readonly (keyof (T & typeof COMMON) & string)[] | undefined,
    args: { ...spec.args, ...COMMON },
    async run(invocation) {
      const raw = await spec.toArguments(invocation);
      const common = invocation as unknown as Invocation<typeof COMMON>;
      const calls = (spec.join ? inCalls(raw) : [raw]).map((part) => prepare(verb, part));
      const payloads = await withMemory(siteOf(common), async (verbs, context) => {
        const answered: PayloadOf<V>[] = [];
        for (const call of calls) answered.push(await call(verbs, context));
        return answered;
      });
      const payload = payloads.length === 1 ? payloads[0]! : spec.join!(payloads);
      const printed = answer(payload, common.args.json === true, spec.render);
      if (!printed && spec.nothing !== undefined) note(spec.nothing);
    },
  });
}

/** Lists longer than one call may carry, cut side by side into several calls; each of them is all or nothing. */
function inCalls(raw: RawArguments): RawArguments[] {
  const rows = Math.max(0, ...ROW_LISTS.map((name) => (raw[name] as unknown[] | undefined)?.length ?? 0));
  if (rows <= ROWS_PER_CALL_MAX) return [raw];
  return Array.from({ length: Math.ceil(rows / ROWS_PER_CALL_MAX) }, (_, i) => {
    const part = (list: unknown) =>
      Array.isArray(list) ? list.slice(i * ROWS_PER_CALL_MAX, (i + 1) * ROWS_PER_CALL_MAX) : list;
    return { ...raw, ...Object.fromEntries(ROW_LISTS.map((name) => [name, part(raw[name])])) };
  });
}

/** Where a command's calls go. */
export function siteOf({ args, env, signal }: { args: { path?: string }; env: Env; signal: AbortSignal }): CallSite {
  return { path: args.path, env, signal };
}

/** Prints an answer. @returns whether there was anything to print */
export function answer<P>(payload: P, json: boolean, render: (payload: P) => string): boolean {
  const text = json ? JSON.stringify(payload) : render(payload);
  if (text !== "") print(text);
  return text !== "";
}

/** Checks the arguments, opens the memory, calls one verb, and lets go of the memory. */
export async function callVerb<V extends VerbName>(verb: V, raw: RawArguments, site: CallSite): Promise<PayloadOf<V>> {
  const call = prepare(verb, raw);
  return withMemory(site, call);
}

/** What is to be done with the open memory. */
export type MemoryWork<T> = (verbs: Verbs, context: CallContext) => Promise<T>;

/**
 * A call whose arguments were checked: what is wrong with them is said before a login is asked for or a file opened.
 * Arguments that a tool would refuse are wrong usage here.
 */
export function prepare<V extends VerbName>(verb: V, raw: RawArguments): MemoryWork<PayloadOf<V>> {
  const given = Object.fromEntries(Object.entries(raw).filter(([, value]) => value !== undefined));
  const parsed = asUsage(() => parseArguments(verb, given));
  return (verbs, context) => (verbs[verb] as (a: unknown, c: CallContext) => Promise<PayloadOf<V>>)(parsed, context);
}

/** Opens the memory for as long as `work` takes; progress is shown to a person, and an interruption reaches the verbs. */
export async function withMemory<T>(site: CallSite, work: MemoryWork<T>): Promise<T> {
  const { openVerbs } = await import("../gate.ts");
  const verbs = await openVerbs({ env: site.env, path: site.path, workspace: site.workspace, warn: note });
  const progress = startProgress("working");
  try {
    if (site.signal.aborted) throw new CancelledError("interrupted");
    return await work(verbs, {
      signal: site.signal,
      progress: (done, total, message) => progress.update(done, total || undefined, message),
    });
  } finally {
    progress.end();
    await verbs.close();
  }
}

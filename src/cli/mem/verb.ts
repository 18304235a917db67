/**
 * What all `svc mem` commands share: their common flags, the one call of a verb, and the two ways to print its answer.
 */
import { resolve } from "node:path";
import { answerText } from "../../answers/answer.ts";
import { CancelledError, SvcError } from "../../errors.ts";
import { ROWS_PER_CALL_MAX } from "../../limits.ts";
import { parseArguments } from "../../memory/arguments.ts";
import type { Memory } from "../../memory/memory.ts";
import { type CallContext, isLocalVerb, type Payloads, type VerbName } from "../../memory/requests.ts";
import type { SecretPolicy } from "../../secrets/policy.ts";
import { ENGINE } from "../access/engine.ts";
import type { GateOptions } from "../access/gate.ts";
import { asTerminal } from "../access/origin.ts";
import { openRemote, REMOTE, type RemoteMemory, refuseRemote, remoteMemory } from "../access/remote.ts";
import {
  type Arg,
  type Args,
  asUsage,
  type Command,
  type CommandSpec,
  command,
  type Invocation,
  JSON_FLAG,
  MEMORY_PATH,
  number,
  type Values,
} from "../terminal/command.ts";
import { asciiControls, isTerminal, note, oneLine, print } from "../terminal/output.ts";
import { startProgress } from "../terminal/progress.ts";
import { toolArguments } from "./flags.ts";
import { IndexProgress } from "./render/index-progress.ts";
import { joinAnswers } from "./render/joined.ts";
import { flagName, type RequestFlags, verbArgs } from "./request-flags.ts";
import { typedIds } from "./rows/prefixes.ts";

/** What a verb answers. */
type PayloadOf<V extends VerbName> = Payloads[V];

/** Arguments with one entry a row. */
const ROW_LISTS = ["texts", "ids", "metadata"] as const;

/** Arguments that have no flag. */
const POSITIONALS: ReadonlySet<string> = new Set(["collection", "name", "query", "path"]);

/** Arguments as a tool's client would send them; what is undefined was not given. */
export type RawArguments = Record<string, unknown>;

/** Flags of every `svc mem` command. */
export const COMMON = {
  path: MEMORY_PATH,
  ...ENGINE,
  json: JSON_FLAG,
} as const satisfies Args;

/** Flag of the commands whose answers may be long. */
export const PAGER = {
  type: "boolean",
  default: true,
  description: "show a long answer one screen at a time",
  negativeDescription: "print a long answer at once (SVC_PAGER, PAGER)",
} as const satisfies Arg;

/** Flags of the commands that print a tool's answer. */
const BOUND = {
  "max-bytes": number("N", "maximum size of the answer in bytes (0 = no limit)"),
  pager: PAGER,
} as const satisfies Args;

/** Where a call goes, and its way to be stopped: an invocation. */
type CallSite = Omit<Invocation, "args"> & {
  readonly args: {
    readonly path?: string;
    readonly workspace?: string;
    readonly secrets?: string;
    readonly remote?: string;
    readonly "engine-file"?: string;
    readonly "token-file"?: string;
    readonly "tls-ca"?: string;
    readonly "tls-cert"?: string;
    readonly "tls-key"?: string;
  };
};

/** The arguments of a verb's command: its own, those of the request, and the common ones. */
type VerbArgs<V extends VerbName, T extends Args> = T & Omit<RequestFlags<V>, keyof T> & typeof COMMON & typeof BOUND;

interface VerbSpec<V extends VerbName, T extends Args> extends Omit<CommandSpec<T>, "run"> {
  /** Positionals, and flags that are not an argument of the request or differ from it: see `verbArgs`. */
  args: T;
  /** Absent: every flag and positional is the argument of its name. */
  toArguments?(invocation: Invocation<VerbArgs<V, T>>): RawArguments | Promise<RawArguments>;
  /** What the call gets beside its arguments. */
  context?(args: Values<VerbArgs<V, T>>): CallContext;
  /** The answer for a person. Nothing is printed for an empty string. */
  render(payload: PayloadOf<V>, args: Values<VerbArgs<V, T>>): string | Promise<string>;
  /** Whether the ids may be beginnings of ids. Absent: they are ids. */
  takesPrefixes?(args: Values<VerbArgs<V, T>>): boolean;
  /** Said on stderr, where a person sees it and a pipe does not, when nothing was printed. */
  nothing?: string;
  /** Further lines, on stderr. */
  notes?(payload: PayloadOf<V>): readonly string[];
  /** What is done before, with the memory open. */
  before?(args: Values<T>): MemoryWork<void> | undefined;
  /** All rows go in one call, so that one `undo` restores them. */
  inOne?: boolean;
  /** Rows that one call may not carry go in several, whose answers are joined; absent: there is always one call. */
  join?: true;
}

/**
 * A command that is one call of one verb.
 * @param verb its request gives the flags
 * @param chosen the verb by the flags, where they choose among several
 */
export function verbCommand<V extends VerbName, const T extends Args>(
  verb: V,
  spec: VerbSpec<V, T>,
  chosen?: (args: Values<T>) => V,
): Command {
  let args: VerbArgs<V, T> | undefined;
  return command<VerbArgs<V, T>>({
    ...spec,
    // When the command is reached: a file has several commands, and each request takes time to build.
    get args() {
      const common = isLocalVerb(verb) ? { ...BOUND, ...COMMON } : { ...BOUND, ...COMMON, ...REMOTE };
      args ??= verbArgs(verb, spec.args, common) as VerbArgs<V, T>;
      return args;
    },
    async run(invocation) {
      const site = invocation as unknown as Invocation<typeof COMMON & typeof BOUND>;
      const name: V = chosen?.(invocation.args as unknown as Values<T>) ?? verb;
      const raw = await (spec.toArguments?.(invocation) ?? toolArguments(site.args));
      const max_bytes = site.args["max-bytes"];
      const parts = (spec.join || spec.inOne ? inCalls(raw) : [raw]).map((part) => ({ ...part, max_bytes }));
      const isRemote = remoteMemory(site.args, site.env) !== undefined;
      const takesPrefixes = !isRemote && spec.takesPrefixes?.(invocation.args) === true;
      const calls = (spec.inOne ? [parts] : parts.map((part) => [part])).map((each, i) =>
        prepareOne(name, each, takesPrefixes, i * ROWS_PER_CALL_MAX),
      );
      const before = spec.before?.(invocation.args as unknown as Values<T>);
      const indexing = new IndexProgress();
      const payloads = await withMemory(
        site,
        async (verbs, context) => {
          const answered: PayloadOf<V>[] = [];
          await before?.(verbs, context);
          const full = { ...context, ...spec.context?.(invocation.args) };
          for (const call of calls) answered.push(await call(verbs, full));
          return answered;
        },
        { indexing, needs: isLocalVerb(name) ? "machine" : "verbs" },
      );
      const payload = payloads.length === 1 ? payloads[0]! : joinAnswers(payloads);
      const text = site.args.json
        ? jsonOf(payload, max_bytes)
        : await spec.render(payload, invocation.args as Values<VerbArgs<V, T>>);
      if (text !== "") await show(text, site.args.pager && site.args.json !== true);
      if (!site.args.json) for (const line of spec.notes?.(payload) ?? []) note(line);
      if (!site.args.json && "notice" in payload && payload.notice !== undefined) {
        const { asCommand } = await import("./render/notices.ts");
        note(asCommand(payload.notice, payload.collection));
      }
      if (!site.args.json && "next" in payload && payload.next) note(`there is more: --after ${oneLine(payload.next)}`);
      const read = name === "index_repo" ? indexing.summary() : undefined;
      if (!site.args.json && read !== undefined) note(read);
      if (text === "" && spec.nothing !== undefined) note(spec.nothing);
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

/** Prints an answer, as JSON in at most `maxBytes` (0: no bound). @returns whether there was anything to print */
export function answer<P extends object>(
  payload: P,
  json: boolean,
  render: (payload: P) => string,
  maxBytes = 0,
): boolean {
  const text = json ? jsonOf(payload, maxBytes) : render(payload);
  if (text !== "") print(text);
  return text !== "";
}

/** An answer as JSON in at most `maxBytes` (0: no bound). */
export function jsonOf(payload: object, maxBytes = 0): string {
  return asciiControls(maxBytes === 0 ? JSON.stringify(payload) : answerText(payload, maxBytes));
}

/** Prints an answer, on a terminal with a pager where it is too long for the screen. */
export async function show(text: string, hasPager: boolean): Promise<void> {
  if (!hasPager || !isTerminal(1)) return print(text);
  const { printPaged } = await import("../terminal/pager.ts");
  await printPaged(text);
}

/**
 * What a command needs of its memory: the 19 verbs, which a memory of `svc serve` has too; the files of the memory,
 * wherever they are; or files of this machine, whose memory is here.
 */
type Needs = "verbs" | "files" | "machine";

/** What is to be done with the open memory. */
export type MemoryWork<T> = (verbs: Memory, context: CallContext) => Promise<T>;

/**
 * A call whose arguments were checked: errors in them are reported before a login is required or a file opened.
 * Arguments that a tool would refuse are wrong usage here.
 */
export function prepare<V extends VerbName>(verb: V, raw: RawArguments): MemoryWork<PayloadOf<V>> {
  return prepareOne(verb, [raw]);
}

/**
 * One call with the lists of several, each of which was checked.
 * @param takesPrefixes whether ids may be beginnings
 * @param first rows of the command line before those of the first part
 */
function prepareOne<V extends VerbName>(
  verb: V,
  parts: readonly RawArguments[],
  takesPrefixes = false,
  first = 0,
): MemoryWork<PayloadOf<V>> {
  const parsed = parts.map((part, i) => parsedOf(verb, part, first + i * ROWS_PER_CALL_MAX));
  const [head] = parsed as [RawArguments];
  const names = ROW_LISTS.filter((name) => parsed.length > 1 && Array.isArray(head[name]));
  const lists = Object.fromEntries(names.map((name) => [name, parsed.flatMap((one) => one[name] as unknown[])]));
  const given = { ...head, ...lists };
  const raw = { ...givenOf(parts[0]!), ...lists };
  return async (verbs, context) => {
    const { collection, ids } = given as { collection: string; ids?: readonly string[] };
    const whole = takesPrefixes && ids ? { ...given, ids: await typedIds(verbs, collection, ids) } : given;
    return (verbs[verb] as (a: unknown, c: CallContext) => Promise<PayloadOf<V>>)(whole, { ...context, raw });
  };
}

/** @param first rows of the command line before those of this call */
function parsedOf(verb: VerbName, raw: RawArguments, first: number): RawArguments {
  const given = givenOf(raw);
  // What is a number or a word stands after a flag; lists come from several places.
  const called = (name: string) => (typeof given[name] === "object" ? name : flagOf(name));
  try {
    return asUsage(() => parseArguments(verb, given, called)) as RawArguments;
  } catch (error) {
    if (error instanceof SvcError)
      // Texts of a command line have no brackets, and a person counts them from 1.
      error.message = error.message.replace(/^texts\[(\d+)\]/, (_, index) => `text ${first + Number(index) + 1}`);
    throw error;
  }
}

/** What was given, without a bound unless one is asked for: a terminal has room, and a script reads all of it. */
function givenOf(raw: RawArguments): RawArguments {
  return { max_bytes: 0, ...Object.fromEntries(Object.entries(raw).filter(([, value]) => value !== undefined)) };
}

/** How the terminal calls an argument of a verb. */
function flagOf(argument: string): string {
  return POSITIONALS.has(argument) ? argument : `--${flagName(argument)}`;
}

async function openHere(options: GateOptions): Promise<Memory> {
  const { openVerbs } = await import("../access/gate.ts");
  return openVerbs(options);
}

/** The 19 verbs of a memory elsewhere, and nothing else of a memory: commands that need more refuse it before. */
async function openThere(memory: RemoteMemory, secrets: SecretPolicy | undefined): Promise<Memory> {
  const { verbs, close } = await openRemote(memory, secrets, () => Promise.reject(new Error("no verb is local here")));
  return { ...verbs, close } as unknown as Memory;
}

/**
 * Opens the memory for as long as `work` takes; progress is shown to a person, and an interruption reaches the verbs.
 */
export async function withMemory<T>(
  { args, name, env, signal }: CallSite,
  work: MemoryWork<T>,
  {
    indexing = new IndexProgress(),
    stopLine,
    needs = "files",
  }: { indexing?: IndexProgress; stopLine?: string; needs?: Needs } = {},
): Promise<T> {
  if (needs === "files") refuseRemote(args, name, env);
  const workspace = args.workspace === undefined ? undefined : resolve(args.workspace);
  const secrets = args.secrets as SecretPolicy | undefined;
  const { path, "engine-file": engineFile } = args;
  const options = { label: name, feature: "memory", env, path, engineFile, workspace, secrets, stopLine } as const;
  const there = needs === "machine" ? undefined : remoteMemory(args, env);
  const verbs = there ? await openThere(there, secrets) : await openHere({ ...options, warn: note });
  const progress = startProgress(name.replace(/^svc (?:mem )?/, ""));
  try {
    if (signal.aborted) throw new CancelledError("interrupted");
    const context: CallContext = {
      signal,
      progress: (done, total, message) => {
        if (indexing.isSaving && total > 0) progress.update({ label: "saving", done, total });
        else if (!indexing.hasBegun) progress.update({ done, total, also: message });
      },
      onWork: (work) => progress.update(indexing.note(work)),
    };
    return await asTerminal(name, () => work(verbs, context));
  } finally {
    progress.end();
    await verbs.close();
  }
}

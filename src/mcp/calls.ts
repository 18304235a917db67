/**
 * The tool calls in flight. They begin in the order in which they were sent and run concurrently, each with its own
 * signal; the verbs order what must be ordered.
 * A tool's failure is a result with `isError`; protocol errors are for requests that are not a tool call.
 */
import { type CallToolResult, ErrorCode } from "@modelcontextprotocol/sdk/types.js";
import { answerText, boundedLine } from "../answers/answer.ts";
import { CancelledError, errorLine, ValueError } from "../errors.ts";
import type { DefaultScope } from "../memory/default-scope.ts";
import type { ArgumentsOf, CallContext, ClientRoots, VerbName, Verbs } from "../memory/requests.ts";
import { type Origin, withOrigin } from "../origin.ts";
import { protocolError, shortened } from "./eras.ts";
import { type ProgressSink, throttle } from "./progress.ts";
import type { Roots } from "./roots.ts";
import { findTool, isOffered, type ToolEntry, type ToolSet } from "./tools.ts";

/** Who calls, and in which era of the protocol. */
export interface Caller {
  client: Origin;
  /** The folders that the client works in; only clients of the legacy era can be asked for them. */
  roots?: Roots;
  isModern: boolean;
}

/** What every call needs, there from the first call on. */
interface Opened {
  verbs: Verbs;
  parseArguments: typeof import("../memory/arguments.ts").parseArguments;
}

/** What a server's flags decide for all of its calls. */
export interface CallOptions {
  /** The tools that may be called. */
  set: ToolSet;
  /** Searches that do not say `with_text` show the best piece of each text, and the row's day. */
  withText?: boolean | undefined;
  /** The scope of calls that name none. */
  project?: DefaultScope | undefined;
}

const NO_ROOTS: ClientRoots = { paths: [], problem: "protocol 2026-07-28 does not tell the client's roots" };

/** Bytes of each text that a search shows which does not say `with_text`: a note of a few sentences is whole. */
const PIECE_BYTES = 500;

/** A call that has begun. */
interface RunningCall {
  name: string;
  /** Why there is no such tool. */
  problem: string | undefined;
  /** Its arguments as they came. */
  raw: unknown;
  signal: AbortSignal;
  caller: Caller;
  /** Where progress goes, if the client requested it. */
  sink: ProgressSink | undefined;
}

export class Calls {
  private readonly running = new Map<AbortController, Promise<CallToolResult>>();
  private opening: Promise<Opened> | undefined;
  private isStopping = false;
  private readonly session = crypto.randomUUID().slice(0, 8);

  /**
   * @param open opens the verbs (login, verified runtime); called again while it throws
   */
  constructor(
    private readonly open: () => Promise<Verbs>,
    private readonly options: CallOptions,
  ) {}

  /**
   * The scope of the project, as far as it is known before the client can be asked for its roots; without a promise
   * where no project is asked for, so that `initialize` is answered at once.
   * @param roots those of the client, if it can have any
   */
  projectAtStart(roots?: Roots): Promise<string | undefined> | undefined {
    let isOfRoots = false;
    const noted = async () => {
      isOfRoots = roots?.isDeclared === true;
      return { paths: [] };
    };
    return this.options.project?.({ roots: noted }).then((scope) => (isOfRoots ? undefined : scope));
  }

  /**
   * Runs one tool.
   * @param signal aborted by the client's `notifications/cancelled`
   * @param sink where progress goes, if the client requested it
   * @throws a protocol error where the request is not a tool call; in the modern era also for a tool that is not offered
   */
  async run(
    params: Record<string, unknown> | undefined,
    signal: AbortSignal,
    caller: Caller,
    sink?: ProgressSink,
  ): Promise<CallToolResult> {
    const name = params?.name;
    if (typeof name !== "string") {
      throw protocolError(ErrorCode.InvalidParams, "tools/call needs the tool's name as the string params.name");
    }
    const problem = this.problemOf(name);
    if (problem !== undefined && caller.isModern) throw protocolError(ErrorCode.InvalidParams, problem);
    const controller = new AbortController();
    const forward = () => controller.abort();
    signal.addEventListener("abort", forward, { once: true });
    if (signal.aborted || this.isStopping) forward();
    const call = { name, problem, raw: params?.arguments, signal: controller.signal, caller, sink };
    const answer = this.answer(call);
    this.running.set(controller, answer);
    try {
      return await answer;
    } finally {
      this.running.delete(controller);
      signal.removeEventListener("abort", forward);
    }
  }

  /** Resolves when no call is in flight and every answer has been handed to the transport. */
  async settled(): Promise<void> {
    do {
      await Promise.all(this.running.values());
      // The SDK sends a result, and starts a handler, some microtasks later.
      await new Promise(setImmediate);
    } while (this.running.size > 0);
  }

  /** Aborts every call in flight, and those read but not begun. */
  cancelAll(): void {
    this.isStopping = true;
    for (const controller of this.running.keys()) controller.abort();
  }

  /** Performs the call; failures become a result as well. Always one text block. */
  private async answer(call: RunningCall): Promise<CallToolResult> {
    try {
      if (call.problem !== undefined) throw new ValueError(call.problem);
      const tool = findTool(call.name)!;
      return { content: [{ type: "text", text: await this.perform(tool, call) }], isError: false };
    } catch (error) {
      return { content: [{ type: "text", text: boundedLine(errorLine(error), call.raw) }], isError: true };
    }
  }

  /** Why there is no such tool here; undefined where there is one. */
  private problemOf(name: string): string | undefined {
    const tool = findTool(name);
    if (!tool) return `unknown tool '${shortened(name)}'`;
    if (isOffered(tool, this.options.set)) return undefined;
    return `${name} is not offered: this server was started with --tools ${this.options.set}`;
  }

  private async perform(tool: ToolEntry, { raw, signal, caller, sink }: RunningCall): Promise<string> {
    const { verbs, parseArguments } = await this.opened();
    const parsed = parseArguments(tool.verb, raw);
    if (signal.aborted) throw new CancelledError("the call was cancelled before it began; nothing was written");
    const progress = sink && tool.progress ? throttle(sink) : undefined;
    try {
      // The table's verb and its arguments belong together, which the type of a union cannot express.
      const verb = verbs[tool.verb].bind(verbs) as (a: unknown, c: CallContext) => Promise<object>;
      const roots = async () => (await caller.roots?.list(signal)) ?? NO_ROOTS;
      // For each tool alike: calls have to begin in the order in which they were sent.
      const project = await this.options.project?.({ roots, signal });
      const shown = this.shown(tool.verb, parsed, raw);
      const context = { signal, progress: progress?.report, roots, project, raw, ...shown };
      const origin = { ...caller.client, tool: `svc_${tool.verb}`, session: this.session };
      return answerText(await withOrigin(origin, () => verb(parsed, context)), parsed.max_bytes);
    } finally {
      progress?.end();
    }
  }

  /** What hits show where the server is to show texts: a call that says `with_text` decides it. */
  private shown(verb: VerbName, parsed: object, raw: unknown): Pick<CallContext, "textBytes" | "days" | "weakTexts"> {
    if (!this.options.withText || (verb !== "search" && verb !== "search_lexical")) return {};
    const a = parsed as ArgumentsOf<"search" | "search_lexical">;
    const isGiven = (raw as { with_text?: unknown } | null | undefined)?.with_text != null;
    if (!isGiven) a.with_text = true;
    return a.with_text ? { days: true, ...(!isGiven && { textBytes: PIECE_BYTES, weakTexts: true }) } : {};
  }

  /** Opened once; concurrent calls wait for the same opening, and the call after a failure tries again. */
  private opened(): Promise<Opened> {
    this.opening ??= this.begin().catch((error) => {
      this.opening = undefined;
      throw error;
    });
    return this.opening;
  }

  private async begin(): Promise<Opened> {
    const verbs = await this.open();
    // Loaded with the first call: `initialize` must not wait for it. Not in each call: several imports of one module
    // end in any order, and calls would begin in another order than they were sent.
    const { parseArguments } = await import("../memory/arguments.ts");
    return { verbs, parseArguments };
  }
}

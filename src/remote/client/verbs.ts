/**
 * The 19 verbs over a memory that `svc serve` has: for `svc mcp --remote`. A call crosses as it came and is parsed there
 * again; its answer is the payload that the verb makes there. Verbs about files of this machine stay here.
 */
import { isObject } from "../../checks/kinds.ts";
import { CancelledError } from "../../errors.ts";
import { type CallContext, isLocalVerb, VERBS, type VerbName, type Verbs } from "../../memory/requests.ts";
import { currentOrigin } from "../../origin.ts";
import type { SecretPolicy } from "../../secrets/policy.ts";
import { type ConnectOptions, connect, type RemoteTelys } from "./client.ts";

/** Where the memory is, and what is not there. */
export interface RemoteVerbsOptions extends ConnectOptions {
  address: string;
  /** What becomes of credentials in texts; `store` by default. */
  secrets?: SecretPolicy | undefined;
  /** The verbs over this machine's files, opened when one of theirs is first called. */
  local: () => Promise<Verbs>;
}

/** The verbs, and what ends them. */
export interface RemoteVerbs {
  verbs: Verbs;
  close(): Promise<void>;
}

/**
 * Connects. A connection that is lost later is replaced, and a call is sent again where that cannot apply it twice.
 * @throws as `connect`
 */
export async function openRemoteVerbs(options: RemoteVerbsOptions): Promise<RemoteVerbs> {
  const { address, secrets, local, ...how } = options;
  const remote = await connect(address, how);
  const verb =
    (name: VerbName) =>
    async (a: unknown, c: CallContext = {}) => {
      if (!isLocalVerb(name)) return callTool(remote, name, a, c, secrets);
      const here = await local();
      return (here[name].bind(here) as (a: unknown, c: CallContext) => Promise<object>)(a, c);
    };
  const verbs = Object.fromEntries(VERBS.map((name) => [name, verb(name)])) as unknown as Verbs;
  return { verbs, close: () => remote.close() };
}

async function callTool(
  remote: RemoteTelys,
  verb: VerbName,
  parsed: unknown,
  c: CallContext,
  secrets: SecretPolicy | undefined,
): Promise<object> {
  const { client, version, session } = currentOrigin();
  const given = c.raw ?? parsed;
  // Pieces of texts are shown where the call does not say with_text, which the other side cannot know.
  const args = c.textBytes !== undefined && isObject(given) ? { ...given, with_text: true } : given;
  const call = remote.callTool(`svc_${verb}`, args, {
    text_bytes: c.textBytes,
    days: c.days,
    weak_texts: c.weakTexts,
    project: c.project,
    secrets,
    client,
    version,
    session,
  });
  return c.signal === undefined ? call : untilCancelled(call, c.signal);
}

/** Rejects once the caller cancels. The server goes on: what it does in one call is all or nothing. */
async function untilCancelled<T>(call: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const end = () => reject(new CancelledError("the call was cancelled; the server may still carry it out"));
  if (signal.aborted) end();
  signal.addEventListener("abort", end, { once: true });
  try {
    return await Promise.race([call, promise]);
  } finally {
    signal.removeEventListener("abort", end);
  }
}

/** What an entry's server does where there is no login: with --login its first tool call signs in. */
import type { ClientSite } from "../../clients/client.ts";
import { CLIENTS } from "../../clients/clients.ts";
import { ownNames, readEntry } from "../../clients/plan.ts";
import type { ServerEntry } from "../../clients/shapes.ts";
import { attempt, errorFacts, PermissionError } from "../../errors.ts";
import { type Env, svcHome } from "../../paths.ts";
import { otherMachine } from "./served.ts";

/** What the tools of a server lack. */
export interface MissingLogin {
  /** Why they do not answer, or that the first call signs in. */
  readonly sentence: string;
  /** Whether the first call signs in. */
  readonly signsIn: boolean;
}

/** Looks at the login that an entry's server has, and writes nothing. @returns undefined where it is good */
export async function missingLogin(server: ServerEntry, env: Env): Promise<MissingLogin | undefined> {
  const own = { ...env, ...server.env };
  const { requireLogin } = await import("../../trust/account/license/credentials.ts");
  try {
    await requireLogin(svcHome(own), own, { readsOnly: true });
    return undefined;
  } catch (error) {
    const isNone = error instanceof PermissionError && error.reason === "not_logged_in";
    if (!isNone || !passesLogin(server)) return { sentence: errorFacts(error).message, signsIn: false };
    const { automaticLoginProblem } = await import("../access/automatic-login.ts");
    const why = await automaticLoginProblem(own);
    if (why !== undefined) return { sentence: why, signsIn: false };
    return { sentence: `not logged in: ${FIRST_CALL}`, signsIn: true };
  }
}

/** What a first tool call does. */
export const FIRST_CALL = "the first tool call signs in with this machine's local authority, without network";

/**
 * Titles of the clients of this machine whose server signs in by itself in this home. Where an entry uses a memory of
 * another machine, most calls need no login here.
 */
export async function clientsThatSignIn(site: ClientSite, env: Env): Promise<string[]> {
  const { automaticLoginProblem } = await import("../access/automatic-login.ts");
  if ((await automaticLoginProblem(env)) !== undefined) return [];
  const signsIn = (server: ServerEntry) =>
    otherMachine(server) === undefined &&
    passesLogin(server) &&
    attempt(() => svcHome({ ...env, ...server.env })) === svcHome(env);
  return CLIENTS.filter((client) =>
    ownNames(client, "user", site).some((name) => {
      const entry = readEntry(client, "user", name, site);
      return entry.state === "present" && entry.isOurs && !entry.disabled && signsIn(entry.server);
    }),
  ).map(({ title }) => title);
}

function passesLogin({ args }: ServerEntry): boolean {
  return args.includes("--login");
}

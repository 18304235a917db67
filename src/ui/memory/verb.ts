/** Calls a verb as the tools and `svc mem` do: the same arguments, defaults and errors. */
import { parseArguments } from "../../memory/arguments.ts";
import type { Payloads } from "../../memory/payloads.ts";
import type { ArgumentsOf, CallContext, VerbName } from "../../memory/requests.ts";
import type { Site } from "./site.ts";

/**
 * @param given arguments of the tool; what is undefined was not given. A page bounds what it shows itself
 * @throws ValueError for an argument that a tool would refuse, and what the verb throws
 */
export function call<V extends VerbName>(
  { verbs }: Pick<Site, "verbs">,
  verb: V,
  given: Readonly<Record<string, unknown>>,
  context: CallContext = {},
): Promise<Payloads[V]> {
  const present = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const raw = { max_bytes: 0, ...present };
  const run = verbs[verb] as (a: ArgumentsOf<V>, c: CallContext) => Promise<Payloads[V]>;
  return run.call(verbs, parseArguments(verb, raw) as ArgumentsOf<V>, { ...context, raw });
}

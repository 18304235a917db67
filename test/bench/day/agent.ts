/** What an agent does with a call and its answer: where an answer does not settle it, the calls that have to follow. */
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { COLLECTIONS, type DayCall, showsRight } from "./data.ts";

/** A hit as far as an agent reads it. */
interface Hit {
  id: string;
  text?: string;
  /** Where it is, in an answer about several collections. */
  collection?: string;
}

/** What came of a call. */
export interface Outcome {
  /** Texts of all answers, in order; the first is that of the call itself. */
  answers: string[];
  /** Whether the call itself was refused. */
  isRefused: boolean;
  /** Hits of each search that was answered. */
  lists: Hit[][];
}

type Arguments = DayCall["arguments"];

/** Makes a call. An agent that searches goes on until an answer shows what it looked for, or nothing is left to try. */
export async function follow(client: Client, call: DayCall): Promise<Outcome> {
  const outcome: Outcome = { answers: [], isRefused: false, lists: [] };
  if (call.right) await search(client, call, call.arguments, outcome);
  else await ask(client, call.tool, call.arguments, outcome);
  return outcome;
}

/**
 * A collection that is refused is replaced by each of those that there are; a filter that is refused is left out. Hits
 * without a text are read with svc_get, a call for each collection. Returns whether an answer shows a right note.
 */
async function search(client: Client, call: DayCall, given: Arguments, outcome: Outcome): Promise<boolean> {
  const answer = await ask(client, "svc_search", given, outcome);
  const { collection, where } = given as { collection?: string; where?: object };
  if (answer === undefined) {
    if (!COLLECTIONS.includes(collection!)) {
      for (const each of COLLECTIONS) {
        if (await search(client, call, { ...given, collection: each }, outcome)) return true;
      }
      return false;
    }
    return where !== undefined && search(client, call, { ...given, where: undefined }, outcome);
  }
  const hits = (JSON.parse(answer) as { hits?: Hit[] }).hits ?? [];
  outcome.lists.push(hits);
  if (showsRight(call, answer)) return true;
  const unread = hits.filter(({ text }) => text === undefined);
  for (const [from, own] of Map.groupBy(unread, (hit) => hit.collection ?? collection)) {
    const read = await ask(client, "svc_get", { collection: from, ids: own.map(({ id }) => id) }, outcome);
    if (showsRight(call, read ?? "")) return true;
  }
  return false;
}

/** The text of an answer, which is noted; undefined where the call is refused. */
async function ask(client: Client, name: string, given: Arguments, outcome: Outcome): Promise<string | undefined> {
  const answer = await client.callTool({ name, arguments: given }).catch((error: Error) => {
    return { isError: true, content: [{ text: error.message }] };
  });
  const [block] = answer.content as { text: string }[];
  if (outcome.answers.push(block!.text) === 1) outcome.isRefused = answer.isError === true;
  return answer.isError ? undefined : block!.text;
}

/** What the executable has indexed of a repository, with git on the machine and without. */
import { join } from "node:path";
import { copyOfHome, type Ended, svc } from "./home.ts";

/** An environment of its own in which no program is found: git is not installed. */
export function withoutGit(env: Record<string, string>): Record<string, string> {
  const own = copyOfHome(env);
  return { ...own, PATH: join(own.HOME!, "no-programs") };
}

/** `svc mem index`: its payload. @throws Error where it fails */
// biome-ignore lint/suspicious/noExplicitAny: a payload is JSON, and a test reads what it expects of it
export async function index(env: Record<string, string>, root: string, prefix: readonly string[] = []): Promise<any> {
  return payloadOf(await svc(env, ["mem", "index", root, "--json"], "", { prefix }));
}

/** Indexes a repository and lists the paths of its rows. */
export async function pathsOf(env: Record<string, string>, root: string, prefix: readonly string[] = []) {
  const { repo_id } = await index(env, root, prefix);
  const { ids } = payloadOf(await svc(env, ["mem", "ids", "repo_symbols", "--max-bytes", "0", "--json"]));
  const own = (ids as string[]).filter((id) => id.startsWith(`${repo_id}:`));
  return [...new Set(own.map((id) => id.slice(repo_id.length + 1, id.lastIndexOf(":"))))].sort();
}

/** `svc mem repo-search`: its payload. @throws Error where it fails */
export async function search(
  env: Record<string, string>,
  root: string,
  query: string,
  prefix: readonly string[] = [],
  // biome-ignore lint/suspicious/noExplicitAny: as above
): Promise<any> {
  const words = ["mem", "repo-search", query, "--workspace", root, "--with-text", "--max-bytes", "0", "--json"];
  return payloadOf(await svc(env, words, "", { prefix }));
}

function payloadOf({ code, out, err }: Ended) {
  if (code !== 0) throw new Error(`ended with ${code}: ${err}`);
  return JSON.parse(out);
}

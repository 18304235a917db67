/** `svc logout`: takes the login back, and says what stays. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { shellPath } from "../../durable.ts";
import { attempt } from "../../errors.ts";
import { accountPaths, bytecodePath, type Env, memoryPath, svcHome } from "../../paths.ts";
import { logout } from "../../trust/account/login/logout.ts";
import { pinnedAuthority } from "../runtime/pinned-authority.ts";
import { command, JSON_FLAG } from "../terminal/command.ts";
import { note, noteWhole, print, printJson } from "../terminal/output.ts";
import { fit } from "../terminal/width.ts";

export default command({
  details:
    "Removes the licence, the consent to renew it, the API key, the token, the device id and the device key, and\n" +
    "temporary files that killed runs left. The memory, the runtime, Python's bytecode and the local authority stay;\n" +
    "the output names the commands that remove them.\n\n" +
    "'svc login' makes the memory usable again, at the same authority unless you give --forget. Until then\n" +
    "'svc mcp --login' does not sign in either. No server is contacted: the organisation's administrator can end a\n" +
    "token or a key.",
  examples: ["svc logout", "svc logout --forget", "svc logout --json"],
  args: {
    forget: { type: "boolean", description: "forget the organisation's authority too, with its key and its CA" },
    json: JSON_FLAG,
  },
  async run({ args, env }) {
    const { login, temporary } = await logout(svcHome(env), { forget: args.forget });
    const stays = whatStays(env);
    const pinned = pinnedAuthority(svcHome(env));
    if (args.json) return printJson({ logged_out: login.length > 0, removed: [...login, ...temporary], pinned, stays });
    print(fit(login.length > 0 ? `logged out; removed ${login.join(", ")}` : "was not logged in"));
    if (temporary.length > 0) print(`removed temporary files of killed runs: ${temporary.length}`);
    if (pinned !== null) note(`'svc login' goes to ${pinned.url} again; 'svc logout --forget' forgets it`);
    await noteClients(env);
    if (stays.length === 0) return;
    note("what stays, and the command that removes it:");
    for (const { name, remove } of stays) noteWhole(`  ${name.padEnd(9)}  ${remove}`);
  },
});

/** Clients go on starting svc, whose tools answer that there is no login. */
async function noteClients(env: Env): Promise<void> {
  try {
    const { configuredClients, ENTRY_NAME, listed, otherEntries, siteOf } = await import("../mcp/targets.ts");
    const site = siteOf(env);
    const clients = configuredClients(site, "user", ENTRY_NAME);
    if (clients.length > 0)
      note(`MCP clients still start svc (${listed(clients)}): 'svc mcp uninstall' takes it out of them`);
    if (clients.length > 0) note("no client signs in by itself before you run 'svc login'");
    for (const line of otherEntries(site, "user", ENTRY_NAME))
      note(`an MCP client still starts svc under another name: '${line}' takes it out`);
  } catch {
    // A logout does not fail for a client's file.
  }
}

interface Stays {
  readonly name: "memory" | "runtime" | "pycache" | "authority";
  readonly path: string;
  /** The command for a shell. */
  readonly remove: string;
}

/** What a logout does not touch, as far as it is there. */
function whatStays(env: Env): Stays[] {
  const home = svcHome(env);
  const places = {
    // A logout does not fail for an address in SVC_MEMORY_PATH.
    memory: attempt(() => memoryPath(undefined, env)),
    runtime: join(home, "runtime"),
    pycache: bytecodePath(home),
    authority: accountPaths(home).authority,
  };
  return Object.entries(places)
    .flatMap(([name, path]) => (path !== undefined && existsSync(path) ? [{ name: name as Stays["name"], path }] : []))
    .map((one) => ({ ...one, remove: `rm -r ${shellPath(one.path, home)}` }));
}

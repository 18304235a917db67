/** `svc ui`: the pages on which a person sees, searches and corrects the memory. */

import { readNumber } from "../../checks/numbers.ts";
import { errorLine } from "../../errors.ts";
import type { Terminal } from "../../memory/terminal.ts";
import { memoryPath } from "../../paths.ts";
import type { Site } from "../../ui/memory/site.ts";
import { asTerminal } from "../access/origin.ts";
import { openRemote, REMOTE, remoteMemory } from "../access/remote.ts";
import { asUsage, command, type Invocation, MEMORY_PATH, number, SECRETS, type Values } from "../terminal/command.ts";
import { interrupted } from "../terminal/interrupt.ts";
import { note, print, printJson } from "../terminal/output.ts";

const ARGS = {
  path: MEMORY_PATH,
  ...REMOTE,
  "read-only": { type: "boolean", description: "refuse every change" },
  browser: {
    type: "boolean",
    default: true,
    description: "open the page in the browser",
    negativeDescription: "only print the address",
  },
  port: number("PORT", "port on 127.0.0.1 (a free one)"),
  secrets: SECRETS,
  json: { type: "boolean", description: "print {address} and open no browser" },
} as const;

export default command({
  details:
    "Shows the memory in your browser: collections, rows, searches, the history of a row, duplicates, repositories. You\n" +
    "can add, edit and delete rows, and undo changes, as durably as with 'svc mem'.\n\n" +
    "The address works once, in the browser that opens it first, and for no other user of this machine. svc ui ends\n" +
    "when you close its last tab, after 45 minutes without one, and at Ctrl-C. It contacts no other machine.\n\n" +
    "With --remote it shows a memory of 'svc serve': rows and searches, but no history and no files.",
  examples: ["svc ui", "svc ui --read-only", "svc ui --no-browser", "svc ui --remote tls://memory.example.org:8471"],
  args: ARGS,
  async run(invocation) {
    const { args, env, name, signal } = invocation;
    const port = args.port === undefined ? 0 : asUsage(() => readNumber(args.port, "--port", PORTS));
    const { site, close } = await siteOf(invocation);
    try {
      const { startUi } = await import("../../ui/server/pages-server.ts");
      await asTerminal(name, async () => {
        const ui = startUi(site, { port, onFault: (error) => note(`svc ui: ${errorLine(error)}`) });
        if (args.json) printJson({ address: ui.address });
        else print(`svc ui is at ${ui.address}`);
        if (args.browser && !args.json) await open(ui.address, env);
        note("it ends when you close its last tab, or with Ctrl-C");
        const why = await Promise.race([ui.ended, interrupted(signal).then(() => "interrupted" as const)]);
        await ui.stop();
        if (why !== "interrupted") note(why === "left" ? "the last tab was closed" : "no page was used for 45 minutes");
      });
    } finally {
      await close();
    }
  },
});

const PORTS = { integer: true, min: 1, max: 65_535 } as const;

/** The memory that flags and environment name, and how it is closed. */
async function siteOf(invocation: Invocation<typeof ARGS>): Promise<{ site: Site; close: () => Promise<void> }> {
  const { args, env, name } = invocation;
  const secrets = args.secrets as Values<typeof ARGS>["secrets"] as "store" | "refuse" | "mask" | undefined;
  const common = { readOnly: args["read-only"] === true, now: Date.now };
  const there = remoteMemory(args, env);
  if (there !== undefined) {
    const noFiles = () => Promise.reject(new Error("no verb is local here"));
    const { verbs, close } = await openRemote(there, secrets, noFiles);
    return { site: { ...common, verbs, memory: there.address }, close };
  }
  const { openStore, openVerbs } = await import("../access/gate.ts");
  const memory = await openVerbs({
    label: name,
    feature: "memory",
    env,
    path: args.path,
    secrets,
    stays: !common.readOnly,
    readsOnly: common.readOnly,
    refusal: common.readOnly ? "svc ui was started with --read-only" : undefined,
    warn: note,
  });
  const terminal = (): Promise<Terminal> => memory.terminal();
  const local: Site["local"] = {
    overview: () => memory.overview(),
    terminal,
    withStore: async (work) => {
      const store = await openStore({ env, path: args.path, warn: note, label: name });
      try {
        return await work(store);
      } finally {
        await store.close();
      }
    },
    repositories: async () => (await memory.repositories()).overview.list(),
    health: async (signal) => (await import("../doctor/doctor.ts")).examine(env, signal),
  };
  return { site: { ...common, verbs: memory, local, memory: memoryPath(args.path, env) }, close: () => memory.close() };
}

/** Opens the browser of the desktop, where there is one; the address is printed in any case. */
async function open(address: string, env: Invocation["env"]): Promise<void> {
  const { findBrowser, openBrowser } = await import("../login/browser.ts");
  const opener = findBrowser(env);
  if (opener === undefined) return note("found no browser here: open the address yourself");
  openBrowser(opener, address, () => note(`${opener} did not open the page: open the address yourself`));
}

/** `svc join`: an entry in MCP clients for the memory that an invitation leads to. */
import { type Invitation, readInvitation } from "../../remote/client/invitation.ts";
import { shellWord } from "../../shell-word.ts";
import { CONSENT_FLAGS } from "../mcp/consent.ts";
import { installChosen } from "../mcp/install-choice.ts";
import { servedEntry } from "../mcp/served.ts";
import { CLIENT_FLAGS, SCOPE_FLAG, targetOf } from "../mcp/targets.ts";
import { asUsage, command, EXIT, UsageError } from "../terminal/command.ts";
import { nextLine } from "../terminal/enter.ts";
import { readSource } from "../terminal/input.ts";
import { isTerminal, note, noteWhole } from "../terminal/output.ts";

/** A person looks for the mail first. */
const PASTE_MS = 10 * 60_000;

export default command({
  details:
    "The invitation comes from 'svc serve invite' on the server's machine. It has the server's address, the fingerprint of\n" +
    "its certificate and a token of yours. The token goes into a file of mode 0600 under SVC_HOME. The rest is\n" +
    "'svc mcp install --remote': svc is added to the clients that you choose, and the address is tried. This machine needs no\n" +
    "login. You can repeat it, and 'svc mcp uninstall' removes the entry.\n\n" +
    "An entry of the same name gets this memory in place of its own: --name adds another entry instead.\n\n" +
    "The shell's history keeps what you type. With - in its place the invitation is read from stdin; on a terminal, paste\n" +
    "it when you are asked.",
  examples: [
    "svc join 'svc1:…'",
    "svc join 'svc1:…' --client claude-code --client cursor",
    "svc join - --name team",
    "svc join - --all --dry-run < invitation",
  ],
  args: {
    invitation: {
      type: "positional",
      required: true,
      description: "the invitation, in quotes; - reads it from stdin",
    },
    ...CLIENT_FLAGS,
    scope: SCOPE_FLAG,
    ...CONSENT_FLAGS,
    "dry-run": { type: "boolean", description: "print the difference, write nothing" },
    replace: { type: "boolean", description: "replace an entry of the same name that starts another program" },
  },
  async run({ args, env, signal }) {
    const target = targetOf(args, env);
    const { address, token } = await readGiven(args.invitation, signal);
    const { flags, tokenFile } = await servedEntry({ remote: address }, target, { ...env, SVC_ACCESS_TOKEN: token });
    const code = await installChosen(args, { ...target, env, signal, ...flags, tokenFile });
    if (code === EXIT.done && !args.json && !args["dry-run"]) {
      note("on a terminal:");
      noteWhole(`  svc mem list --remote ${shellWord(address)} --token-file ${shellWord(flags["token-file"]!)}`);
    }
    return code;
  },
});

async function readGiven(given: string, signal: AbortSignal): Promise<Invitation> {
  if (given !== "-") return asUsage(() => readInvitation(given));
  if (!isTerminal(0)) return readInvitation((await readSource("-", false, signal)).join());
  // Listening first: what is typed before that is dropped.
  const line = nextLine(signal, PASTE_MS);
  note("paste the invitation, on one line, and press Enter:");
  const text = await line;
  signal.throwIfAborted();
  if (text === undefined) throw new UsageError("no invitation was pasted");
  return readInvitation(text);
}

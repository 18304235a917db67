/** `svc serve invite`: a token for a person, with the address, in one command that the person pastes. */
import { isUrl } from "../../checks/folders.ts";
import { shown } from "../../checks/kinds.ts";
import { CLIENTS, findClient } from "../../clients/clients.ts";
import { memoryPath, svcHome } from "../../paths.ts";
import { type Address, parseAddress } from "../../remote/client/address.ts";
import { invitationText } from "../../remote/client/invitation.ts";
import { addToken } from "../../remote/tokens/token-file.ts";
import { isLoopback } from "../../trust/account/trusted/endpoints.ts";
import { asUsage, command, string, strings, UsageError } from "../terminal/command.ts";
import { note, print, printJson } from "../terminal/output.ts";
import { ownFingerprint } from "./tls.ts";
import { TOKEN_ARGS, tokenJson, tokenLine, tokenWish } from "./tokens.ts";

export default command({
  details:
    "Prints one command. The person runs it where the MCP clients are: it stores the token in a private file, adds svc to\n" +
    "the clients that the person chooses, and tries the address. The token is one of 'svc serve token', with the same\n" +
    "rights: 'svc serve token list' shows it and 'svc serve token revoke' ends it.\n\n" +
    "--address HOST:PORT is for a server with --tls self. Clients then accept only the certificate of this machine, which\n" +
    "is made if there is none, so you can invite before the first start. For a certificate of an authority write\n" +
    "tls://HOST:PORT, and tcp://HOST:PORT without TLS.\n\n" +
    "The command contains the token. Send it over a private channel.",
  examples: [
    "svc serve invite ada --address team.example.org:8471",
    "svc serve invite reports --address team.example.org:8471 --read-only --expires 90d",
    "svc serve invite ben --address team.example.org:8471 --client cursor",
  ],
  args: {
    ...TOKEN_ARGS,
    address: string("ADDRESS", "where clients reach the server: its name or address in their network, and its port"),
    client: {
      ...strings("CLIENT", "the client that svc is added to; without it the person is asked"),
      completes: CLIENTS.map(({ id }) => id),
    },
  },
  async run({ args, env }) {
    const now = Date.now();
    const wish = tokenWish(args, now);
    const clients = [...new Set(args.client.map((id) => asUsage(() => findClient(id))))];
    const server = addressOf(args.address);
    const pin = server.isBare ? await ownFingerprint(svcHome(env)) : server.tls?.pin;
    const text = server.isBare ? server.text.replace(/^tcp:/, "tls:") : server.text;
    const address = pin === undefined ? text : `${text}#${pin}`;
    const { token, record } = await addToken(memoryPath(args.path, env), wish, now);
    const invitation = invitationText({ address, token });
    const line = ["svc join", `'${invitation}'`, ...clients.map(({ id }) => `--client ${id}`)].join(" ");
    const notes = reachNotes(server.host, address);
    if (args.json) {
      printJson({ invitation, command: line, address, ...tokenJson(record, now), notes });
      return;
    }
    print(line);
    note(tokenLine(record));
    note(`the invitation leads to ${address}`);
    for (const each of notes) note(each);
    note("it contains the token and is not shown again: send it over a private channel");
  },
});

/** What the operator should know of an address before it is sent to others. */
function reachNotes(host: string, address: string): string[] {
  if (isLoopback(host)) return [`note: only this machine reaches ${host}`];
  if (!address.startsWith("tcp:")) return [];
  return [
    "warning: nothing is encrypted on the way, the token included: start the server with --tls self and give " +
      `--address ${address.slice("tcp://".length)}, or use a network that you trust`,
  ];
}

/** The address of the flag; `isBare` without a scheme. @throws UsageError for none, and for one that no client can use */
function addressOf(text: string | undefined): Address & { kind: "tcp"; isBare: boolean } {
  if (text === undefined)
    throw new UsageError(
      "where do clients reach the server? give --address HOST:PORT, with the name or address of this machine in their " +
        "network and the port of 'svc serve'",
    );
  // The parser's own error lists forms that no invitation can have.
  if (/^[\w.-]+$/.test(text))
    throw new UsageError(`--address: '${text}' has no port: give HOST:PORT, with the port of 'svc serve'`);
  if (!isUrl(text) && !/:\d+$|^[./]/.test(text))
    throw new UsageError(`--address: ${shown(text)} is not HOST:PORT, such as team.example.org:8471`);
  const place = asUsage(() => parseAddress(text));
  if (place.kind === "unix")
    throw new UsageError("--address: a Unix socket is for this machine and needs no invitation: give HOST:PORT");
  if (/^(0\.0\.0\.0|[0:]+)$/.test(place.host))
    throw new UsageError(
      `--address: clients cannot connect to ${place.host}, which only tells a server where to listen: put the name or ` +
        "address of this machine in its place",
    );
  return { ...place, isBare: !isUrl(text) };
}

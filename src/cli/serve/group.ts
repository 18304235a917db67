/** `svc serve`, and what manages who may connect to it. */
import { group, withMembers } from "../terminal/citty.ts";

const token = group("svc serve token", {
  summary: "add, list and revoke tokens of people and programs",
  details:
    "A token lets one person, machine or program use the served memory, with rights of its own. Only hashes are stored,\n" +
    "in the memory directory. A running server reads changes at once.",
  examples: [
    "svc serve token add ada",
    "svc serve token add reports --collections 'team,docs-*' --read-only --expires 90d",
    "svc serve token revoke ada",
  ],
  commands: {
    add: ["add a token and print it, once", async () => (await import("./tokens.ts")).add],
    list: ["list the tokens, their rights and when they were used", async () => (await import("./tokens.ts")).list],
    revoke: ["end a token at once, on open connections too", async () => (await import("./tokens.ts")).revoke],
  },
});

export default withMembers(
  "svc serve",
  ["serve the memory to other processes and hosts over a socket", async () => (await import("./serve.ts")).default],
  {
    invite: [
      "make a token, and print the command with which its owner joins",
      async () => (await import("./invite.ts")).default,
    ],
    token,
    unit: ["print what a service manager needs to run the server", async () => (await import("./unit.ts")).default],
    status: ["show what a running server does and who uses it", async () => (await import("./status.ts")).default],
  },
);

/** MCP clients of several makers, each as a person of the team uses it. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { Client as PlainClient } from "../mcp/client.ts";
import { mcporterCalls } from "../mcp/clients/commands.ts";
import { clients } from "../mcp/clients/installed.ts";
import type { Entry } from "./office.ts";

/** The one text of an answer. */
export interface Answered {
  text: string;
  isError: boolean;
}

/** A client that runs. */
export interface Member {
  call(name: string, args: object): Promise<Answered>;
  close(): Promise<unknown>;
}

/** How one maker's client starts svc and calls its tools. */
export interface Maker {
  title: string;
  open(entry: Entry): Promise<Member>;
}

interface Result {
  content: { text?: string }[];
  isError?: boolean;
}

const answered = ({ content, isError }: Result): Answered => ({
  text: content.map(({ text }) => text ?? "").join(""),
  isError: isError === true,
});

/** The reference SDK, which begins with `initialize`. */
export const SDK_1: Maker = {
  title: "TypeScript SDK 1",
  async open({ command, args, env }) {
    const client = new Client({ name: "sdk-1", version: "1" });
    await client.connect(new StdioClientTransport({ command, args, env, cwd: env.HOME!, stderr: "ignore" }));
    return {
      call: async (name, given) =>
        answered((await client.callTool({ name, arguments: given as Record<string, unknown> })) as Result),
      close: () => client.close(),
    };
  },
};

/** No SDK: lines of JSON-RPC in the era of 2026-07-28, which knows no handshake. */
export const PLAIN: Maker = {
  title: "bare lines of 2026-07-28",
  async open({ command, args, env }) {
    const client = new PlainClient(env, [command, ...args]);
    const meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": {},
      "io.modelcontextprotocol/clientInfo": { name: "bare-lines", version: "1" },
    };
    return { call: (name, given) => client.call(name, given, meta), close: () => client.close() };
  },
};

/** The second generation of the SDK, in the era of 2026-07-28. */
export const SDK_2: Maker = {
  title: "TypeScript SDK 2",
  async open({ command, args, env }) {
    const { Client } = await import(clients.path("@modelcontextprotocol/client/dist/index.mjs"));
    const { StdioClientTransport } = await import(clients.path("@modelcontextprotocol/client/dist/stdio.mjs"));
    const client = new Client({ name: "sdk-2", version: "2" }, { versionNegotiation: { mode: { pin: "2026-07-28" } } });
    await client.connect(new StdioClientTransport({ command, args, env, cwd: env.HOME!, stderr: "ignore" }));
    return {
      call: async (name, given) => answered(await client.callTool({ name, arguments: given })),
      close: () => client.close(),
    };
  },
};

/** A command that starts svc for each call. Of a call that succeeds it prints what the text says. */
export const MCPORTER: Maker = {
  title: "mcporter",
  async open(entry) {
    const call = mcporterCalls(entry);
    return {
      async call(name, given) {
        const printed = await call({ name, arguments: given });
        const failed = printed as Result;
        return failed.isError === true ? answered(failed) : { text: JSON.stringify(printed), isError: false };
      },
      close: async () => {},
    };
  },
};

/** The SDKs of TypeScript: version 1, which knows the era of `initialize` alone, and version 2, which knows both. */
import {
  type Answer,
  type ClientRun,
  FAILING_CALL,
  GOOD_CALL,
  isFailure,
  isGood,
  LONG_CALL,
  type Server,
  type Steps,
  tried,
} from "./client.ts";
import { clients } from "./installed.ts";

interface CallOptions {
  onprogress?: (progress: { progress: number }) => void;
  signal?: AbortSignal;
}

/** The part of both SDKs' clients that is used, and the one difference in it. */
interface SdkClient {
  connect(transport: object): Promise<void>;
  listTools(): Promise<{ tools: unknown[] }>;
  close(): Promise<void>;
}
type Call = (client: SdkClient, call: object, options?: CallOptions) => Promise<Answer>;

interface Sdk {
  client: string;
  stdio: string;
  call: Call;
}

const V1: Sdk = {
  client: "@modelcontextprotocol/sdk/dist/esm/client/index.js",
  stdio: "@modelcontextprotocol/sdk/dist/esm/client/stdio.js",
  call: (client, call, options) =>
    (client as unknown as { callTool(a: object, b?: undefined, c?: object): Promise<Answer> }).callTool(
      call,
      undefined,
      options,
    ),
};
const V2: Sdk = {
  client: "@modelcontextprotocol/client/dist/index.mjs",
  stdio: "@modelcontextprotocol/client/dist/stdio.mjs",
  call: (client, call, options) =>
    (client as unknown as { callTool(a: object, b?: object): Promise<Answer> }).callTool(call, options),
};

async function drive(sdk: Sdk, options: object, server: Server): Promise<Steps> {
  const { Client } = await import(clients.path(sdk.client));
  const { StdioClientTransport } = await import(clients.path(sdk.stdio));
  const client: SdkClient = new Client({ name: "svc-clients", version: "1" }, options);
  await client.connect(new StdioClientTransport({ ...server, cwd: server.env.HOME, stderr: "ignore" }));
  try {
    return {
      tools: await tried(async () => (await client.listTools()).tools.length === 19),
      call: await tried(async () => isGood(await sdk.call(client, GOOD_CALL))),
      "failed call": await tried(async () => isFailure(await sdk.call(client, FAILING_CALL))),
      cancel: await tried(() => cancels(client, sdk.call)),
      progress: await tried(() => reportsProgress(client, sdk.call)),
    };
  } finally {
    await client.close();
  }
}

async function reportsProgress(client: SdkClient, call: Call): Promise<boolean> {
  const seen: number[] = [];
  const answer = await call(client, LONG_CALL, { onprogress: ({ progress }) => void seen.push(progress) });
  const isRising = seen.every((progress, at) => at === 0 || progress > seen[at - 1]!);
  return answer.isError === false && seen.length > 0 && isRising;
}

/** Cancels a call once it reports progress; the server has to answer the next one. */
async function cancels(client: SdkClient, call: Call): Promise<boolean> {
  const cancel = new AbortController();
  const options = { signal: cancel.signal, onprogress: () => cancel.abort(new Error("cancelled by the client")) };
  const outcome = await call(client, LONG_CALL, options).then(
    () => "answered",
    (error: Error) => error.message,
  );
  return outcome.includes("cancelled by the client") && isGood(await call(client, GOOD_CALL));
}

/** The runs of both SDKs. */
export function sdkRuns(): ClientRun[] {
  const v2 = (mode: string, versionNegotiation: object, revision: string): ClientRun => ({
    name: "TypeScript SDK",
    version: clients.versionOf("@modelcontextprotocol/client"),
    mode,
    revision,
    run: (server) => drive(V2, { versionNegotiation }, server),
  });
  return [
    {
      name: "TypeScript SDK",
      version: clients.versionOf("@modelcontextprotocol/sdk"),
      mode: "initialize",
      revision: "2025-11-25",
      run: (server) => drive(V1, {}, server),
    },
    v2("legacy", { mode: "legacy" }, "2025-11-25"),
    v2("auto", { mode: "auto" }, "2026-07-28"),
    v2("pin", { mode: { pin: "2026-07-28" } }, "2026-07-28"),
  ];
}

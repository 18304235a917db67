/** Requests of both eras and their answers. A tool that fails is a result (`isError`), never a protocol error. */
import type { RequestHandlerExtra } from "@modelcontextprotocol/sdk/shared/protocol.js";
import {
  ErrorCode,
  type ServerNotification,
  type ServerRequest,
  type ServerResult,
} from "@modelcontextprotocol/sdk/types.js";
import { isObject } from "../checks/kinds.ts";
import type { Origin } from "../origin.ts";
import type { Caller, Calls } from "./calls.ts";
import {
  type AnyRequest,
  checkModern,
  clientOf,
  completed,
  isModern,
  legacyVersion,
  MODERN_VERSIONS,
  modernClient,
  protocolError,
} from "./eras.ts";
import { instructionsFor } from "./instructions.ts";
import type { Roots } from "./roots.ts";
import { listTools, type ToolSet, toolsOf } from "./tools.ts";

/** What a request comes with: its signal, and the way to send progress. */
type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;

/** What the answers say of the server. */
export interface ServerDescription {
  serverInfo: { name: string; version: string };
  set: ToolSet;
  withText: boolean;
  /** Whether the memory is one of `svc serve`. */
  isServed?: boolean | undefined;
}

const CAPABILITIES = { tools: {} };

/**
 * How long a client may keep an answer. Only an update of svc, other flags or another project change it: the client sees
 * that at the latest after this time.
 */
const DISCOVER_TTL_MS = 3_600_000;
const TOOLS_TTL_MS = 300_000;

/** The requests of one connection. */
export class Requests {
  /** The client of the legacy era, from its `initialize`. */
  private client: Origin = {};

  constructor(
    private readonly server: ServerDescription,
    private readonly calls: Calls,
    private readonly roots: Roots,
  ) {}

  /** @throws a protocol error for what is not a request of its era */
  async answer(request: AnyRequest, extra: Extra): Promise<ServerResult> {
    if (!isModern(request)) return this.legacy(request, extra);
    checkModern(request);
    return completed(await this.modern(request, extra), this.server.serverInfo) as ServerResult;
  }

  private legacy(request: AnyRequest, extra: Extra): ServerResult | Promise<ServerResult> {
    switch (request.method) {
      case "initialize":
        return this.initialize(request.params);
      case "ping":
        return {};
      case "tools/list":
        return { tools: this.tools(request) };
      case "tools/call":
        return this.call(request, extra, { client: this.client, roots: this.roots, isModern: false });
      default:
        throw methodNotFound();
    }
  }

  private async modern(request: AnyRequest, extra: Extra): Promise<object> {
    switch (request.method) {
      case "server/discover":
        return this.discover();
      case "tools/list":
        return { tools: this.tools(request), ttlMs: TOOLS_TTL_MS, cacheScope: "public" };
      case "tools/call":
        return this.call(request, extra, { client: modernClient(request), isModern: true });
      default:
        throw methodNotFound();
    }
  }

  private initialize(params: AnyRequest["params"]): ServerResult | Promise<ServerResult> {
    const { protocolVersion: requested, capabilities, clientInfo } = params ?? {};
    if (!isObject(capabilities) || (requested != null && typeof requested !== "string")) {
      throw protocolError(
        ErrorCode.InvalidParams,
        "Invalid params: initialize needs params.capabilities, an object; params.protocolVersion, if given, is a string",
      );
    }
    this.client = clientOf(clientInfo);
    this.roots.isDeclared = capabilities.roots != null;
    this.roots.forget();
    const { serverInfo } = this.server;
    const protocolVersion = legacyVersion(requested);
    const answer = (project?: string) => {
      return { protocolVersion, capabilities: CAPABILITIES, serverInfo, instructions: this.instructions(project) };
    };
    return this.calls.projectAtStart(this.roots)?.then(answer) ?? answer();
  }

  private async discover(): Promise<object> {
    const project = await this.calls.projectAtStart();
    return {
      supportedVersions: MODERN_VERSIONS,
      capabilities: CAPABILITIES,
      instructions: this.instructions(project),
      ttlMs: DISCOVER_TTL_MS,
      // A shared cache would give the name of this project to clients in other projects.
      cacheScope: project === undefined ? "public" : "private",
    };
  }

  private call({ params }: AnyRequest, extra: Extra, caller: Caller): Promise<ServerResult> {
    const progressToken = extra._meta?.progressToken;
    if (progressToken === undefined) return this.calls.run(params, extra.signal, caller);
    return this.calls.run(params, extra.signal, caller, (progress) =>
      extra.sendNotification({ method: "notifications/progress", params: { progressToken, ...progress } }),
    );
  }

  private instructions(project: string | undefined): string {
    return instructionsFor(toolsOf(this.server.set), project, this.server.isServed);
  }

  private tools({ params }: AnyRequest) {
    if (params?.cursor) {
      throw protocolError(ErrorCode.InvalidParams, "Invalid params: the tools are one page, so there is no cursor");
    }
    return listTools(this.server.set, this.server.withText);
  }
}

function methodNotFound(): Error {
  return protocolError(ErrorCode.MethodNotFound, "Method not found");
}

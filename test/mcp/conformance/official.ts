/** The official schemas of MCP, as `schema/README.md` names them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import type { Message } from "../client.ts";

/** What is checked of a message that the server wrote. */
interface Kinds {
  /** The definition of the result of each method. */
  results: Record<string, string>;
  /** The definitions of errors that have one of their own. */
  errors: Record<number, string>;
}

const KINDS: Record<Revision, Kinds> = {
  "2025-11-25": {
    results: {
      initialize: "InitializeResult",
      ping: "EmptyResult",
      "tools/list": "ListToolsResult",
      "tools/call": "CallToolResult",
    },
    errors: {},
  },
  "2026-07-28": {
    results: {
      "server/discover": "DiscoverResult",
      "tools/list": "ListToolsResult",
      "tools/call": "CallToolResult",
    },
    errors: { [-32021]: "MissingRequiredClientCapabilityError", [-32022]: "UnsupportedProtocolVersionError" },
  },
};

/** A revision whose schema is here. */
export type Revision = "2025-11-25" | "2026-07-28";

/** One revision's schema, which names what is wrong with a message. */
export class OfficialSchema {
  private readonly ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  private readonly kinds: Kinds;

  constructor(private readonly revision: Revision) {
    this.kinds = KINDS[revision];
    this.ajv.addSchema(JSON.parse(readFileSync(join(import.meta.dir, "schema", `${revision}.json`), "utf8")), revision);
  }

  /** What is wrong with a message of a client; empty where nothing is. */
  faultsOfRequest(message: object): string[] {
    return this.faults("id" in message ? "ClientRequest" : "ClientNotification", message);
  }

  /** What is wrong with a message of the server. @param method what an answer answers */
  faultsOf(message: Message, method: string | undefined): string[] {
    const own = this.faults("JSONRPCMessage", message);
    if (message.method !== undefined) {
      return [...own, ...this.faults(message.id === undefined ? "ServerNotification" : "ServerRequest", message)];
    }
    if (message.error) {
      return [...own, ...this.faults(this.kinds.errors[message.error.code] ?? "JSONRPCErrorResponse", message)];
    }
    const kind = this.kinds.results[method ?? ""];
    return [...own, ...(kind ? this.faults(kind, message.result) : [`a result of ${method}, which has no definition`])];
  }

  private faults(definition: string, value: unknown): string[] {
    const validate = this.ajv.getSchema(`${this.revision}#/$defs/${definition}`) as ValidateFunction | undefined;
    if (!validate) return [`${this.revision} has no definition ${definition}`];
    if (validate(value)) return [];
    return [`${definition}: ${this.ajv.errorsText(validate.errors)} in ${JSON.stringify(value)?.slice(0, 500)}`];
  }
}

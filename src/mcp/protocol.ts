/**
 * The protocol's framing (requests, answers, cancellation) from the SDK, without the SDK's `Server`: that one imports
 * Ajv for an elicitation that is never made, an eighth of all code in the executable, and answers `initialize` in a way
 * that `server.ts` replaces anyway.
 */
import { Protocol } from "@modelcontextprotocol/sdk/shared/protocol.js";
import type { ServerNotification, ServerRequest, ServerResult } from "@modelcontextprotocol/sdk/types.js";

/**
 * One end of a connection to a client. What the SDK asks its subclasses to check is for servers whose capabilities are
 * put together at run time; ours are fixed, and each request to the client is sent only where it declared that it has it.
 */
export class ServerProtocol extends Protocol<ServerRequest, ServerNotification, ServerResult> {
  protected override assertCapabilityForMethod(): void {}
  protected override assertNotificationCapability(): void {}
  protected override assertRequestHandlerCapability(): void {}
  protected override assertTaskCapability(): void {}
  protected override assertTaskHandlerCapability(): void {}
}

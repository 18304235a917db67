/**
 * The protocol's framing (requests, answers, cancellation) from the SDK, without the SDK's `Server`: that one imports
 * Ajv for an elicitation that is never made, an eighth of all code in the executable, and answers `initialize` in a way
 * that `requests.ts` replaces anyway.
 */
import { Protocol } from "@modelcontextprotocol/sdk/shared/protocol.js";
import {
  CancelledNotificationSchema,
  type RequestId,
  type ServerNotification,
  type ServerRequest,
  type ServerResult,
} from "@modelcontextprotocol/sdk/types.js";

/**
 * One end of a connection to a client. What the SDK asks its subclasses to check is for servers whose capabilities are
 * put together at run time; ours are fixed, and each request to the client is sent only where it declared that it has it.
 */
export class ServerProtocol extends Protocol<ServerRequest, ServerNotification, ServerResult> {
  constructor() {
    super();
    // The modern era has no ping: requests.ts answers those of the legacy era.
    this.removeRequestHandler("ping");
    // The SDK's own handler ignores id 0, which several clients use for their first request.
    this.setNotificationHandler(CancelledNotificationSchema, ({ params: { requestId, reason } }) => {
      if (requestId !== undefined) this.inFlight.get(requestId)?.abort(reason);
    });
  }

  /** What aborts each request that is being answered. The SDK has it in a private field, and no other way to it. */
  private get inFlight(): ReadonlyMap<RequestId, AbortController> {
    type Internals = { _requestHandlerAbortControllers: Map<RequestId, AbortController> };
    return (this as unknown as Internals)._requestHandlerAbortControllers;
  }

  protected override assertCapabilityForMethod(): void {}
  protected override assertNotificationCapability(): void {}
  protected override assertRequestHandlerCapability(): void {}
  protected override assertTaskCapability(): void {}
  protected override assertTaskHandlerCapability(): void {}
}

/** A TLS proxy in front of an authority: node:https before plain http, as a reverse proxy of an organisation is. */
import { request } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Certified } from "./certificate.ts";

export interface ProxyOptions extends Certified {
  /** The port of loopback that it passes requests on to. */
  to: number;
  /** For whom it says it asks; by default the address that the connection is from. */
  forwardedFor?: string;
  /** Its own port; a free one by default. */
  port?: number;
}

/** Starts it on loopback. @returns its port, and how it ends */
export async function tlsProxy({ cert, key, to, forwardedFor, port = 0 }: ProxyOptions) {
  const server = createServer({ cert, key }, (asked, answer) => {
    const client = forwardedFor ?? asked.socket.remoteAddress ?? "";
    const headers = { ...asked.headers, "x-forwarded-for": client, "x-forwarded-proto": "https" };
    const passed = request(
      { host: "127.0.0.1", port: to, method: asked.method, path: asked.url, headers, agent: false },
      (got) => {
        answer.writeHead(got.statusCode ?? 502, got.headers);
        got.pipe(answer);
      },
    );
    passed.on("error", () => {
      if (answer.headersSent) answer.destroy();
      else answer.writeHead(502).end();
    });
    asked.pipe(passed);
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { port: (server.address() as AddressInfo).port, close, [Symbol.asyncDispose]: close };
}

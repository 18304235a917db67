/** A packages server in raw TCP, so that a test decides each byte of an answer, and where the connection breaks. */
import { type AddressInfo, createServer, type Socket } from "node:net";
import { closedAtEnd } from "../../opened.ts";

/** One request. Header names are in lower case. */
export interface ReceivedRequest {
  readonly path: string;
  readonly headers: Record<string, string>;
}

/** One answer. The connection ends after it. */
export interface Answer {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly body?: Uint8Array | string;
  /** Breaks the connection after so many bytes of the body. */
  readonly cut?: number;
  /** Sends so many bytes of the body, then nothing more, and keeps the connection. */
  readonly stop?: number;
  /** Milliseconds between pieces of the body of `pieceBytes`. */
  readonly everyMs?: number;
  readonly pieceBytes?: number;
  /** The head has no length. */
  readonly isEndless?: boolean;
}

/** @param index of the request, from 0 */
export type Answers = (asked: ReceivedRequest, index: number) => Answer;

/** Starts a server; `asked` has the requests in their order, `cut` ends all connections. */
export async function packagesServer(
  answers: Answers,
): Promise<{ url: string; asked: ReceivedRequest[]; cut: () => void; close: () => void }> {
  const asked: ReceivedRequest[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
      if (!text.includes("\r\n\r\n")) return;
      const request = parsed(text);
      text = "";
      void send(socket, answers(request, asked.push(request) - 1));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  const close = () => {
    server.close();
    cut();
  };
  closedAtEnd({ close: async () => close() });
  return { url: `http://127.0.0.1:${port}`, asked, cut, close };
}

function parsed(text: string): ReceivedRequest {
  const [first = "", ...lines] = text.split("\r\n");
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(":");
    if (colon > 0) headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
  }
  return { path: first.split(" ")[1] ?? "", headers };
}

async function send(socket: Socket, answer: Answer): Promise<void> {
  const body = Buffer.from(answer.body ?? "");
  const headers: Record<string, string> = {
    ...(!answer.isEndless && { "content-length": String(body.length) }),
    connection: "close",
    ...answer.headers,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`HTTP/1.1 ${answer.status ?? 200} x\r\n${lines.join("")}\r\n`);
  const end = answer.cut ?? answer.stop ?? body.length;
  const step = answer.pieceBytes ?? Math.max(1, end);
  for (let at = 0; at < end && socket.writable; at += step) {
    socket.write(body.subarray(at, Math.min(end, at + step)));
    if (answer.everyMs !== undefined) await Bun.sleep(answer.everyMs);
  }
  if (answer.stop === undefined) socket.end();
}

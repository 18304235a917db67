/** A packages server in raw TCP, so that a test decides each byte of an answer, and where the connection breaks. */
import { afterAll } from "bun:test";
import { type AddressInfo, createServer, type Socket } from "node:net";

/** One request, as far as downloads care. */
export interface Asked {
  readonly path: string;
  /** Lower-case names. */
  readonly headers: Record<string, string>;
  /** The first byte that is asked for; undefined where all is. */
  readonly from: number | undefined;
}

/** One answer. The connection ends after it. */
export interface Given {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly body?: Uint8Array | string;
  /** Breaks the connection after so many bytes of the body, once the client has taken them. */
  readonly cut?: number;
  /** Sends so many bytes of the body, then nothing more, and keeps the connection. */
  readonly stop?: number;
  /** Milliseconds between pieces of the body of `pieceBytes`. */
  readonly everyMs?: number;
  readonly pieceBytes?: number;
  /** Goes on for ever with zeros. */
  readonly endless?: boolean;
}

const closers: (() => void)[] = [];
afterAll(() => {
  for (const close of closers.splice(0)) close();
});

export type Answer = (asked: Asked, index: number) => Given;

/**
 * Starts a server; `asked` has the requests in their order.
 * @param taken whether a client has taken so many bytes of the document: `fetch` forgets what it has read of a
 * connection that broke before the program took it
 */
export async function packagesServer(
  answer: Answer,
  taken: (bytes: number) => boolean = () => true,
): Promise<{ url: string; asked: Asked[]; close: () => void }> {
  const asked: Asked[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
      if (!text.includes("\r\n\r\n")) return;
      asked.push(parsed(text));
      text = "";
      const given = answer(asked.at(-1)!, asked.length - 1);
      const before = given.status === 206 ? (asked.at(-1)!.from ?? 0) : 0;
      void give(socket, given, (bytes) => taken(before + bytes));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const close = () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  closers.push(close);
  return { url: `http://127.0.0.1:${port}`, asked, close };
}

/** What a server that knows ranges answers: the rest of `bytes` where `If-Range` fits, else all. */
export function honest(bytes: Uint8Array, asked: Asked, etag = '"one"'): Given {
  const { from } = asked;
  if (from === undefined || asked.headers["if-range"] !== etag) return { headers: { etag }, body: bytes };
  if (from >= bytes.length) return { status: 416, headers: { "content-range": `bytes */${bytes.length}` } };
  const range = `bytes ${from}-${bytes.length - 1}/${bytes.length}`;
  return { status: 206, headers: { etag, "content-range": range }, body: bytes.subarray(from) };
}

function parsed(text: string): Asked {
  const [first = "", ...lines] = text.split("\r\n");
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(":");
    if (colon > 0) headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
  }
  const from = /^bytes=(\d+)-$/.exec(headers.range ?? "")?.[1];
  return { path: first.split(" ")[1] ?? "", headers, from: from === undefined ? undefined : Number(from) };
}

async function give(socket: Socket, given: Given, taken: (bytes: number) => boolean): Promise<void> {
  const body = Buffer.from(given.body ?? "");
  const headers: Record<string, string> = {
    "content-length": String(body.length),
    connection: "close",
    ...given.headers,
  };
  if (given.endless) delete headers["content-length"];
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`HTTP/1.1 ${given.status ?? 200} x\r\n${lines.join("")}\r\n`);
  if (given.endless) {
    while (socket.writable) {
      if (!socket.write(Buffer.alloc(65_536)))
        await new Promise((resolve) => socket.once("drain", resolve).once("close", resolve));
    }
    return;
  }
  const end = given.cut ?? given.stop ?? body.length;
  const step = given.pieceBytes ?? Math.max(1, end);
  for (let at = 0; at < end && socket.writable; at += step) {
    socket.write(body.subarray(at, Math.min(end, at + step)));
    if (given.everyMs !== undefined) await Bun.sleep(given.everyMs);
  }
  for (let tries = 0; given.cut && !taken(given.cut) && tries < 2000; tries++) await Bun.sleep(2);
  if (given.stop === undefined) socket.end();
}

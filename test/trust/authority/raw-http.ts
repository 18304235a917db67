/** Requests as bytes, on a socket of their own: what no client library would send. */
import { connect } from "node:net";

export interface RawAnswer {
  /** All that came back. */
  readonly text: string;
  /** The status of each answer. */
  readonly statuses: number[];
  /** Whether the server closed the connection. */
  readonly closed: boolean;
}

/**
 * Sends `bytes` and reads until `answers` of them are there or the server closes.
 */
export function sendRaw(port: number, bytes: string, answers = 1): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    let text = "";
    const socket = connect(port, "127.0.0.1", () => socket.write(bytes, "latin1"));
    const statuses = () => [...text.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => Number(status));
    const done = (closed: boolean) => {
      socket.destroy();
      resolve({ text, statuses: statuses(), closed });
    };
    socket.on("data", (data) => {
      text += data.toString("latin1");
      if (statuses().length >= answers && /(?:}|<\/html>\n)$/.test(text)) done(false);
    });
    socket.on("close", () => done(true));
    socket.on("error", reject);
  });
}

/** A request's head without a body. */
export function head(line: string, headers: Record<string, string> = { host: "127.0.0.1" }): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return `${[`${line} HTTP/1.1`, ...lines].join("\r\n")}\r\n\r\n`;
}

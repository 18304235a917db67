/** Where a server is: the forms of an address that `connect` takes. */
import { shown } from "../../checks/kinds.ts";
import { ArgumentTypeError, ValueError } from "../../errors.ts";
import { FINGERPRINT } from "../wire/fingerprint.ts";

/** A place to connect to. `text` is its full form, as messages show it. */
export type Address =
  | { readonly kind: "unix"; readonly path: string; readonly text: string }
  | {
      readonly kind: "tcp";
      readonly host: string;
      readonly port: number;
      /** Undefined without TLS; with a fingerprint nothing else of the server's certificate counts. */
      readonly tls?: { readonly pin?: string | undefined } | undefined;
      /** Without the fingerprint. */
      readonly text: string;
    };

/** Bytes of a Unix socket's path: what `sockaddr_un` holds, without the NUL at its end. */
export const SOCKET_PATH_BYTES_MAX = process.platform === "darwin" ? 103 : 107;

/**
 * Reads an address. A relative path stays relative: often the absolute one is too long for a socket.
 * @throws ValueError for any other form, a port outside 1 … 65,535, a path too long for a socket
 */
export function parseAddress(text: string): Address {
  if (typeof text !== "string") throw new ArgumentTypeError(`an address must be a string, got ${typeof text}`);
  if (text.startsWith("unix:///")) return unixAddress(text.slice("unix://".length), text);
  if (text.startsWith("./")) return unixAddress(text, text);
  if (text.startsWith("/") && text.endsWith(".sock")) return unixAddress(text, text);
  if (text.startsWith("tls://")) return tlsAddress(text.slice("tls://".length), text);
  return tcpAddress(text.startsWith("tcp://") ? text.slice("tcp://".length) : text, text);
}

const FORMS =
  "unix:///<path>.sock, an absolute path that ends in .sock, a relative path that starts with ./, " +
  "tcp://<host>:<port>, <host>:<port>, tls://<host>:<port> or tls://<host>:<port>#SHA256:<fingerprint> (an IPv6 address " +
  "in brackets)";

/** `localhost`, `10.0.0.1` or `[::1]`, and a port. */
const HOST_AND_PORT = /^(?:\[([0-9A-Za-z:.%_-]+)\]|([0-9A-Za-z._-]+)):([0-9]+)$/;

function unixAddress(path: string, text: string): Address {
  if (path.endsWith("/") || path.includes("\0")) throw notAnAddress(text);
  const bytes = Buffer.byteLength(path);
  if (bytes > SOCKET_PATH_BYTES_MAX) {
    throw new ValueError(
      `the socket's path has ${bytes} bytes; the system allows ${SOCKET_PATH_BYTES_MAX}: ` +
        "choose a shorter one, or a relative one that starts with ./",
    );
  }
  return { kind: "unix", path, text: path.startsWith("/") ? `unix://${path}` : path };
}

/** Loaded when asked: every command of the terminal reads this file, and node:net would be 1 ms of each. */
const isIPv6 = (host: string) => process.getBuiltinModule("node:net").isIPv6(host);

function tcpAddress(hostAndPort: string, text: string): Address & { kind: "tcp" } {
  const [, v6, name, digits] = HOST_AND_PORT.exec(hostAndPort) ?? [];
  const host = v6 ?? name;
  if (host === undefined || (v6 !== undefined && !isIPv6(v6))) throw notAnAddress(text);
  const port = Number(digits);
  if (port < 1 || port > 65_535) throw new ValueError(`the port of ${shown(text)} must be 1 to 65535`);
  return { kind: "tcp", host, port, text: v6 === undefined ? `tcp://${host}:${port}` : `tcp://[${host}]:${port}` };
}

function tlsAddress(rest: string, text: string): Address {
  const [place = "", ...pins] = rest.split("#");
  const { host, port, text: tcp } = tcpAddress(place, text);
  const pin = pins.length === 0 ? undefined : pins.join("#");
  if (pin !== undefined && !FINGERPRINT.test(pin)) {
    throw new ValueError(
      `${shown(text)}: after # comes the certificate's fingerprint, SHA256: and 43 characters, as svc serve prints it`,
    );
  }
  return { kind: "tcp", host, port, tls: { pin }, text: tcp.replace("tcp:", "tls:") };
}

function notAnAddress(text: string): ValueError {
  return new ValueError(`${shown(text)} is not an address; one is ${FORMS}`);
}

/** The address of the database: hosts, credentials and TLS. */
import { CERTIFICATE_BYTES_MAX } from "../../limits.ts";
import { readGiven } from "../../trust/account/given-file.ts";
import { isLoopback } from "../../trust/account/trusted/endpoints.ts";
import { EngineError } from "../engine.ts";

/** One server of the address. */
export interface Host {
  /** A name, an IP address without brackets, or the folder of a Unix socket. */
  readonly name: string;
  readonly port: number;
  /** `name:port`, for messages. */
  readonly text: string;
  /** Of the address, or the default for this host. */
  readonly sslmode: SslMode;
  /** How its certificate is checked; `false`: no TLS. */
  readonly tls: Bun.TLSOptions | false;
}

/** What an address says. Its password is in no message and in no enumerable property. */
export interface Target {
  readonly hosts: readonly Host[];
  readonly user: string;
  readonly database: string;
  /** Empty: Bun's client takes it from `PGPASSWORD`. */
  readonly password: () => string;
}

const SSL_MODES = ["disable", "require", "verify-ca", "verify-full"] as const;
type SslMode = (typeof SSL_MODES)[number];

const ADDRESS = /^postgres(?:ql)?:\/\/(?:([^@/?#]*)@)?([^@/?#]*)(?:\/([^@/?#]*))?(?:\?([^#]*))?$/;
const EXAMPLE = "postgres://user:password@host:5432/database";

const refused = (message: string) => new EngineError("refused", `the address of the database ${message}`);

function decoded(text: string, what: string): string {
  let value: string;
  try {
    value = decodeURIComponent(text);
  } catch {
    throw refused(`has a '%' in its ${what} that is not followed by two hexadecimal digits; write '%25' for '%'`);
  }
  if (value.includes("\0")) throw refused(`has a NUL byte in its ${what}`);
  return value;
}

/** The parameters by name, each at most once. */
function parametersOf(query: string): Map<string, string> {
  const known = ["sslmode", "sslrootcert", "target_session_attrs", "host"];
  const found = new Map<string, string>();
  for (const part of query.split("&").filter(Boolean)) {
    const [name, value] = part.split(/=(.*)/s).map((text) => decoded(text, "parameters"));
    if (!known.includes(name!)) throw refused(`has an unknown parameter '${name}'; known are ${known.join(", ")}`);
    if (found.has(name!)) throw refused(`has the parameter '${name}' twice`);
    found.set(name!, value ?? "");
  }
  return found;
}

/** `name`, `name:port`, `[IPv6]` or `[IPv6]:port`. */
function readHost(text: string): { name: string; port: number } {
  const [, v6, plain, digits] = /^(?:\[([\da-fA-F:.]+)\]|([^:[\]]+))(?::(\d+))?$/.exec(text) ?? [];
  const name = v6 ?? (plain === undefined ? "" : decoded(plain, "host"));
  const port = Number(digits ?? 5432);
  if (name === "" || port < 1 || port > 65_535) throw refused(`names no host by '${text}'; write it as ${EXAMPLE}`);
  return { name, port };
}

function readMode(given: string | undefined): SslMode | undefined {
  const mode = SSL_MODES.find((known) => known === given);
  if (given === undefined || mode !== undefined) return mode;
  const why = given === "prefer" || given === "allow" ? ", which may send everything without encryption" : "";
  throw refused(`has sslmode=${given}${why}; choose one of ${SSL_MODES.join(", ")}`);
}

/** Whether a host is this machine. */
export function isThisMachine(name: string): boolean {
  return name.startsWith("/") || isLoopback(name);
}

/** @param mode of the address; without it only a peer on this machine is spoken to without TLS */
function tlsOf(name: string, mode: SslMode | undefined, ca: string | undefined): Pick<Host, "sslmode" | "tls"> {
  const sslmode = mode ?? (isThisMachine(name) && ca === undefined ? "disable" : "verify-full");
  if (name.startsWith("/") || sslmode === "disable") return { sslmode: "disable", tls: false };
  if (sslmode === "require") return { sslmode, tls: { rejectUnauthorized: false } };
  const anyName = sslmode === "verify-ca" ? { checkServerIdentity: () => undefined } : {};
  return { sslmode, tls: { rejectUnauthorized: true, ...(ca === undefined ? {} : { ca }), ...anyName } };
}

function readRoot(path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  const pem = new TextDecoder().decode(readGiven("sslrootcert", path, CERTIFICATE_BYTES_MAX));
  if (!pem.includes("-----BEGIN CERTIFICATE-----"))
    throw refused("has an sslrootcert that holds no certificate in PEM");
  return pem;
}

/**
 * Reads `postgres://user:password@host1,host2:5433/database?parameters`.
 * @throws EngineError `refused`, with a sentence that never has a part of the user name or the password
 */
export function readAddress(address: string): Target {
  const [, credentials = "", hostList = "", path = "", query = ""] = ADDRESS.exec(address) ?? [];
  if (!ADDRESS.test(address)) {
    throw refused(
      `is not like ${EXAMPLE}; write '%40', '%2F', '%3F' and '%23' for '@', '/', '?' and '#' in a password`,
    );
  }
  const [user, password = ""] = credentials.split(/:(.*)/s).map((text) => decoded(text, "credentials"));
  if (!user) throw refused(`names no user; write it as ${EXAMPLE}`);
  const parameters = parametersOf(query);
  const attributes = parameters.get("target_session_attrs") ?? "read-write";
  if (attributes !== "read-write" && attributes !== "primary") {
    throw refused(`has target_session_attrs=${attributes}; svc writes, so only read-write and primary are possible`);
  }
  const folder = parameters.get("host");
  if (folder !== undefined && (!folder.startsWith("/") || hostList !== "")) {
    throw refused("has a parameter host; it is for the folder of a Unix socket, and replaces the host before the '/'");
  }
  const named = folder === undefined ? hostList.split(",").map(readHost) : [{ name: folder, port: 5432 }];
  const [mode, ca] = [readMode(parameters.get("sslmode")), readRoot(parameters.get("sslrootcert"))];
  const hosts = named.map(({ name, port }) => {
    const text = `${name.includes(":") ? `[${name}]` : name}:${port}`;
    return { name, port, text, ...tlsOf(name, mode, ca) };
  });
  return { hosts, user, database: decoded(path, "database") || user, password: () => password };
}

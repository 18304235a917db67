/** `svc serve unit`: what a service manager needs to run the server. */
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { memoryPath, svcHome } from "../../paths.ts";
import { type Args, command, JSON_FLAG, UsageError } from "../terminal/command.ts";
import { print, printJson } from "../terminal/output.ts";
import { checkPort, tlsOf, transportOf } from "./flags.ts";
import serve from "./serve.ts";
import { containerFile, launchdAgent, type Service, systemdUnits, type UnitFile } from "./units.ts";

const KINDS = ["systemd", "launchd", "container"] as const;
type Kind = (typeof KINDS)[number];

/** Flags of `svc serve` that no unit has, with the reason. */
const LEFT_OUT: Record<string, string> = {
  "access-token": "a unit can be read by others: use 'svc serve token add', which keeps hashes in the memory directory",
  license: "a unit can be read by others: log in where the server runs",
  supervise: "the service manager starts a crashed server again",
};

/** Flags whose values are paths. */
const PATHS = new Set(["path", "socket", "tls-cert", "tls-key", "client-ca", "audit-log"]);

/** Where a service without flags has its state and its memory. */
const FOLDERS: Record<Exclude<Kind, "launchd">, { home: string; memory: string }> = {
  systemd: { home: "/var/lib/svc", memory: "/var/lib/svc/memory" },
  container: { home: "/data/svc", memory: "/data/memory" },
};
const PORT = 8471;

const { json: _, ...FLAGS }: Args = serve.args;

export default command({
  details:
    "Prints files and starts nothing. The flags of 'svc serve' go into the command line of the unit. Without --socket or\n" +
    "--host and --port, a systemd unit listens on /run/svc/svc.sock, an agent on svc.sock in SVC_HOME, a container on\n" +
    "port 8471. Without --save-interval changes are saved every second. No token is in a unit: 'svc serve token add'\n" +
    "makes them.\n\n" +
    "systemd: a service, and a socket that stays open while the service is stopped and started. 'systemctl reload' reads\n" +
    "tokens and certificates again. launchd: an agent of this user. container: an image without a shell, not root, for a\n" +
    "read-only root and one volume.",
  examples: [
    "svc serve unit systemd --socket /run/svc/svc.sock",
    "svc serve unit systemd --host 0.0.0.0 --port 8471 --tls self --log-format json",
    "svc serve unit container --host 0.0.0.0 --port 8471 --tls self > Containerfile",
  ],
  args: {
    kind: { type: "positional", required: true, choices: KINDS, description: "systemd, launchd or container" },
    ...FLAGS,
    json: JSON_FLAG,
  },
  async run({ args, env }) {
    const flags: Record<string, unknown> = { ...args };
    const kind = args.kind as Kind;
    for (const [flag, why] of Object.entries(LEFT_OUT))
      if (flags[flag] !== undefined && flags[flag] !== false) throw new UsageError(`--${flag}: ${why}`);
    const service = serviceOf(kind, flags, env);
    const files = filesOf(kind, service, env.HOME || homedir());
    if (args.json) printJson({ files });
    else
      print(
        files
          .map(({ path, text }) => (files.length > 1 ? `# ${path}\n${text}` : text))
          .join("\n")
          .trimEnd(),
      );
  },
});

function filesOf(kind: Kind, service: Service, userHome: string): UnitFile[] {
  if (kind === "systemd") return systemdUnits(service);
  return kind === "launchd" ? launchdAgent(service, userHome) : containerFile(service);
}

function serviceOf(kind: Kind, flags: Record<string, unknown>, env: Record<string, string | undefined>): Service {
  const { home, memory } =
    kind === "launchd" ? { home: svcHome(env), memory: memoryPath(undefined, env) } : FOLDERS[kind];
  const given = { ...flags };
  const hasAddress = ["socket", "host", "port"].some((flag) => given[flag] !== undefined);
  if (!hasAddress && kind === "container") Object.assign(given, { host: "0.0.0.0", port: PORT });
  else if (!hasAddress) given.socket = kind === "systemd" ? "/run/svc/svc.sock" : join(home, "svc.sock");
  given.path ??= memory;
  given["save-interval"] ??= 1;
  for (const flag of PATHS) if (typeof given[flag] === "string") given[flag] = resolve(given[flag]);
  const { socket, host, port } = given as { socket?: string; host?: string; port?: number };
  const listen = transportOf(socket, host, checkPort(port), undefined, () => true);
  if ("port" in listen && listen.port === 0) throw new UsageError("--port: a unit needs a port of its own, not 0");
  tlsOf(given as Parameters<typeof tlsOf>[0], "socketPath" in listen);
  const words = ["serve", ...Object.keys(FLAGS).flatMap((flag) => wordsOf(flag, given[flag]))];
  for (const word of words) {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: a line break would end a line of the unit
    if (/[\u0000-\u001f\u007f]/.test(word)) throw new UsageError("a unit cannot hold a value with a control character");
  }
  const program = kind === "container" || !Bun.isStandaloneExecutable ? "/usr/local/bin/svc" : process.execPath;
  const audit = given["audit-log"];
  const writes = [String(given.path), ...(typeof audit === "string" ? [dirname(audit)] : [])];
  return { program, words, listen, writes, home };
}

function wordsOf(flag: string, value: unknown): string[] {
  if (value === undefined || value === false) return [];
  if (value === true) return [`--${flag}`];
  return [value].flat().flatMap((each) => [`--${flag}`, String(each)]);
}

/** `svc serve`: the memory for other processes and hosts. */
import { statSync } from "node:fs";
import { keepHeapSmall } from "../../../ffi/system/calls.ts";
import { programVersion } from "../../build-info.ts";
import { errorLine, OSError } from "../../errors.ts";
import type { Log } from "../../log.ts";
import { type Env, memoryPath, svcHome } from "../../paths.ts";
import type { ReplicaNode } from "../../replication/node/node.ts";
import type { Native } from "../../trust/runtime/libraries.ts";
import { ENGINE, engineAddress } from "../access/engine.ts";
import { asUsage, command, EXIT, MEMORY_PATH, number, string, strings, UsageError } from "../terminal/command.ts";
import { interrupted } from "../terminal/interrupt.ts";
import { note, print, printJson, unlessClosed } from "../terminal/output.ts";
import { takeActivation } from "./activation.ts";
import { LIMIT_FLAGS, limitsOf, seconds, TLS_FLAGS, tlsOf, transportOf } from "./flags.ts";
import { holderOf, requireLicense } from "./license.ts";
import { serveLog } from "./log.ts";
import { onHangUp, SUPERVISED, supervise, whenOrphaned } from "./supervise.ts";

export default command({
  details:
    "Clients: connect() of the TypeScript SDK, svc.connect() in Python, or anything that speaks\n" +
    "src/remote/wire/PROTOCOL.md. Beyond this machine give --tls self, or --tls-cert and --tls-key: without TLS\n" +
    "nothing is encrypted. --tls self prints the address with the fingerprint that clients pin.\n\n" +
    "Certificates are read again when their files change, and at SIGHUP. Open connections stay.\n\n" +
    "A memory directory has one server: a second one is refused, and the error says where the first one listens.\n\n" +
    "Changes are in memory until a client saves, the save interval passes, or the server ends in order (Ctrl-C,\n" +
    "SIGTERM). With a save interval, they are also saved when the last client that made some of them leaves.\n\n" +
    "SIGUSR2 restarts it at its address: it ends in order, the program that is now at its path takes over the process\n" +
    "and the socket, and no connection is refused meanwhile. A socket that systemd opened is used as well.\n\n" +
    "'svc serve token' makes tokens with rights of their own. The server reads them again when they change, and at SIGHUP.\n\n" +
    "Until changes are saved, no other process can change that collection: 'svc mcp' and 'svc mem' wait for 2.5\n" +
    "seconds and then report the server. With --save-interval 1 they can write, and a crash loses the last second.",
  examples: [
    "svc serve --path ~/.svc/memory --socket ~/.svc/svc.sock --save-interval 1",
    "SVC_ACCESS_TOKEN=… svc serve --host 127.0.0.1 --port 8471 --save-interval 1",
    "SVC_ACCESS_TOKEN=… svc serve --host 0.0.0.0 --port 8471 --save-interval 1 --tls self",
    "svc serve --socket ./svc.sock --save-interval 1 --embedder nomic=http://127.0.0.1:11434/v1#nomic-embed-text",
    "svc serve --socket ./svc.sock --save-interval 1 --supervise --log-format json",
    "SVC_LICENSE=… svc serve --socket ./svc.sock --save-interval 1 --require-license --require-tier team",
  ],
  args: {
    path: MEMORY_PATH,
    ...ENGINE,
    socket: string("PATH", "Unix socket to listen on; mode 0600, no token"),
    host: string("HOST", "address to listen on; needs --port and a token (svc serve token, or --access-token)"),
    port: number("PORT", "port to listen on; 0 takes a free one"),
    "access-token": string(
      "TOKEN",
      "one bearer token with all rights; SVC_ACCESS_TOKEN keeps it out of the list of processes",
    ),
    ...TLS_FLAGS,
    license: string("JWT", "licence that --require-license checks (SVC_LICENSE)"),
    "require-license": {
      type: "boolean",
      description: "check the licence before serving, offline; any valid licence is accepted",
    },
    "require-tier": string("TIER", "the same, and the licence must have this tier and the feature 'serve'"),
    "save-interval": number(
      "SECONDS",
      "save changes this often, and when their last client leaves; 0: only clients save (0)",
    ),
    embedder: strings("NAME=URL#MODEL", "a further embedder, at an OpenAI-compatible address of this machine"),
    "audit-log": string(
      "FILE",
      "append a line of JSON for each write; while it cannot be written, changes are refused",
    ),
    supervise: { type: "boolean", description: "start the server again after a crash, with growing pauses" },
    "log-format": { type: "enum", options: ["text", "json"], description: "format of the lines on stderr (text)" },
    ...LIMIT_FLAGS,
    json: { type: "boolean", description: "print one JSON object when it listens" },
  },
  async run({ args, name, env, signal, patient }) {
    const accessToken = args["access-token"] ?? env.SVC_ACCESS_TOKEN;
    const engine = await engineAddress(args["engine-file"], env);
    const path = await folderOf(args.path, engine, env);
    const { hasValidToken } = await import("../../remote/tokens/token-file.ts");
    const transport = transportOf(args.socket, args.host, args.port, accessToken, () => hasValidToken(path));
    const tlsFiles = tlsOf(args, "socketPath" in transport);
    const limits = limitsOf(args);
    const tier = args["require-tier"];
    const isRequired = tier !== undefined || args["require-license"] === true;
    if (args.license !== undefined && !isRequired)
      throw new UsageError("--license is checked with --require-license or --require-tier only: give one of them too");
    const saveIntervalS = seconds("save-interval", args["save-interval"], 0) ?? 0;
    const { openEndpoint, parseEndpoint } = await import("../../remote/server/endpoint-embedder.ts");
    const endpoints = args.embedder.map((text) => asUsage(() => parseEndpoint(text)));
    const log = serveLog(args["log-format"] === "json");
    if (args["access-token"] !== undefined) {
      log({
        level: "warn",
        event: "token_in_argv",
        message: "other users of this machine can see --access-token: SVC_ACCESS_TOKEN is safer",
      });
    }
    if (args.supervise && "port" in transport && transport.port === 0) {
      throw new UsageError("--supervise needs a port of its own: after a restart port 0 would be another one");
    }
    patient("the server is saving what its clients did not save");
    const activation = takeActivation(env);
    const own = ownCommand();
    if (args.supervise && env[SUPERVISED] === undefined) {
      if (activation)
        throw new UsageError(
          "--supervise: the service manager that opened the socket also starts a crashed server again",
        );
      return supervise(own, env, signal, log);
    }

    const [{ LocalStore }, { serve }, { unfilled }, { keepRenewed, licensedNative }, { optimiseForWork }] =
      await Promise.all([
        import("../../api/local-store.ts"),
        import("../../remote/server/server.ts"),
        import("../access/gate.ts"),
        import("../access/renewal.ts"),
        import("../terminal/jit.ts"),
      ]);
    optimiseForWork();
    keepHeapSmall();
    const warn = (line: string) => log({ level: "warn", event: "license", message: line });
    checkFolder(path);
    // A server opens no connection of its own: an organisation is never asked from here.
    const site = { env, network: false, warn };
    const native = await licensedNative({ label: name, feature: isRequired ? undefined : "serve" }, site);
    const given = args.license || env.SVC_LICENSE || undefined;
    const shown = isRequired ? await requireLicense({ env, given, license: native.license, tier, warn }) : undefined;
    keepRenewed(native.license, site);
    const tls = tlsFiles && (await (await import("./tls.ts")).openTls(tlsFiles, svcHome(env), log));
    const onFailed = (name: string, error: unknown) =>
      log({
        level: "warn",
        event: "compaction_failed",
        message: `collection '${name}' could not be compacted by itself, and stands as it was: ${errorLine(error)}`,
        fields: { collection: name },
      });
    const compaction = { background: true, onFailed };
    const onUnfilled = (name: string, error: unknown) =>
      log({ level: "warn", event: "meaning_failed", message: unfilled(name, error), fields: { collection: name } });
    const filling = { background: true, onFailed: onUnfilled };
    const node = engine === undefined ? undefined : await openNode({ address: engine, path, env, log }, native);
    const store = new LocalStore(path, native, programVersion(), INLINE_SCAN_BYTES, compaction, filling, node);
    for (const spec of endpoints) store.registerEmbedder(spec.name, () => openEndpoint(spec));
    const author = shown && holderOf(shown);
    const server = await serve({
      store,
      ...transport,
      tls,
      saveIntervalS,
      limits,
      author,
      auditLog: args["audit-log"],
      inherited: activation?.inherited,
      instance: activation?.instance,
      lockFd: activation?.lockFd,
      log,
      node,
    });
    onHangUp(
      () => server.reload(),
      () => process.kill(process.pid, "SIGTERM"),
    );
    if (saveIntervalS === 0) log({ level: "info", event: "no_save_interval", message: NO_SAVE_INTERVAL });
    const { address } = server;
    const fault = await new Promise<unknown>((resolve) => {
      void interrupted(signal).then(resolve);
      whenRestarted(async () => {
        const isOwn = activation?.inherited.ownsFile !== false;
        const close = () => store.close();
        const { restart } = await import("./restart.ts");
        await restart({ server, command: own, env: process.env, isOwn, close, signal, log });
      }, resolve);
      if (env[SUPERVISED] !== undefined) whenOrphaned(() => resolve(undefined));
      // A fault of ours must not cost what clients have not saved: end in order, and be started again by the
      // supervisor.
      process.on("uncaughtException", resolve);
      process.on("unhandledRejection", resolve);
      // Last: who reads it may send a signal at once.
      unlessClosed(() => (args.json ? printJson({ address }) : print(`listening on ${address}`)));
    });
    if (fault) log({ level: "error", event: "fault", message: `ending because of a fault: ${errorLine(fault)}` });
    const failures = await server.stop();
    await store.close();
    if (failures.size > 0) note("svc: not everything could be saved; the lines above say what");
    return failures.size > 0 || fault ? EXIT.failed : EXIT.done;
  },
});

/** Larger scans run on a worker, so that other clients are served meanwhile; handing over costs about 20 µs. */
const INLINE_SCAN_BYTES = 1024 * 1024;

const NO_SAVE_INTERVAL =
  "no save interval: changes are in memory only until a client calls save, and until then no other process can change " +
  "the collection; --save-interval 1 saves every second";

/** The memory directory: with a database, this machine's copy. */
async function folderOf(path: string | undefined, engine: string | undefined, env: Env): Promise<string> {
  if (engine === undefined) return memoryPath(path, env);
  return (await import("../../replication/node/node.ts")).copyDirectory({ address: engine, path, env });
}

async function openNode(
  { log, ...site }: { address: string; path: string; env: Env; log: Log },
  native: Native,
): Promise<ReplicaNode> {
  const { openNode } = await import("../../replication/node/node.ts");
  const warn = (message: string) => log({ level: "warn", event: "replication", message });
  return openNode({ ...site, warn }, native.env);
}

/** A memory directory need not be there yet, but nothing else may stand in its place. */
function checkFolder(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found && !found.isDirectory())
    throw new OSError(`'${path}' is there and is not a directory: give --path another one`);
}

/** Calls `restart` at SIGUSR2, unless one is under way. */
function whenRestarted(restart: () => Promise<void>, failed: (error: unknown) => void): void {
  let isBusy = false;
  process.on("SIGUSR2", () => {
    if (isBusy) return;
    isBusy = true;
    restart()
      .catch(failed)
      .finally(() => {
        isBusy = false;
      });
  });
}

/**
 * This very command line, without --supervise: how the child is started. From source the script comes first. It is taken
 * at the start: once the file is replaced, the system names this program "… (deleted)".
 */
function ownCommand(): string[] {
  const words = process.argv.slice(2).filter((word) => !/^--supervise(=|$)/.test(word));
  return Bun.isStandaloneExecutable ? [process.execPath, ...words] : [process.execPath, process.argv[1]!, ...words];
}

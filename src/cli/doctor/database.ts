/** The database that has the memory's log, where a person names one: whether this machine can use it as a node. */
import { type Env, svcHome } from "../../paths.ts";
import { EngineError } from "../../replication/engine.ts";
import { copyDirectory } from "../../replication/node/node.ts";
import type { Deadlines } from "../../replication/postgres/connection.ts";
import { type Examined, examine, type ServerState } from "../../replication/postgres/examine.ts";
import { type Host, isThisMachine, readAddress, type Target } from "../../replication/postgres/url.ts";
import { engineAddress } from "../access/engine.ts";
import { UsageError } from "../terminal/command.ts";
import { oneLine } from "../terminal/output.ts";
import { checkCopy } from "./copy.ts";
import { type Finding, Findings, sentenceOf } from "./finding.ts";

/** What names the database. */
interface DatabaseOptions {
  readonly env: Env;
  /** From `--engine-file`. */
  readonly file: string | undefined;
  /** How long its servers may take for each answer. */
  readonly deadlines?: Deadlines | undefined;
}

/**
 * Looks at the database and at this machine's copy. It connects to the hosts of the address, and to nothing else.
 * @returns `dir`: the directory of the copy, where the address can be read
 * @throws UsageError for an address in place of the file
 */
export async function checkDatabase(options: DatabaseOptions): Promise<{ findings: Finding[]; dir?: string }> {
  const { env, file, deadlines } = options;
  const found = new Findings("database");
  const named = file === undefined ? "SVC_ENGINE_URL" : oneLine(file);
  let target: Target;
  let dir: string;
  try {
    const address = (await engineAddress(file, env))!;
    target = readAddress(address);
    dir = copyDirectory({ address, env });
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const sentence = sentenceOf(error);
    if (error instanceof EngineError) foundError(found, "address", error);
    else if (/^there is no address in /.test(sentence))
      found.problem("address", sentence, "write the address into it: docs/beyond.md");
    else found.problem("address", sentence);
    return { findings: found.list };
  }
  found.ok("address", `${named} names the database '${oneLine(target.database)}'`);
  checkTls(found, target.hosts);
  const { hosts, server } = await examine(target, deadlines);
  checkHosts(found, hosts);
  if (server instanceof EngineError) foundError(found, "failed", server);
  else if (server !== undefined) checkServer(found, server);
  const isReached = server !== undefined && !(server instanceof EngineError);
  checkCopy(found, dir, { memory: isReached ? server.memory : undefined, isReached, env, home: svcHome(env) });
  return { findings: found.list, dir };
}

/** Messages of an engine end with what to do, after a semicolon. */
function foundError(found: Findings, what: string, error: EngineError, level: "problem" | "warning" = "problem"): void {
  const [, message = error.message, remedy] = /^(.*); ([^;]+)$/s.exec(error.message) ?? [];
  found[level](what, oneLine(message), remedy);
}

/** All hosts of an address have one `sslmode`, but for those of this machine. */
function checkTls(found: Findings, hosts: readonly Host[]): void {
  const full = "leave sslmode out of the address, or write sslmode=verify-full";
  for (const [sslmode, some] of Map.groupBy(hosts, (host) => host.sslmode)) {
    const to = `a connection to ${oneLine(some.map(({ text }) => text).join(", "))}`;
    if (sslmode === "verify-full") found.ok("tls", `${to} is encrypted, and certificate and name are checked`);
    else if (sslmode === "verify-ca")
      found.warning("tls", `${to} is encrypted, but the name in the certificate is not checked`, full);
    else if (sslmode === "require")
      found.warning(
        "tls",
        `${to} is encrypted, but the certificate is not checked: another host can take its place`,
        full,
      );
    else if (some.every(({ name }) => isThisMachine(name)))
      found.ok("tls", `${to} is not encrypted, and stays on this machine`);
    else found.warning("tls", `${to} is not encrypted: others in the network can read texts`, full);
  }
}

function checkHosts(found: Findings, hosts: Examined["hosts"]): void {
  const writers = hosts.filter((one) => one.error === undefined && !one.isReadOnly);
  for (const one of hosts) {
    const at = oneLine(one.host.text);
    if (one.error !== undefined) foundError(found, "connection", one.error, writers.length > 0 ? "warning" : "problem");
    else if (!one.isReadOnly) found.ok("connection", `PostgreSQL ${one.version} at ${at} accepts writes`);
    else if (writers.length > 0)
      found.ok("connection", `PostgreSQL ${one.version} at ${at} accepts only reads, as a standby does`);
    else
      found.problem(
        "connection",
        `PostgreSQL ${one.version} at ${at} accepts only reads, as a standby does`,
        "promote it if its primary is lost, or name all hosts in the address, separated by commas",
      );
  }
  if (writers.length > 1)
    found.warning(
      "primaries",
      `${writers.length} hosts of the address accept writes: if they are not one server, nodes may save to different ones`,
      "stop the one that was replaced by its standby",
    );
}

/** Clocks of two machines are never equal: what is below this is not worth a sentence about dates. */
const CLOCK_MS = 2_000;

function checkServer(found: Findings, { settings, standbys, clock, schema }: ServerState): void {
  checkSchema(found, schema);
  if (settings.fsync !== "on")
    found.warning(
      "fsync",
      "fsync is off on the server: if its machine crashes, saved changes can be lost",
      "set fsync = on there, or ask your provider how commits are made durable",
    );
  else found.ok("fsync", "fsync is on: a commit survives a crash of the server");
  checkStandbys(found, settings, standbys);
  const [difference, uncertain] = [seconds(clock.aheadMs), seconds(clock.uncertainMs)];
  const meaning =
    Math.abs(clock.aheadMs) - clock.uncertainMs < CLOCK_MS
      ? ""
      : ". Rows have the date of the machine that saves them, and 'yesterday' in a question is that of this machine";
  found.ok(
    "clock",
    `the server's clock is ${difference} s ahead of this machine's (± ${uncertain} s). The order of changes does not ` +
      `depend on clocks${meaning}`,
  );
}

const seconds = (ms: number) => (ms / 1000).toFixed(1);

function checkStandbys(found: Findings, { standbyNames, commit }: ServerState["settings"], standbys: number): void {
  const name = "synchronous_standby_names";
  if (standbyNames === "")
    found.warning(
      "standby",
      `${name} is empty: if the server is lost, changes that it alone had are lost`,
      `set ${name} on the server, or use your provider's option for high availability`,
    );
  else if (standbys === 0)
    found.problem(
      "standby",
      `${name} is '${oneLine(standbyNames)}' and no standby is connected: saves wait for one`,
      "start the standby, or take its name out of the setting",
    );
  else if (commit === "local")
    found.warning(
      "standby",
      `synchronous_commit is 'local': saves do not wait for the standbys in ${name}`,
      "set synchronous_commit = on on the server",
    );
  else found.ok("standby", `saves wait for the standbys '${oneLine(standbyNames)}', of which some are connected`);
}

function checkSchema(found: Findings, { version, needed, missing, mayCreate, isForeign }: ServerState["schema"]): void {
  const grant = "grant this role CREATE on the database, or let the owner of the schema svc run a command of svc once";
  if (isForeign)
    found.problem("schema", "the schema svc has tables that svc did not make", "use another database for svc");
  else if (version !== undefined && version > needed)
    found.problem("schema", `the tables have version ${version} and this svc knows ${needed}`, "svc upgrade");
  else if (version === needed) found.ok("schema", `the tables have version ${version}, which this svc uses`);
  else if (!mayCreate)
    found.problem(
      "schema",
      version === undefined ? "there are no tables yet" : `the tables have version ${version}`,
      grant,
    );
  else if (version === undefined)
    found.ok("schema", "there are no tables yet: the first command that uses it makes them");
  else found.ok("schema", `the next command brings the tables from version ${version} to ${needed}`);
  if (missing !== undefined) found.problem("rights", "this role lacks rights on the tables", `grant it ${missing}`);
  else if (version !== undefined) found.ok("rights", "this role has all rights on the tables that svc needs");
}

/** `svc serve status`: what a running server does, by its operation `stats`. */
import { isAbsolute } from "node:path";
import { isObject } from "../../checks/kinds.ts";
import type { ServerStats } from "../../remote/client/client.ts";
import { CONNECT_MS, REMOTE, remoteMemory } from "../access/remote.ts";
import { command, JSON_FLAG, string, UsageError } from "../terminal/command.ts";
import { oneLine, print, printJson } from "../terminal/output.ts";
import { duration, grouped, megabytes } from "../terminal/progress.ts";
import { tableOf } from "../terminal/table.ts";
import { checkSocket } from "./flags.ts";

/** How long the answer may take: a server that accepts connections and does no more is reported as one that is away. */
const ANSWER_MS = 5_000;

export default command({
  details:
    "The exit code is 1 if no server answers. Over TCP it needs a token, as clients do: make one for yourself with\n" +
    "'svc serve token add'.\n\n" +
    "Times are from a request's arrival to its answer, since the server started: half of the requests took at most P50,\n" +
    "and 99 of 100 at most P99. Unsaved collections have changes that are in the server's memory only.\n\n" +
    "With a database (--engine-file of 'svc serve') it also shows what was committed and fetched, since when the database\n" +
    "does not answer, and how many generations of each collection this machine's copy lacks.\n\n" +
    "A token without all rights gets a part of the numbers, and never those about other tokens.",
  examples: [
    "svc serve status --socket ~/.svc/svc.sock",
    "svc serve status --remote 192.0.2.7:8471 --token-file ~/.svc/team-token --json",
  ],
  args: {
    socket: string("PATH", "the server's Unix socket"),
    ...REMOTE,
    remote: string("ADDRESS", "the address that the server prints (SVC_REMOTE)"),
    json: JSON_FLAG,
  },
  async run({ args, env }) {
    const { socket, remote } = args;
    if (socket !== undefined && remote !== undefined)
      throw new UsageError("--socket and --remote both name the server: give one of them");
    const memory = remoteMemory({ ...args, remote: socket === undefined ? remote : socketAddress(socket) }, env);
    if (memory === undefined)
      throw new UsageError(
        "which server? give --socket PATH, or --remote ADDRESS as 'svc serve' printed it, with --token-file FILE",
      );
    const { address, tls } = memory;
    const token = await memory.token();
    const { connect } = await import("../../remote/client/client.ts");
    await using server = await connect(address, { token, tls, timeoutMs: CONNECT_MS, requestTimeoutMs: ANSWER_MS });
    const stats = await server.stats();
    if (args.json) printJson({ address, ...stats });
    else print(asText(address, stats));
  },
});

function socketAddress(path: string): string {
  checkSocket(path);
  return isAbsolute(path) ? `unix://${path}` : path.startsWith("./") ? path : `./${path}`;
}

/** Tables for people. A server of another version may leave fields out. */
function asText(address: string, stats: ServerStats): string {
  const tables = [summary(address, stats), operations(stats.ops), tokens(stats.tokens), generations(stats.database)];
  return tables.filter((table) => table !== undefined).join("\n\n");
}

function summary(address: string, stats: ServerStats): string {
  const rows: [name: string, value: string][] = [
    ["server", address],
    ["version", `${stats.version}${stats.pid === undefined ? "" : `, process ${stats.pid}`}`],
    ["uptime", uptime(Number(stats.uptime_s))],
  ];
  const { connections } = stats;
  if (isObject(connections)) {
    const parts = ["open", "unauthenticated", "accepted", "refused", "dropped"];
    rows.push(["connections", parts.map((part) => `${count(connections[part])} ${part}`).join(", ")]);
  }
  if (stats.requests !== undefined)
    rows.push(["requests", `${count(stats.requests)}, ${count(stats.errors)} answered with an error`]);
  if (stats.rss_bytes !== undefined)
    rows.push(["memory", `${mb(stats.rss_bytes)} MB, ${mb(stats.buffered_bytes)} MB in requests and replies`]);
  rows.push([
    "unsaved",
    `${count(stats.unsaved_collections)} collections; ${count(stats.lost_saves)} saves have failed`,
  ]);
  rows.push(...database(stats.database));
  const width = Math.max(...rows.map(([name]) => name.length)) + 2;
  return rows.map(([name, value]) => name.padEnd(width) + oneLine(value)).join("\n");
}

/** What the server has done with the database that has the memory's log. */
function database(report: unknown): [name: string, value: string][] {
  if (!isObject(report)) return [];
  const { commits, retries, lost_races, fetched_bytes, away_since, away_why } = report;
  const done = `${count(commits)} commits, ${count(retries)} retries, ${count(lost_races)} lost races`;
  const rows: [string, string][] = [["database", `${done}, ${mb(fetched_bytes)} MB fetched`]];
  if (typeof away_since === "string") rows.push(["", `away since ${minute(away_since)}: ${away_why}`]);
  return rows;
}

function generations(report: unknown): string | undefined {
  const collections = isObject(report) && isObject(report.collections) ? Object.entries(report.collections) : [];
  if (collections.length === 0) return undefined;
  const rows = collections.map(([name, of]) => {
    const { generation, behind } = isObject(of) ? of : {};
    return [name, count(generation), count(behind)];
  });
  return tableOf(["COLLECTION", "GENERATION", "BEHIND"], rows, { whole: [0] });
}

function operations(ops: unknown): string | undefined {
  if (!isObject(ops) || Object.keys(ops).length === 0) return undefined;
  const rows = Object.entries(ops).map(([name, of]) => {
    const { count: times, errors, p50_ms, p99_ms } = isObject(of) ? of : {};
    return [name, count(times), count(errors), String(p50_ms), String(p99_ms)];
  });
  return tableOf(["OPERATION", "COUNT", "ERRORS", "P50 MS", "P99 MS"], rows, { whole: [0] });
}

function tokens(list: unknown): string | undefined {
  if (!Array.isArray(list) || list.length === 0) return undefined;
  const rows = list.filter(isObject).map(({ name, connections, used_at }) => {
    const used = typeof used_at === "string" ? minute(used_at) : "never";
    return [String(name), count(connections), used];
  });
  return tableOf(["TOKEN", "CONNECTIONS", "LAST USED"], rows, { whole: [0] });
}

/** A time as "2026-03-31 09:30 UTC". @param iso ISO 8601 */
const minute = (iso: string) => `${iso.slice(0, 16).replace("T", " ")} UTC`;

function uptime(seconds: number): string {
  const days = Math.floor(seconds / 86_400);
  return days < 2 ? duration(seconds * 1000) : `${days} days`;
}

const count = (value: unknown) => grouped(Number(value ?? 0));
const mb = (bytes: unknown) => megabytes(Number(bytes ?? 0));

/** The commands of `svc serve token`. They change a file of the memory directory, beside a server that runs or without. */
import { existsSync } from "node:fs";
import { readDuration } from "../../checks/durations.ts";
import { memoryPath } from "../../paths.ts";
import { isLimited, readPatterns, rightsLine } from "../../remote/tokens/rights.ts";
import { addToken, checkNewName, readTokens, revokeToken, type TokenRecord } from "../../remote/tokens/token-file.ts";
import { readUsage, UNUSED, type Usage } from "../../remote/tokens/usage-file.ts";
import {
  type Args,
  asUsage,
  command,
  JSON_FLAG,
  MEMORY_PATH,
  number,
  string,
  UsageError,
  type Values,
} from "../terminal/command.ts";
import { minute, note, oneLine, print, printJson } from "../terminal/output.ts";
import { tableOf } from "../terminal/table.ts";

const NAME = { type: "positional", required: true } as const;

/** The arguments of the commands that make a token. */
export const TOKEN_ARGS = {
  name: { ...NAME, description: "the person, machine or program that it is for" },
  path: MEMORY_PATH,
  collections: string("NAMES", "only these collections, as in a,b* (all)"),
  "read-only": { type: "boolean", description: "refuse every change" },
  expires: string("TIME", "how long it is valid: 30m, 12h, 90d, 2w, or never (never)"),
  "rows-max": number("N", "how many rows may be put with it, in all"),
  "bytes-max": number("N", "how many bytes of ids, texts, metadata and vectors may be put with it, in all"),
  json: JSON_FLAG,
} as const satisfies Args;

export const add = command({
  details:
    "The token is printed once, on stdout. The memory keeps only its hash. Without flags it may do everything in all\n" +
    "collections and does not expire. The name is the author of its changes in 'svc mem history'.\n" +
    "Give the same --path as the server's.\n\n" +
    "--collections takes names with commas between them. A name that ends in * stands for all that begin so. For the token\n" +
    "other collections do not exist.\n\n" +
    "--rows-max and --bytes-max count what is put with the token over its life, replaced rows included. Deleting gives\n" +
    "nothing back. A new collection counts as one row and 4,096 bytes.",
  examples: [
    "svc serve token add ada",
    "svc serve token add reports --collections 'team,docs-*' --read-only --expires 90d",
    "svc serve token add ci --collections ci --rows-max 100000 --bytes-max 50000000",
  ],
  args: TOKEN_ARGS,
  async run({ args, env }) {
    const now = Date.now();
    const wish = tokenWish(args, now);
    const dir = memoryPath(args.path, env);
    const isNew = !existsSync(dir);
    const { token, record } = await addToken(dir, wish, now);
    if (args.json) {
      printJson({ token, ...tokenJson(record, now) });
      return;
    }
    print(token);
    note(tokenLine(record));
    const made = isNew ? ", which was not there and was made: a server needs the same --path" : "";
    note(`it is for the memory in ${oneLine(dir)}${made}`);
    note("this token is not shown again: give it to its owner, who passes it to svc in SVC_ACCESS_TOKEN or a file");
  },
});

export const list = command({
  examples: ["svc serve token list", "svc serve token list --path /srv/memory --json"],
  args: { path: MEMORY_PATH, json: JSON_FLAG },
  async run({ args, env }) {
    const now = Date.now();
    const dir = memoryPath(args.path, env);
    const records = readTokens(dir);
    const usage = readUsage(dir);
    const usageOf = ({ id }: TokenRecord) => usage.get(id) ?? UNUSED;
    if (args.json) {
      printJson({ tokens: records.map((record) => asJson(record, usageOf(record), now)) });
      return;
    }
    const rows = records.map((record) => {
      const { used, rows, bytes } = usageOf(record);
      const expires = record.expires === undefined ? "never" : minute(record.expires);
      const state = stateOf(record, usageOf(record), now);
      return [
        record.name,
        state === "valid" ? expires : `${expires} (${state})`,
        minute(record.created),
        used === undefined ? "never" : minute(used),
        String(rows),
        String(bytes),
        rightsLine(record),
      ];
    });
    if (rows.length > 0)
      print(tableOf(["NAME", "EXPIRES", "CREATED", "LAST USED", "ROWS", "BYTES", "RIGHTS"], rows, { whole: [0] }));
    else note(`there are no tokens in ${oneLine(dir)}: 'svc serve token add' makes one`);
  },
});

export const revoke = command({
  details:
    "A server that runs refuses the next request with it, and closes its connections. What was stored with it stays:\n" +
    "'svc mem history' shows the changes of each author.",
  examples: ["svc serve token revoke ada"],
  args: { name: { ...NAME, description: "the token's name, or the token itself" }, path: MEMORY_PATH, json: JSON_FLAG },
  async run({ args, env }) {
    const { name } = await revokeToken(memoryPath(args.path, env), args.name.trim());
    if (args.json) printJson({ name, revoked: true });
    else print(`revoked ${oneLine(name)}`);
  },
});

/** The token that the arguments describe. @throws ValueError, UsageError, both as wrong usage */
export function tokenWish(args: Values<typeof TOKEN_ARGS>, now: number) {
  const { expires = "never" } = args;
  return asUsage(() => ({
    name: checkNewName(args.name),
    collections: args.collections === undefined ? undefined : readPatterns(args.collections),
    readOnly: args["read-only"] === true,
    expires: expires === "never" ? undefined : now + readDuration(expires, "--expires"),
    rowsMax: most("rows-max", args["rows-max"]),
    bytesMax: most("bytes-max", args["bytes-max"]),
  }));
}

/** A new token's name, rights and end, on one line. */
export function tokenLine(record: TokenRecord): string {
  const end = record.expires === undefined ? "does not expire" : `valid until ${minute(record.expires)} UTC`;
  return `${oneLine(record.name)}: ${oneLine(rightsLine(record))}; ${end}`;
}

/** A new token for programs, without its text. */
export function tokenJson(record: TokenRecord, now: number) {
  return asJson(record, UNUSED, now);
}

function most(flag: string, value: number | undefined): number | undefined {
  if (value === undefined || (Number.isSafeInteger(value) && value >= 0)) return value;
  throw new UsageError(`--${flag}: '${value}' must be a whole number from 0`);
}

function stateOf({ expires }: TokenRecord, { isExpired }: Usage, now: number): "valid" | "expired" {
  return isExpired || (expires !== undefined && expires <= now) ? "expired" : "valid";
}

function asJson(record: TokenRecord, usage: Readonly<Usage>, now: number) {
  const { name, created, expires, collections, readOnly, rowsMax, bytesMax } = record;
  const time = (ms: number | undefined) => (ms === undefined ? null : new Date(ms).toISOString());
  return {
    name,
    state: stateOf(record, usage, now),
    collections: isLimited(record) ? collections! : null,
    read_only: readOnly,
    rows_max: rowsMax ?? null,
    bytes_max: bytesMax ?? null,
    rows: usage.rows,
    bytes: usage.bytes,
    created_at: time(created),
    expires_at: time(expires),
    used_at: time(usage.used),
  };
}

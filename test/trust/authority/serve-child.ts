/** Serves an organisation's authority, prints its address, and is killed before the statement KILL_AT of its ledger. */
import { Database } from "bun:sqlite";
import { authorityPaths } from "../../../src/paths.ts";
import { startAuthority } from "../../../src/trust/authority/server/server.ts";

let left = Infinity;
function step(): void {
  if (--left === 0) process.kill(process.pid, "SIGKILL");
}

const { query, run } = Database.prototype;
const counted = new WeakSet<object>();
Database.prototype.query = function (this: Database, sql: string) {
  const statement = query.call(this, sql);
  const { run: runStatement } = statement;
  if (counted.has(statement)) return statement;
  counted.add(statement);
  statement.run = (...args: Parameters<typeof runStatement>) => {
    step();
    return runStatement.apply(statement, args);
  };
  return statement;
} as typeof query;
Database.prototype.run = function (this: Database, ...args: Parameters<typeof run>) {
  step();
  return run.apply(this, args);
} as typeof run;

const home = process.argv[2]!;
const { url } = await startAuthority({ home, data: authorityPaths(home).dir });
left = Number(process.env.KILL_AT);
console.log(url);

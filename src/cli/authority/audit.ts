/** `svc authority audit`: what was done at an organisation's authority, as lines of JSON. */

import { readTime } from "../../checks/times.ts";
import { auditJson } from "../../trust/authority/organisation/audit-lines.ts";
import { asUsage, command, string } from "../terminal/command.ts";
import { printJson } from "../terminal/output.ts";
import { DATA, withLedger } from "./data.ts";

/** Rows that are printed with one write. */
const BATCH = 200;

export default command({
  details:
    "Prints the audit log, oldest first, a JSON object a line: enrolments, licences, renames, revocations, keys, administrators,\n" +
    "starts and ends of the server. No line holds a secret. Rows are only ever added, so that a copy goes on with --since at\n" +
    "the time of its last line (ids rise, which tells repeated lines). Works while the authority is served, and without.",
  examples: ["svc authority audit", "svc authority audit --since 2026-11-01 > audit.jsonl"],
  args: {
    since: string("TIME", "only what happened then or later, as 2026-11-22 or 2026-11-22T14:30:00Z, in UTC"),
    data: DATA,
    json: { type: "boolean", description: "print lines of JSON, as without it" },
  },
  async run({ args, env }) {
    const since = args.since === undefined ? undefined : asUsage(() => readTime(args.since, "--since"));
    await withLedger(args.data, env, (ledger) => {
      const batch: object[] = [];
      const flush = () => printJson(...batch.splice(0));
      for (const entry of ledger.audit.each({ since })) {
        batch.push(auditJson(entry));
        if (batch.length === BATCH) flush();
      }
      flush();
    });
  },
});

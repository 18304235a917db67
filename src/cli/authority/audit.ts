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
    "Prints the audit log, oldest first, one JSON object per line: enrolments, licences, renames, revocations, keys,\n" +
    "administrators, starts and ends of the server. No line holds a secret. Works while the server runs and while it\n" +
    "does not.\n\n" +
    "Rows are only added, never changed. To continue a copy, give the time of its last line as --since, and skip the\n" +
    "lines whose id the copy has.",
  examples: ["svc authority audit", "svc authority audit --since 2026-11-01 > audit.jsonl"],
  args: {
    since: string("TIME", "only what happened then or later, as 2026-11-22 or 2026-11-22T14:30:00Z, in UTC"),
    data: DATA,
    json: { type: "boolean", description: "accepted, and changes nothing: the lines are always JSON" },
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

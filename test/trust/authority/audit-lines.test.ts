/** The export of the audit log: other requests go on beside it, and what breaks it off is said in the log. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import type { LogEvent } from "../../../src/log.ts";
import type { AuditEntry } from "../../../src/trust/authority/ledger/audit.ts";
import { Ledger } from "../../../src/trust/authority/ledger/ledger.ts";
import { auditStream } from "../../../src/trust/authority/organisation/audit-lines.ts";
import { failure, newHome } from "../account/helpers.ts";

function ledgerWith(rows: number): Ledger {
  const home = newHome();
  const ledger = new Ledger(join(home, "ledger.sqlite"), home);
  ledger.transaction(() => {
    for (let n = 0; n < rows; n++)
      ledger.audit.add({ at: n, event: n % 100 === 0 ? "device_revoked" : "license_issued", actor: "eve" });
  });
  return ledger;
}

test("an export lets others have a turn between its parts", async () => {
  const ledger = ledgerWith(5000);
  let turns = 0;
  let isOver = false;
  const turn = () => {
    turns++;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  const text = await new Response(auditStream({ ledger, log: () => {} }, {})).text();
  isOver = true;
  expect(text.trimEnd().split("\n")).toHaveLength(5000);
  expect(turns).toBeGreaterThan(20);
  const revoked = await new Response(auditStream({ ledger, log: () => {} }, { event: "device_revoked" })).text();
  expect(revoked.trimEnd().split("\n")).toHaveLength(50);
  ledger.close();
});

test("an export that cannot be read to its end breaks off, and the log says why", async () => {
  const ledger = ledgerWith(1);
  const rows = [...ledger.audit.each()];
  ledger.audit.each = function* (): Iterable<AuditEntry> {
    yield* Array.from({ length: 1000 }, () => rows[0]!);
    throw Object.assign(new Error("database disk image is malformed"), { code: "SQLITE_CORRUPT" });
  };
  const events: LogEvent[] = [];
  const stream = auditStream({ ledger, log: (event) => void events.push(event) }, {});
  expect((await failure(() => new Response(stream).text())).message).toContain("malformed");
  expect(events).toMatchObject([{ level: "error", event: "failure" }]);
  expect(events[0]!.message).toStartWith("the audit log cannot be read: OSError: the authority's ledger.sqlite");
  ledger.close();
});

/** The audit log: what was done, by whom, to which device. Rows are only added. */
import type { Database } from "bun:sqlite";

export type AuditDetail = Readonly<Record<string, string | number | boolean | null>>;

/** What is recorded, in the order in which a choice shows it. */
export const AUDIT_EVENTS = [
  "device_enrolled",
  "device_registered",
  "license_issued",
  "device_renamed",
  "device_revoked",
  "device_allowed",
  "enroll_key_created",
  "enroll_key_used",
  "enroll_key_revoked",
  "login_approved",
  "login_denied",
  "admin_added",
  "admin_removed",
  "admin_signed_in",
  "license_key_added",
  "backup_made",
  "server_started",
  "server_stopped",
] as const;

export type AuditEvent = (typeof AUDIT_EVENTS)[number];

export interface AuditRecord {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly event: AuditEvent;
  /** Who did it: an administrator's name, a device's id, an enrolment key's id, or what runs the server. */
  readonly actor: string;
  /** The id of the device that it was done to. */
  readonly device?: string | undefined;
  readonly address?: string | undefined;
  readonly detail?: AuditDetail | undefined;
}

export interface AuditEntry extends AuditRecord {
  /** Rises with every row. */
  readonly id: number;
}

/** Which rows: all of these conditions. */
export interface AuditChoice {
  /** Milliseconds since 1970: only rows of then and later. */
  readonly since?: number | undefined;
  readonly event?: string | undefined;
  readonly device?: string | undefined;
}

export interface AuditSelection extends AuditChoice {
  /** Only rows before this one. */
  readonly before?: number | undefined;
  /** Only rows after this one, the next ones. */
  readonly after?: number | undefined;
  readonly limit: number;
}

/** Rows that an export reads at once: a read that stayed open would keep the write-ahead log from being reused. */
const PAGE = 500;

export class Audit {
  constructor(readonly db: Database) {}

  add({ at, event, actor, device, address, detail }: AuditRecord): void {
    this.db
      .query("INSERT INTO audit (at, event, actor, device, address, detail) VALUES (?, ?, ?, ?, ?, ?)")
      .run(at, event, actor, device ?? null, address ?? null, detail === undefined ? null : JSON.stringify(detail));
  }

  /** Newest first. */
  list(selection: AuditSelection): AuditEntry[] {
    const isForward = selection.after !== undefined;
    const rows = this.#rows(selection, isForward ? "ASC" : "DESC");
    return isForward ? rows.reverse() : rows;
  }

  /** Oldest first, as many as there are while they are read. */
  *each(choice: AuditChoice = {}): Iterable<AuditEntry> {
    for (let after = -1; ; ) {
      const rows = this.#rows({ after, limit: PAGE, ...choice }, "ASC");
      yield* rows;
      const last = rows.at(-1);
      if (last === undefined || rows.length < PAGE) return;
      after = last.id;
    }
  }

  #rows(selection: AuditSelection, order: "ASC" | "DESC") {
    const given = Object.entries(CONDITIONS).filter(([name]) => selection[name as keyof AuditSelection] !== undefined);
    const conditions = given.map(([, condition]) => ` AND ${condition}`).join("");
    const sql = `SELECT * FROM audit WHERE 1${conditions} ORDER BY id ${order} LIMIT $limit`;
    return this.db
      .query<AuditRow, Values>(sql)
      .all({ ...selection } as Values)
      .map(entry);
  }
}

const CONDITIONS = {
  before: "id < $before",
  after: "id > $after",
  since: "at >= $since",
  event: "event = $event",
  device: "device = $device",
} as const;

type Values = Record<string, string | number>;

interface AuditRow {
  readonly id: number;
  readonly at: number;
  readonly event: AuditEvent;
  readonly actor: string;
  readonly device: string | null;
  readonly address: string | null;
  readonly detail: string | null;
}

function entry({ device, address, detail, ...row }: AuditRow): AuditEntry {
  return {
    ...row,
    ...(device !== null && { device }),
    ...(address !== null && { address }),
    ...(detail !== null && { detail: JSON.parse(detail) as AuditDetail }),
  };
}

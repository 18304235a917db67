/** Devices and the licences that they got. */
import type { Database } from "bun:sqlite";

export interface DeviceRecord {
  readonly deviceId: string;
  readonly thumbprint: string;
  /** Ed25519, 32 bytes as base64url. */
  readonly publicKey: string;
  readonly platform: string;
  readonly hostHash: string;
  readonly account: string;
}

/** What else a registration may contain about a device. */
export interface NewDevice extends DeviceRecord {
  /** Kept where the device has no name yet: what an administrator calls it stands. */
  readonly name?: string;
  readonly tags?: readonly string[];
  /** The id of the enrolment key that let it in. With it, the tags are that key's. */
  readonly enrolledBy?: string;
}

/** Times in milliseconds since 1970. */
export interface DeviceEntry extends DeviceRecord {
  /** Empty where it has none. */
  readonly name: string;
  readonly tags: readonly string[];
  readonly enrolledBy: string | null;
  readonly registeredAt: number;
  readonly seenAt: number;
  /** When its last licence was issued, and when that one ends. */
  readonly licensedAt: number | null;
  readonly licenseEnds: number | null;
  readonly revokedAt: number | null;
  readonly revokedBy: string | null;
}

export interface DeviceSelection {
  /** Part of a name, id, account, platform, thumbprint, tag or enrolment key's id; ASCII letters of either case. */
  readonly search?: string;
  /** The id of the last device of the page before. */
  readonly after?: string | undefined;
  /** The id of the first device of the page after: the last ones in front of it. */
  readonly before?: string | undefined;
  readonly limit: number;
  /** Only the revoked ones, or only the others. */
  readonly revoked?: boolean;
}

/** `conflict`: its id belongs to another key. `revoked`: the id or the key does, and nothing was changed. */
export type Registration = "new" | "known" | "conflict" | "revoked";

export class Devices {
  constructor(readonly db: Database) {}

  /** Registers a device, or updates what it says of itself, who let it in and when it was seen. */
  register(device: NewDevice, now: number): Registration {
    const { deviceId, thumbprint } = device;
    return this.db
      .transaction((): Registration => {
        const sql = `SELECT id = ?1 AS same, thumbprint, revoked_at IS NOT NULL AS revoked FROM devices
          WHERE id = ?1 OR thumbprint = ?2`;
        const rows = this.db.query<KnownRow, [string, string]>(sql).all(deviceId, thumbprint);
        if (rows.some((row) => row.same && row.thumbprint !== thumbprint)) return "conflict";
        // Under another id too: a revoked machine could take one, and its key is what its licences name.
        if (rows.some((row) => row.revoked)) return "revoked";
        const { name = "", tags = [], enrolledBy = null } = device;
        const values = { ...device, name, tags: JSON.stringify(tags), enrolledBy, now };
        if (rows.some((row) => row.same)) {
          const update = `UPDATE devices SET platform = $platform, host_hash = $hostHash, account = $account,
            seen_at = $now, name = iif(name = '', $name, name), tags = iif($enrolledBy IS NULL, tags, $tags),
            enrolled_by = ifnull($enrolledBy, enrolled_by) WHERE id = $deviceId`;
          this.db.query(update).run(values);
          return "known";
        }
        const insert = `INSERT INTO devices (id, thumbprint, public_key, platform, host_hash, account, registered_at,
          seen_at, name, tags, enrolled_by) VALUES ($deviceId, $thumbprint, $publicKey, $platform, $hostHash, $account,
          $now, $now, $name, $tags, $enrolledBy)`;
        this.db.query(insert).run(values);
        return "new";
      })
      .immediate();
  }

  get(deviceId: string): DeviceEntry | undefined {
    return this.#entries("WHERE id = ?", deviceId)[0];
  }

  /** The devices with a key; more than one where a machine has taken another id. */
  ofKey(thumbprint: string): DeviceEntry[] {
    return this.#entries("WHERE thumbprint = ? ORDER BY registered_at DESC, id DESC", thumbprint);
  }

  /** Last registered first. */
  list(selection: DeviceSelection): DeviceEntry[] {
    const { search = "", after, before, revoked } = selection;
    const conditions = ["1"];
    if (after !== undefined)
      conditions.push("(registered_at, id) < (SELECT registered_at, id FROM devices WHERE id = $after)");
    if (before !== undefined)
      conditions.push("(registered_at, id) > (SELECT registered_at, id FROM devices WHERE id = $before)");
    if (revoked !== undefined) conditions.push(`revoked_at IS ${revoked ? "NOT " : ""}NULL`);
    if (search !== "")
      conditions.push(
        `(${["name", "id", "account", "platform", "thumbprint", "tags", "enrolled_by"]
          .map((column) => `instr(lower(${column}), lower($search)) > 0`)
          .join(" OR ")})`,
      );
    // What is nearest in front of a row is read backwards.
    const order = before === undefined ? "DESC" : "ASC";
    const sql = `${SELECT} WHERE ${conditions.join(" AND ")}
      ORDER BY registered_at ${order}, id ${order} LIMIT $limit`;
    const rows = this.db
      .query<DeviceRow, Values>(sql)
      .all({ ...selection } as Values)
      .map(entry);
    return before === undefined ? rows : rows.reverse();
  }

  count(): { all: number; revoked: number } {
    const sql = "SELECT count(*) AS all_, count(revoked_at) AS revoked FROM devices";
    const row = this.db.query<{ all_: number; revoked: number }, []>(sql).get();
    return { all: row?.all_ ?? 0, revoked: row?.revoked ?? 0 };
  }

  /** False if there is no such device. */
  rename(deviceId: string, name: string): boolean {
    return this.db.query("UPDATE devices SET name = ? WHERE id = ?").run(name, deviceId).changes === 1;
  }

  /** False if there is no such device, or it is revoked already: who did it first, and when, stands. */
  revoke(deviceId: string, by: string, now: number): boolean {
    const sql = "UPDATE devices SET revoked_at = ?, revoked_by = ? WHERE id = ? AND revoked_at IS NULL";
    return this.db.query(sql).run(now, by, deviceId).changes === 1;
  }

  /** Lets a revoked device in again. False if there is no such device, or it is not revoked. */
  allow(deviceId: string, now: number): boolean {
    const sql = `UPDATE devices SET revoked_at = NULL, revoked_by = NULL, seen_at = max(seen_at, ?)
      WHERE id = ? AND revoked_at IS NOT NULL`;
    return this.db.query(sql).run(now, deviceId).changes === 1;
  }

  /**
   * Records a licence, with its device if that is registered.
   * @param deviceId null for a key that has no registered device
   */
  addLicense(id: string, deviceId: string | null, tier: string, issuedAt: number, expiresAt: number): void {
    const add = this.db.transaction(() => {
      this.db
        .query("INSERT INTO licenses (id, device_id, tier, issued_at, expires_at) VALUES (?, ?, ?, ?, ?)")
        .run(id, deviceId, tier, issuedAt, expiresAt);
      if (deviceId === null) return;
      const last = "UPDATE devices SET licensed_at = ?, license_ends = ? WHERE id = ?";
      this.db.query(last).run(issuedAt, expiresAt, deviceId);
    });
    add.immediate();
  }

  #entries(condition: string, value: string): DeviceEntry[] {
    return this.db.query<DeviceRow, [string]>(`${SELECT} ${condition}`).all(value).map(entry);
  }
}

const SELECT = `SELECT id AS deviceId, thumbprint, public_key AS publicKey, platform, host_hash AS hostHash, account, name,
  tags, enrolled_by AS enrolledBy, registered_at AS registeredAt, seen_at AS seenAt, licensed_at AS licensedAt,
  license_ends AS licenseEnds, revoked_at AS revokedAt, revoked_by AS revokedBy FROM devices`;

type Values = Record<string, string | number | boolean>;

interface KnownRow {
  readonly same: number;
  readonly thumbprint: string;
  readonly revoked: number;
}

type DeviceRow = Omit<DeviceEntry, "tags"> & { readonly tags: string };

function entry(row: DeviceRow): DeviceEntry {
  return { ...row, tags: JSON.parse(row.tags) as string[] };
}

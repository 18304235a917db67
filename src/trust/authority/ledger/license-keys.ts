/** An organisation's LICENSE keys: the only secrets that are kept as they are, because they sign. */
import type { Database } from "bun:sqlite";

export interface LicenseKeyRecord {
  /** What licences name it by (`kid`). */
  readonly id: string;
  /** PKCS #8 in PEM. */
  readonly privatePem: string;
  /** SPKI in PEM. */
  readonly publicPem: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** The predecessor's signature over this key; null for the first. */
  readonly statement: string | null;
}

export class LicenseKeyRecords {
  constructor(readonly db: Database) {}

  /** In the order in which they were added. */
  list(): LicenseKeyRecord[] {
    return this.db.query<LicenseKeyRecord, []>(`${SELECT} ORDER BY seq`).all();
  }

  /** @throws SQLite's error where there is one of that id */
  add({ id, privatePem, publicPem, createdAt, statement }: LicenseKeyRecord): void {
    this.db
      .query("INSERT INTO license_keys (id, private_pem, public_pem, created_at, statement) VALUES (?, ?, ?, ?, ?)")
      .run(id, privatePem, publicPem, createdAt, statement);
  }

  /** The last one that was added. */
  current(): LicenseKeyRecord | undefined {
    return this.db.query<LicenseKeyRecord, []>(`${SELECT} ORDER BY seq DESC LIMIT 1`).get() ?? undefined;
  }
}

const SELECT = `SELECT id, private_pem AS privatePem, public_pem AS publicPem, created_at AS createdAt, statement
  FROM license_keys`;

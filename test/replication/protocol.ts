/** Messages of PostgreSQL's protocol 3.0: those that a client sends, and those of a server. */

/** Values by column; text, or bytes of a `bytea`. */
export type Row = Record<string, string | Uint8Array>;

const TEXT = 25;
const BYTEA = 17;
const SSL_REQUEST = 80_877_103;

/** What a client sends, cut into messages. The first ones have no type. */
export class Messages {
  private pending = Buffer.alloc(0);
  private isStarted = false;

  push(bytes: Uint8Array): void {
    this.pending = Buffer.concat([this.pending, bytes]);
  }

  *take(): Generator<{ type: string; body: Buffer }> {
    for (;;) {
      const head = this.isStarted ? 1 : 0;
      if (this.pending.length < head + 4) return;
      const length = this.pending.readInt32BE(head);
      if (this.pending.length < head + length) return;
      const body = this.pending.subarray(head + 4, head + length);
      let type = this.isStarted ? String.fromCharCode(this.pending[0]!) : "startup";
      if (!this.isStarted && body.readInt32BE(0) === SSL_REQUEST) type = "ssl";
      else this.isStarted = true;
      this.pending = this.pending.subarray(head + length);
      yield { type, body };
    }
  }
}

const int16 = (value: number) => {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
};
const int32 = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};
const text = (value: string) => Buffer.from(`${value}\0`);

/** What a server sends. */
export class Fields {
  private readonly parts: Uint8Array[] = [];

  bytes(): Buffer {
    return Buffer.concat(this.parts);
  }

  raw(value: string): void {
    this.parts.push(Buffer.from(value));
  }

  message(type: string, ...fields: Uint8Array[]): void {
    const body = Buffer.concat(fields);
    this.parts.push(Buffer.from(type), int32(body.length + 4), body);
  }

  /** The user is accepted without a password. */
  welcome(): void {
    this.message("R", int32(0));
    this.message("K", int32(1), int32(1));
    this.ready();
  }

  ready(): void {
    this.message("Z", Buffer.from("I"));
  }

  error(state: string, severity: string): void {
    const fields = Object.entries({ S: severity, V: severity, C: state, M: `failure ${state}` });
    this.message("E", ...fields.map(([key, value]) => text(key + value)), Buffer.from([0]));
  }

  /** The types of the parameters of a statement, where it is a statement that is described. */
  parameters(statement: string, isStatement: boolean): void {
    if (!isStatement) return;
    const numbers = [...statement.matchAll(/\$(\d+)/g)].map(([, digits]) => Number(digits));
    const count = Math.max(0, ...numbers);
    this.message("t", int16(count), ...Array.from({ length: count }, () => int32(TEXT)));
  }

  columns(rows: readonly Row[]): void {
    if (rows.length === 0) {
      this.message("n");
      return;
    }
    const columns = Object.entries(rows[0]!).map(([name, value]) => {
      const type = typeof value === "string" ? TEXT : BYTEA;
      const isBinary = type === BYTEA ? 1 : 0;
      return Buffer.concat([text(name), int32(0), int16(0), int32(type), int16(-1), int32(-1), int16(isBinary)]);
    });
    this.message("T", int16(columns.length), ...columns);
  }

  rows(rows: readonly Row[], command: string): void {
    for (const row of rows) {
      const values = Object.values(row).map((value) => Buffer.from(value as string));
      this.message("D", int16(values.length), ...values.flatMap((value) => [int32(value.length), value]));
    }
    const tag = { INSERT: "INSERT 0", WITH: "SELECT" }[command] ?? command;
    this.message("C", text(/BEGIN|COMMIT|ROLLBACK/.test(tag) ? tag : `${tag} ${rows.length}`));
  }

  /** The values that a Bind message has. */
  static valuesOf(body: Buffer): Uint8Array[] {
    let at = body.indexOf(0) + 1;
    at = body.indexOf(0, at) + 1;
    at += 2 + 2 * body.readInt16BE(at);
    const count = body.readInt16BE(at);
    at += 2;
    return Array.from({ length: count }, () => {
      const length = Math.max(0, body.readInt32BE(at));
      at += 4 + length;
      return Uint8Array.from(body.subarray(at - length, at));
    });
  }
}

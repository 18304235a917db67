/** Administrators: a name each, and the code that they sign in with. */
import type { Database } from "bun:sqlite";
import { digest, rowOf } from "./digest.ts";

export class Admins {
  constructor(readonly db: Database) {}

  /** False if there is one of that name: nothing was changed then. */
  add(name: string, secret: string, now: number): boolean {
    const sql = "INSERT INTO admins (name, hash, created_at) VALUES (?, ?, ?) ON CONFLICT (name) DO NOTHING";
    return this.db.query(sql).run(name, digest(secret), now).changes === 1;
  }

  /** The name of the administrator with this code. */
  find(secret: string): string | undefined {
    return rowOf<{ name: string }>(this.db, "SELECT hash, name FROM admins WHERE hash = $hash", secret)?.name;
  }

  /** By name. */
  list(): { readonly name: string; readonly createdAt: number }[] {
    const sql = "SELECT name, created_at AS createdAt FROM admins ORDER BY name";
    return this.db.query<{ name: string; createdAt: number }, []>(sql).all();
  }

  /** False if there is none of that name. */
  remove(name: string): boolean {
    return this.db.query("DELETE FROM admins WHERE name = ?").run(name).changes === 1;
  }
}

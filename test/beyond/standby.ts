/** A second server that has all that a first one acknowledges, and can take its place. */
import { SQL } from "bun";
import { freePort } from "../free-port.ts";
import { copyFolder, PASSWORD, program, USER } from "./installed.ts";
import { PostgresServer } from "./postgres.ts";
import { runAsServer } from "./user.ts";

/** The name by which the primary knows its standby. */
const NAME = "standby";
const CONNECT_MS = 30_000;

export interface StandbyOptions {
  /** The standby's folder, which does not exist yet. */
  dir: string;
  /** The port of loopback at which it reaches the primary: that of a proxy. By default the primary's own. */
  primaryPort?: number;
}

/** A synchronous standby: no commit of the primary is acknowledged before the standby has synced it to its disk. */
export class Standby extends PostgresServer {
  /**
   * Makes a standby from the primary's folder, for which it restarts the primary: its sessions end.
   * It waits until the two are connected. Without the standby, commits of the primary wait for ever.
   */
  static async of(primary: PostgresServer, { dir, primaryPort = primary.port }: StandbyOptions): Promise<Standby> {
    await primary.stop();
    const settings = { ...primary.settings, synchronous_standby_names: "" };
    const standby = new Standby({ dir, tls: primary.tls, settings }, freePort());
    standby.makeFolder();
    await copyFolder(primary.data, standby.data);
    const from = { host: "127.0.0.1", port: primaryPort, user: USER, password: PASSWORD, application_name: NAME };
    const fields = Object.entries(from).map(([key, value]) => `${key}='${value}'`);
    standby.settings.primary_conninfo = fields.join(" ");
    // How long it waits before it connects again; by default five seconds.
    standby.settings.wal_retrieve_retry_interval = "100ms";
    standby.write("standby.signal", "");
    primary.settings.synchronous_standby_names = NAME;
    await Promise.all([primary.restart(), standby.restart()]);
    await connected(primary);
    return standby;
  }

  /** Makes it a primary, which has no standby, and waits until it accepts writes. */
  async promote(): Promise<void> {
    await runAsServer([program("pg_ctl"), "promote", "--wait", "--silent", "-D", this.data]);
  }
}

/** Waits until the standby is connected and commits wait for it. */
export async function connected(primary: PostgresServer): Promise<void> {
  const sql = new SQL(primary.tls ? `${primary.url}?sslmode=require` : primary.url, { max: 1 });
  try {
    for (const deadline = performance.now() + CONNECT_MS; ; await Bun.sleep(10)) {
      const [row] = await sql`select sync_state from pg_stat_replication where application_name = ${NAME}`;
      if (row?.sync_state === "sync") return;
      if (performance.now() > deadline) throw new Error(`the standby has not connected to its primary\n${primary.log}`);
    }
  } finally {
    await sql.close();
  }
}

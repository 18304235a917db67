/** A PostgreSQL server of this machine, with a folder of its own, for the tests of one file. */
import { chmodSync, chownSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Glob, SQL } from "bun";
import { hasServers, program } from "../beyond/installed.ts";
import type { Certified } from "../e2e/certificate.ts";
import { scratchDir } from "../fixture.ts";
import { closedAtEnd } from "../opened.ts";

const UNPRIVILEGED = 65_534;
const isRoot = process.getuid?.() === 0;
const setpriv = Bun.which("setpriv");
/** Those that `npm run test:beyond` has installed, else those of Debian's package. */
const programs = hasServers()
  ? dirname(program("postgres"))
  : [...new Glob("/usr/lib/postgresql/*/bin").scanSync({ onlyFiles: false })].sort().at(-1);

/** Whether this machine has PostgreSQL, and a user under which it runs: it refuses to be started by root. */
export const hasPostgres = programs !== undefined && (!isRoot || setpriv !== null);
/** What a test that needs the server has at the end of its name. */
export const NEEDS = "(needs PostgreSQL in /usr/lib/postgresql; run by npm run test:beyond)";

function command(program: string, ...flags: string[]): string[] {
  const user = [
    setpriv!,
    `--reuid=${UNPRIVILEGED}`,
    `--regid=${UNPRIVILEGED}`,
    "--clear-groups",
    "--pdeathsig",
    "QUIT",
  ];
  return [...(isRoot ? user : []), join(programs!, program), ...flags];
}

export class Server {
  private databases = 0;

  private constructor(
    readonly port: number,
    private readonly child: Bun.Subprocess,
  ) {}

  /** @param tls with it, the server accepts TLS as well */
  static async start(tls?: Certified): Promise<Server> {
    const dir = scratchDir();
    for (const folder of [tmpdir(), dir]) if ((statSync(folder).mode & 1) === 0) chmodSync(folder, 0o711);
    const [data, password] = [join(dir, "data"), join(dir, "password")];
    mkdirSync(data);
    writeFileSync(password, "secret-word");
    const files = { "server.crt": tls?.cert, "server.key": tls?.key };
    const give = (path: string) => {
      chmodSync(path, path.endsWith("data") ? 0o700 : 0o600);
      if (isRoot) chownSync(path, UNPRIVILEGED, UNPRIVILEGED);
    };
    give(data);
    give(password);
    const access = ["-U", "svc", `--pwfile=${password}`, "--auth=scram-sha-256"];
    const made = Bun.spawnSync(command("initdb", "-D", data, ...access, "-E", "UTF8", "--locale=C", "--no-sync"), {
      cwd: "/",
    });
    if (!made.success) throw new Error(made.stderr.toString());
    for (const [name, pem] of Object.entries(tls ? files : {})) {
      writeFileSync(join(data, name), pem!);
      give(join(data, name));
    }
    const listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
    const { port } = listener;
    listener.stop(true);
    const settings = {
      port,
      listen_addresses: "127.0.0.1",
      fsync: "off",
      ssl: tls ? "on" : "off",
      shared_buffers: "32MB",
    };
    const flags = Object.entries({ ...settings, unix_socket_directories: "" }).flatMap((pair) => [
      "-c",
      pair.join("="),
    ]);
    const child = Bun.spawn(command("postgres", "-D", data, ...flags), {
      cwd: "/",
      stdout: "ignore",
      stderr: "ignore",
    });
    const server = closedAtEnd(new Server(port, child));
    for (let tries = 0; ; tries++) {
      if (await server.query("select 1").catch(() => undefined)) return server;
      if (tries > 600) throw new Error("PostgreSQL did not start");
      await Bun.sleep(50);
    }
  }

  /** The address of a database, for the superuser or a role with a password like its. */
  url(database = "postgres", user = "svc", host = "127.0.0.1"): string {
    return `postgres://${user}:secret-word@${host}:${this.port}/${database}`;
  }

  /** Runs statements as the superuser. */
  async query(text: string, database = "postgres"): Promise<Record<string, unknown>[]> {
    const sql = new SQL(this.url(database), { max: 1 });
    try {
      return [...(await sql.unsafe(text))];
    } finally {
      await sql.close({ timeout: 0 });
    }
  }

  /** A new database. @returns its name */
  async database(options = ""): Promise<string> {
    const name = `d${++this.databases}`;
    await this.query(`create database ${name} template template0 ${options}`);
    return name;
  }

  async close(): Promise<void> {
    this.child.kill("SIGQUIT");
    await this.child.exited;
  }
}

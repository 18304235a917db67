/** Servers of this folder as a test uses them: killed, frozen, full and replaced by a standby. */
import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { scratchDir } from "../fixture.ts";
import { childrenOf, isRunning, signal } from "../processes.ts";
import { until } from "../remote/server/raw.ts";
import { SmallDisk } from "../small-disk.ts";
import { add, client, clientWithTable, failure, isSilent, LOST, rows } from "./client.ts";
import { hasServers, NEEDS } from "./installed.ts";
import { PostgresServer, type StopMode } from "./postgres.ts";
import { TcpProxy } from "./proxy.ts";
import { connected, Standby } from "./standby.ts";
import { LOCALHOST, OTHER_HOST, OTHER_ROOT_CERTIFICATE, ROOT_CERTIFICATE } from "./tls.ts";

const disk = new SmallDisk("160m");
const newDir = () => join(scratchDir(), "server");
const start = () => PostgresServer.start({ dir: newDir() });

describe.skipIf(!hasServers())("a PostgreSQL server", () => {
  test(`has what it acknowledged after all its processes were killed ${NEEDS}`, async () => {
    const server = await start();
    const sql = await clientWithTable(server.url);
    const pending = failure(sql`select pg_sleep(60)`);
    const processes = [server.pid, ...childrenOf(server.pid)];
    expect(processes.length).toBeGreaterThan(3);
    await server.kill();
    expect(await pending).toBe(LOST);
    expect(processes.filter(isRunning)).toEqual([]);
    expect(await failure(client(server.url)`select 1`)).toBe("ERR_POSTGRES_CONNECTION_REFUSED");
    await server.restart();
    expect(await rows(client(server.url))).toEqual([1]);
    expect(server.log).toContain("was not properly shut down; automatic recovery in progress");
  });

  test.each<[StopMode, boolean]>([
    ["fast", false],
    ["immediate", true],
  ])(`has what it acknowledged after a stop (%s) ${NEEDS}`, async (mode, recovers) => {
    const server = await start();
    const { port } = server;
    const pending = failure((await clientWithTable(server.url))`select pg_sleep(60)`);
    await server.stop(mode);
    expect([LOST, "57P01", "57P02"]).toContain((await pending)!);
    await server.restart();
    expect(server.port).toBe(port);
    expect(await rows(client(server.url))).toEqual([1]);
    expect(server.log.includes("was not properly shut down")).toBe(recovers);
  });

  test(`refuses a wrong password, on its socket too ${NEEDS}`, async () => {
    const server = await start();
    expect(await failure(client(server.url.replace(/:[^:@]*@/, ":wrong@"))`select 1`)).toBe("28P01");
    const path = join(server.dir, `.s.PGSQL.${server.port}`);
    expect(existsSync(path)).toBe(true);
    expect(await failure(client("", { adapter: "postgres", path, username: "svc", password: "wrong" })`select 1`)).toBe(
      "28P01",
    );
  });

  test(`is silent while it is frozen, and goes on after it ${NEEDS}`, async () => {
    const server = await start();
    const sql = await clientWithTable(server.url);
    const other = client(server.url);
    const [{ pid }] = await sql`select pg_backend_pid() as pid`;
    await server.freeze(pid);
    const one = rows(sql);
    expect(await isSilent(one)).toBe(true);
    expect(await rows(other)).toEqual([1]);
    server.thaw();
    expect(await one).toEqual([1]);
    await server.freeze();
    const calls = [rows(sql), rows(other), rows(client(server.url))];
    expect(await isSilent(Promise.race(calls))).toBe(true);
    server.thaw();
    expect(await Promise.all(calls)).toEqual([[1], [1], [1]]);
    // A frozen server ends as well.
    await server.freeze();
    await server.stop();
    expect(server.isRunning).toBe(false);
  });

  test.skipIf(!disk.isPossible)(`refuses what does not fit on its disk (needs to mount one) ${NEEDS}`, async () => {
    const server = await PostgresServer.start({ dir: join(disk.path, "server") });
    const sql = await clientWithTable(server.url);
    const large = (x: number) => sql`insert into t select ${x}, string_agg(uuid_send(gen_random_uuid()), '')
      from generate_series(1, 200000)`;
    const free = disk.fill();
    expect(await failure(large(2))).toBe("53100");
    expect(await rows(sql)).toEqual([1]);
    free();
    await large(3);
    expect(await rows(sql)).toEqual([1, 3]);
  });

  test(`ends, with its folder and its shared memory ${NEEDS}`, async () => {
    const segments = () => Bun.spawnSync(["ipcs", "-m", "-c"]).stdout.toString();
    for (const end of [
      () => {},
      (server: PostgresServer) => server.kill(),
      (server: PostgresServer) => server.stop(),
    ]) {
      const server = await start();
      const [, , , , , , segment] = (await Bun.file(join(server.data, "postmaster.pid")).text()).split("\n");
      const id = segment!.trim().split(/\s+/)[1]!;
      const processes = [server.pid, ...childrenOf(server.pid)];
      await end(server);
      await server.close();
      expect(processes.filter(isRunning)).toEqual([]);
      expect(existsSync(server.dir)).toBe(false);
      expect(segments()).not.toMatch(new RegExp(`^${id}\\s`, "m"));
    }
  });

  test.skipIf(!Bun.which("setpriv"))(`ends with the process that started it (needs setpriv) ${NEEDS}`, async () => {
    const script = `import { PostgresServer } from "${import.meta.dir}/postgres.ts";
      const server = await PostgresServer.start({ dir: "${newDir()}" });
      console.log(server.pid);
      setInterval(() => {}, 1000);`;
    const child = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe" });
    const { value } = await child.stdout.getReader().read();
    const server = Number(new TextDecoder().decode(value));
    const processes = [server, ...childrenOf(server)];
    expect(processes.filter(isRunning).length).toBeGreaterThan(3);
    signal(child.pid, "SIGKILL");
    await until("the end of the server", () => !processes.some(isRunning));
  });
});

describe.skipIf(!hasServers())("a synchronous standby", () => {
  test(`has all that a killed primary acknowledged, and takes its place ${NEEDS}`, async () => {
    const primary = await start();
    const sql = await clientWithTable(primary.url);
    await sql.close();
    const standby = await Standby.of(primary, { dir: newDir() });
    const reader = client(standby.url);
    expect(await failure(add(reader, 1000))).toBe("25006");
    const acknowledged = [1];
    const proxy = await TcpProxy.start(primary.port);
    const writer = client(primary.urlAt(proxy.port));
    const writing = failure(
      (async () => {
        for (let x = 2; ; x++) {
          await add(writer, x);
          acknowledged.push(x);
        }
      })(),
    );
    await until("commits", () => acknowledged.length > 50);
    await primary.kill();
    expect(await writing).toBe(LOST);
    await standby.promote();
    const found = await rows(reader);
    expect(found.slice(0, acknowledged.length)).toEqual(acknowledged);
    // The commit that was in flight may be there: its answer was lost.
    expect(found.length - acknowledged.length).toBeLessThanOrEqual(1);
    // The same client goes on at the same address.
    proxy.to = standby.port;
    await add(writer, 1000);
    expect(await rows(reader)).toEqual([...found, 1000]);
    // The old primary acknowledges nothing any more: it waits for a standby that is one no longer.
    await primary.restart();
    expect(await isSilent(add(client(primary.url), 1001))).toBe(true);
  });

  test(`is waited for while it is silent ${NEEDS}`, async () => {
    const primary = await start();
    await clientWithTable(primary.url);
    const proxy = await TcpProxy.start(primary.port);
    const standby = await Standby.of(primary, { dir: newDir(), primaryPort: proxy.port });
    const sql = client(primary.url);
    proxy.silence();
    const adding = add(sql, 2);
    expect(await isSilent(adding)).toBe(true);
    proxy.pass();
    await adding;
    expect(await rows(client(standby.url))).toEqual([1, 2]);
    proxy.cut();
    await connected(primary);
    await add(sql, 3);
  });
});

describe.skipIf(!hasServers())("a server with a certificate", () => {
  const ca = { tls: { ca: ROOT_CERTIFICATE } };
  const verified = (server: PostgresServer, options: Bun.SQL.PostgresOrMySQLOptions) =>
    failure(client(`${server.url}?sslmode=verify-full`, options)`select 1`);

  test(`is believed by clients that know its authority, and refuses plain connections ${NEEDS}`, async () => {
    const server = await PostgresServer.start({ dir: newDir(), tls: LOCALHOST });
    expect(await verified(server, ca)).toBeUndefined();
    expect(await verified(server, { tls: { ca: OTHER_ROOT_CERTIFICATE } })).toBe("UNABLE_TO_VERIFY_LEAF_SIGNATURE");
    expect(await failure(client(server.url)`select 1`)).toBe("28000");
    const standby = await Standby.of(server, { dir: newDir() });
    expect(await verified(standby, ca)).toBeUndefined();
  });

  test(`is refused if the certificate is for another host ${NEEDS}`, async () => {
    const server = await PostgresServer.start({ dir: newDir(), tls: OTHER_HOST });
    expect(await verified(server, ca)).toBe("ERR_TLS_CERT_ALTNAME_INVALID");
  });
});

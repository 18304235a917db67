/** Tables, rights, credentials and TLS on a real server. */
import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { PrivateAuthority } from "../e2e/certificate.ts";
import { scratchDir } from "../fixture.ts";
import { chunk, commit, contentOf, database, faultOf, open, server, useServer } from "./nodes.ts";
import { hasPostgres, NEEDS, Server } from "./server.ts";

describe.skipIf(!hasPostgres)("with a server", () => {
  useServer();

  describe("the schema", () => {
    test(`is made once, however many nodes begin ${NEEDS}`, async () => {
      await Promise.all(Array.from({ length: 8 }, () => open()));
      expect(await server.query("select version from svc.svc_version", database)).toMatchObject([{ version: 3 }]);
    });

    test(`is brought to this version, and keeps the logs of collections ${NEEDS}`, async () => {
      await commit(await open(), {});
      const older =
        "drop function svc.svc_swap, svc.svc_read; drop table svc.svc_dropped; alter table svc.svc_head drop column log; " +
        "update svc.svc_version set version = 1";
      await server.query(older, database);
      const [a, b] = await Promise.all([open(), open()]);
      const { log } = (await a.head("notes"))!;
      expect(log).toMatch(/^[0-9a-f-]{36}$/);
      await commit(b, {});
      expect((await a.head("notes"))!.log).toBe(log);
      expect(await a.isDropped("notes", log)).toBe(false);
      await b.drop("notes");
      expect([await a.isDropped("notes", log), await a.isDropped("other", log)]).toEqual([true, false]);
    });

    test(`needs no more than the rights to its tables once it is there ${NEEDS}`, async () => {
      const role = `${database}_role`;
      await server.query(`create role ${role} login password 'secret-word'`);
      const url = server.url(database, role);
      expect(await faultOf(open({}, url))).toMatch(/^refused: .*grant this role USAGE/);
      await open();
      expect(await faultOf(open({}, url))).toMatch(/^refused: .*grant this role USAGE/);
      await server.query(`grant usage on schema svc to ${role}`, database);
      expect(await faultOf(open({}, url))).toMatch(/^refused: .*SELECT, INSERT, UPDATE, DELETE/);
      await server.query(`grant select on all tables in schema svc to ${role}`, database);
      expect(await faultOf(open({}, url))).toMatch(
        /^refused: .*lacks rights; grant it DELETE on svc.svc_chunk, INSERT on/,
      );
      await server.query(`grant select, insert, update, delete on all tables in schema svc to ${role}`, database);
      const engine = await open({ graceMs: 0 }, url);
      await engine.put("notes", chunk("a", 0, "a"));
      await engine.put("notes", chunk("a", 0, "a"));
      await commit(engine, { base: "a" });
      await commit(engine, {});
      await engine.sweep("notes");
      expect([await contentOf(engine, "a"), await engine.drop("notes")]).toEqual(["", true]);
      await server.query("revoke execute on all functions in schema svc from public", database);
      expect(await faultOf(open({}, url))).toMatch(
        /^refused: .*lacks rights; grant it EXECUTE on function svc.svc_read, EXECUTE on function svc.svc_swap$/,
      );
      await server.query(`revoke insert on svc.svc_chunk from ${role}`, database);
      expect(await faultOf(engine.put("notes", chunk("a", 0, "a")))).toMatch(/^refused: .*svc_chunk.*grant this role/);
    });

    test(`is refused where it is newer, damaged or of another program ${NEEDS}`, async () => {
      await open();
      await server.query("update svc.svc_version set version = 99", database);
      expect(await faultOf(open())).toMatch(/^refused: .*have version 99.*run 'svc upgrade' on this machine/);
      await server.query("delete from svc.svc_version", database);
      expect(await faultOf(open())).toMatch(/^refused: .*has no row/);
      await server.query("drop table svc.svc_version", database);
      expect(await faultOf(open())).toMatch(/^refused: .*has tables that svc did not make/);
      const latin = await server.database("encoding 'LATIN1' lc_collate 'C' lc_ctype 'C'");
      expect(await faultOf(open({}, server.url(latin)))).toMatch(/^refused: .*the encoding LATIN1/);
    });
  });

  test(`a password that is wrong is refused, and not printed ${NEEDS}`, async () => {
    const fault = await faultOf(open({}, server.url(database).replace("secret-word", "wrong-word")));
    expect(fault).toMatch(/^refused: .*the user name or the password is wrong/);
    expect(fault).not.toContain("wrong-word");
    expect(await faultOf(open({}, server.url("missing")))).toMatch(/^refused: .*CREATE DATABASE/);
  });
});

describe.skipIf(!hasPostgres)("with TLS", () => {
  const authority = new PrivateAuthority();
  const root = join(scratchDir(), "root.pem");
  writeFileSync(root, authority.cert);

  test(`the certificate has to be signed by the root, for the host of the address ${NEEDS}`, async () => {
    const server = await Server.start(authority.issue("localhost"));
    const at = (host: string, query: string) => open({}, `${server.url("postgres", "svc", host)}?${query}`);
    const trusted = `sslrootcert=${root}`;
    const usesTls =
      "select count(*)::int as n from pg_stat_ssl join pg_stat_activity using (pid) where ssl and usename = 'svc'";
    await commit(await at("localhost", `${trusted}`), {});
    expect((await server.query(usesTls))[0]!.n).toBe(1);
    expect(await faultOf(at("127.0.0.1", `sslmode=verify-full&${trusted}`))).toMatch(/^refused: .*is for another name/);
    expect(await faultOf(at("localhost", "sslmode=verify-full"))).toMatch(/^refused: .*is not trusted.*sslrootcert/);
    await at("127.0.0.1", `sslmode=verify-ca&${trusted}`);
    expect(await faultOf(at("127.0.0.1", "sslmode=verify-ca"))).toMatch(/^refused: .*is not trusted/);
    await at("127.0.0.1", "sslmode=require");
  });
});

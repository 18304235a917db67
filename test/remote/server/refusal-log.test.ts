/** The log of a server that refuses many connections does not grow with their number. */
import { expect, test } from "bun:test";
import { ask, frame, Raw, TestServer, until } from "./raw.ts";
import { selfTls } from "./tls-server.ts";

const GARBAGE = Buffer.from("GET / HTTP/1.1\r\n\r\n");

test.each([
  ["requests before auth", ask("ping")],
  ["garbage", GARBAGE],
  ["no JSON", frame(Buffer.from("{"))],
])("200 connections with %s are a few lines", async (_, bytes) => {
  await using server = await TestServer.start({ tcp: true });
  for (let i = 0; i < 200; i++) {
    const raw = await server.bare();
    raw.send(bytes);
    await raw.end();
  }
  const lines = [...server.logged("bad_request"), ...server.logged("unauthorized")];
  expect(lines).toHaveLength(14); // ten, and 16, 32, 64, 128
  expect(lines.at(-1)!.message).toEndWith(", the 128th refused from there");
});

test("200 failed handshakes are a few lines", async () => {
  await using server = await TestServer.start({ tls: await selfTls() });
  for (let i = 0; i < 200; i++) {
    const raw = await Raw.open(server.address.replace("tls:", "tcp:").replace(/#.*/, ""));
    raw.send(GARBAGE);
    await raw.end();
  }
  const { accepted } = (await (await server.open()).ok("stats")).connections;
  expect(accepted).toBeGreaterThan(200);
  await until("the log", () => server.logged("tls_failed").length >= 14);
  expect(server.logged("tls_failed").length).toBeLessThan(20);
});

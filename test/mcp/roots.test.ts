/** How the server asks a client for its roots, and what it makes of the answers. */
import { describe, expect, test } from "bun:test";
import { Client, type Message } from "./client.ts";

const CAPABLE = { roots: { listChanged: true } };

/** A client after its `initialize`, which answers `roots/list` by `answer`. */
async function connected(capabilities: object, answer?: (request: Message) => object | undefined): Promise<Client> {
  const client = new Client();
  client.answer = answer;
  await client.request("initialize", { protocolVersion: "2025-06-18", capabilities });
  await client.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  return client;
}

/** What a tool learns of the roots. */
async function rootsOf(client: Client): Promise<{ paths: string[]; problem?: string }> {
  return JSON.parse((await client.call("svc_workspace_info")).text).roots;
}

const listed = (...uris: unknown[]) => ({ result: { roots: uris.map((uri) => ({ uri, name: "a root" })) } });
const asked = (client: Client) => client.messages.filter(({ method }) => method === "roots/list").length;

describe("asking", () => {
  test("only a client that declared roots is asked, at the first call that needs them, and once", async () => {
    const client = await connected(CAPABLE, () => listed("file:///some/project"));
    await client.call("svc_search", { collection: "c", query: "fast" });
    await client.request("tools/list");
    expect(asked(client)).toBe(0);
    for (let i = 0; i < 3; i++) expect(await rootsOf(client)).toEqual({ paths: ["/some/project"] });
    expect(asked(client)).toBe(1);
    expect(await client.close()).toBe(0);

    const other = await connected({}, () => listed("file:///some/project"));
    expect(await rootsOf(other)).toEqual({ paths: [], problem: "the client has no roots" });
    expect(asked(other)).toBe(0);
    expect(await other.close()).toBe(0);
  });

  test("again after the client has said that they changed", async () => {
    let uri = "file:///one";
    const client = await connected(CAPABLE, () => listed(uri));
    expect(await rootsOf(client)).toEqual({ paths: ["/one"] });
    uri = "file:///two";
    expect(await rootsOf(client)).toEqual({ paths: ["/one"] });
    await client.send({ jsonrpc: "2.0", method: "notifications/roots/list_changed" });
    expect(await rootsOf(client)).toEqual({ paths: ["/two"] });
    expect(asked(client)).toBe(2);
    expect(await client.close()).toBe(0);
  });

  test("a client that never answers: calls go on, others are answered meanwhile, and it is not asked again", async () => {
    const client = await connected(CAPABLE);
    const waiting = rootsOf(client);
    const { id } = await client.next(({ method }) => method === "roots/list");
    expect((await client.request("ping")).result).toEqual({});
    expect((await client.call("svc_search", { collection: "c", query: "fast" })).isError).toBe(false);
    const problem = "the client did not answer roots/list within 2 seconds";
    expect(await waiting).toEqual({ paths: [], problem });
    expect(await rootsOf(client)).toEqual({ paths: [], problem });
    expect(asked(client)).toBe(1);
    // An answer that comes late counts for the calls after it.
    await client.send({ jsonrpc: "2.0", id, ...listed("file:///late") });
    expect(await rootsOf(client)).toEqual({ paths: ["/late"] });
    expect(await client.close()).toBe(0);
  });

  test("the end of stdin and a cancellation end the wait", async () => {
    const client = await connected(CAPABLE);
    await client.send({ jsonrpc: "2.0", id: 50, method: "tools/call", params: { name: "svc_workspace_info" } });
    await client.next(({ method }) => method === "roots/list");
    expect(await client.close()).toBe(0);
    const answer = await client.next(({ id }) => id === 50);
    expect(JSON.parse(answer.result.content[0].text).roots).toEqual({ paths: [], problem: "the call was cancelled" });
  });
});

describe("answers", () => {
  test("file URIs are decoded, others and nonsense are named and passed over", async () => {
    let answer: object = {};
    const client = await connected(CAPABLE, () => answer);
    const said = async (given: object) => {
      answer = given;
      await client.send({ jsonrpc: "2.0", method: "notifications/roots/list_changed" });
      return rootsOf(client);
    };
    const uris = [
      "file:///a%20b/%C3%A9%23%25",
      "file:///plain/",
      "file://localhost/local",
      "file:///a%20b/%C3%A9%23%25",
      "file:///sp ace",
    ];
    expect(await said(listed(...uris))).toEqual({ paths: ["/a b/é#%", "/plain/", "/local", "/sp ace"] });
    const refused = ["https://example.org/", "file://elsewhere/x", "/no/uri"];
    expect(await said(listed(...refused, "file:///good"))).toEqual({
      paths: ["/good"],
      problem: refused.map((uri) => `the client's root '${uri}' is not a file:// URI of this machine`).join("; "),
    });
    for (const uri of ["file:///a%00b", "file:///a%2Fb", "file:a", "", 7, null])
      expect((await said(listed(uri))).problem).toEndWith("is not a file:// URI of this machine");
    expect(await said(listed())).toEqual({ paths: [], problem: "the client's list of roots is empty" });
    const many = listed(...Array.from({ length: 100 }, (_, i) => `file:///${i}`));
    expect(await said(many)).toMatchObject({
      paths: { length: 64 },
      problem: "of the client's 100 roots 64 were looked at",
    });
    for (const result of [{}, { roots: 7 }, { roots: { uri: "file:///x" } }])
      expect((await said({ result })).problem).toBe("the client answered roots/list with no list");
    const error = { code: -32601, message: "Method not found" };
    expect(await said({ error })).toEqual({ paths: [], problem: "the client answered roots/list with an error" });
    expect(await client.close()).toBe(0);
  });
});

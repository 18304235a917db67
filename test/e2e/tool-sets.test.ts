/** `svc mcp --tools`: what a client sees, and that a tool which is not offered is refused too. */
import { expect, test } from "bun:test";
import { emptyHome, Session, svc } from "./home.ts";

// Neither listing tools nor a refusal needs a login.
const env = emptyHome();

test.each([
  ["core", 8],
  ["read", 9],
  ["all", 19],
])("--tools %s offers %d tools, and instructions that fit them", async (set, count) => {
  const session = await Session.open(env, "--tools", set);
  const { tools } = await session.client.listTools();
  expect(tools).toHaveLength(count);
  const instructions = session.client.getInstructions() ?? "";
  expect(instructions).toContain("svc_search");
  expect(instructions.includes("svc_upsert")).toBe(set !== "read");
  if (set === "read") {
    const refused = await session.raw("svc_delete", { collection: "notes", ids: ["a"] });
    const text = "ValueError: svc_delete is not offered: this server was started with --tools read";
    expect(refused).toEqual({ text, isError: true });
  }
});

test("a set that does not exist is wrong usage", async () => {
  const { code, err } = await svc(env, ["mcp", "--tools", "some"]);
  expect(code).toBe(2);
  expect(err).toContain("all, core, read");
});

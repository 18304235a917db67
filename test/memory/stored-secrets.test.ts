/** A credential that is stored is named in the answer, by each verb that puts texts. No string here has its form. */
import { expect, test } from "bun:test";
import { TestMemory } from "../fixture.ts";

const collection = "notes";
const TOKEN = `${"gh" + "p_"}${"aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zC3fG6"}`;

test("a stored credential is in the notice, after what the row lost", async () => {
  const m = await TestMemory.open();
  await m.call("add", { collection, texts: ["tea", "coffee"], ids: ["a", "b"], metadata: [{ topic: "x" }, { n: 1 }] });
  const { notice } = await m.call("upsert", { collection, texts: [`token ${TOKEN}`], ids: ["a"] });
  expect(notice).toMatch(/^1 replaced row had metadata .*\. stored with a credential: text 1 \(id 'a', GitHub token\)/);
  expect(notice).not.toContain(TOKEN.slice(5, 12));
  const updated = await m.call("update", { collection, texts: [`new ${TOKEN}`], ids: ["b"] });
  expect(updated.notice).toContain("'svc mem delete notes b --purge'");
  const added = await m.call("add", { collection, texts: ["milk", TOKEN] });
  expect(added.notice).toContain(`text 2 (id '${added.ids[1]}', GitHub token)`);
  // The text of a row that was there already: that row is named.
  const skipped = await m.call("add", { collection, texts: [TOKEN], skip_duplicates: true });
  expect(skipped.notice).toContain(`text 1 (id '${added.ids[1]}', GitHub token)`);
  expect(await m.call("add", { collection, texts: ["water"], ids: ["c"] })).toEqual({ added: 1, collection });
});

test("the notice stays within the answer's bound", async () => {
  const m = await TestMemory.open();
  const ids = Array.from({ length: 50 }, (_, i) => `${"x".repeat(400)}${i}`);
  for (const max_bytes of [1_000, 4_000]) {
    const text = await m.text("upsert", { collection, texts: ids.map((id) => `${id} ${TOKEN}`), ids, max_bytes });
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(max_bytes);
    expect(JSON.parse(text).notice).toStartWith("stored with a credential: text 1 ");
  }
});

/** An indexed repository's windows are found by the names that they define. */
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { openStore, scratchDir, TestMemory } from "../fixture.ts";

test("a label finds the defining window, not those that use the name", async () => {
  const root = scratchDir();
  writeFileSync(join(root, "view.ts"), "export function renderPage(view: View) {\n  return view.html;\n}\n");
  writeFileSync(join(root, "use.ts"), "renderPage(a);\nrenderPage(b);\n");
  writeFileSync(
    join(root, "hostile.lisp"),
    `${"; a\n".repeat(4096)}(defun a\0b () 1)\n(defun ${"x".repeat(300)} () 1)\n`,
  );
  const dir = scratchDir();
  const m = await TestMemory.open(dir, root);
  expect(await m.call("index_repo")).toMatchObject({ status: "built", files_tracked: 3 });
  await m.close();

  const store = await openStore(dir);
  const asked = { by: "words", text: "", labels: ["renderPage"], labelShare: 1.5 } as const;
  const { rows } = await store.find("repo_symbols")!.ask(asked, { topK: 5 });
  expect(rows.map(({ id }) => id.slice(17))).toEqual(["view.ts:0"]);
});

/** A memory with rows as people and attackers write them, its site, and an agent's `svc mcp` on the same directory. */
import { withOrigin } from "../../../src/origin.ts";
import { Session, signedIn } from "../../e2e/home.ts";
import type { TestMemory } from "../../fixture.ts";
import { Visitor } from "../ui.ts";

/** Markdown with what may not be loaded, run or hidden. */
const HOSTILE = [
  "# Release notes",
  "",
  "Deploys are **blue-green**; see [the runbook](https://runbooks.example/deploy?x=1) and ![a graph](https://evil.example/pixel.png).",
  "",
  "- [run me](javascript:alert(1))",
  "- <img src=https://evil.example/x onerror=alert(1)> <script>alert(1)</script>",
  "- `a-line-of-code-that-is-far-longer-than-any-screen-of-a-phone-and-has-no-space-in-it-at-all-not-even-one`",
  "",
  "| Step | Owner | What happens when it fails |",
  "|---|---|---|",
  "| Drain | ada.lovelace@analytical-engines.example.org | roll back |",
  "| Switch | build | page the on-call engineer |",
  "",
  "> Quoted: \u202egnp.evil\u202c and \u001b[31mred\u001b[0m",
  "",
  "```sh",
  "svc mem search notes 'who is on call' --where scope=ops --top-k 3 | grep -v something-long-that-goes-on-and-on",
  "```",
].join("\n");

const THINGS = ["pager", "build", "database", "cache", "proxy", "queue"];

export const NOTES = "notes";

/** A site whose memory has some of everything. */
export async function filledSite(): Promise<Visitor> {
  const v = await Visitor.open();
  const origin = { client: "claude-code", version: "2.1.17", tool: "svc_add", session: "s" };
  await withOrigin(origin, () => fill(v.memory));
  return v;
}

async function fill(m: TestMemory): Promise<void> {
  const add = (rows: Record<string, [text: string, metadata?: object]>, collection = NOTES) =>
    m.call("add", {
      collection,
      ids: Object.keys(rows),
      texts: Object.values(rows).map(([text]) => text),
      metadata: Object.values(rows).map(([, metadata]) => metadata ?? { scope: "ops" }),
    });
  const fillers = Array.from({ length: 30 }, (_, i) => [
    `note-${i + 1}`,
    [
      [`The ${THINGS[i % 6]}`, `failed at ${i + 1} o'clock`, `because of the ${THINGS[(i * 7 + 3) % 6]}`]
        .slice(i % 3)
        .join(" "),
    ],
  ]);
  await add(Object.fromEntries(fillers));
  await add({
    "deploy-rules": [HOSTILE, { scope: "ops", kind: "decision", reviewed: "2026-11-22", links: ["a", { b: null }] }],
    "حاسوب عائشة": ["ملاحظة قصيرة عن النشر الأزرق والأخضر.", { scope: "home" }],
    "an-id-of-many-characters-without-a-space-that-no-narrow-screen-can-show-on-one-line-x": ["構建機器 一號"],
    "evil\u202egpj.exe": ["two\u200bwords\u0007 & <b>bold</b>", { scope: "<script>", "k\u202e": "v" }],
    pager: ["The pager rotates on Tuesdays at 9."],
    tea: ["Green tea wants water of 75 degrees."],
  });
  await m.call("update", {
    collection: NOTES,
    ids: ["deploy-rules"],
    texts: [HOSTILE.replace("page the", "call the")],
  });
  await add({ "pager-2": ["The pager rotates on Tuesdays at 10."], "tea-2": ["Green tea wants water of 75 degrees."] });
  await m.call("delete", { collection: NOTES, ids: ["note-3"] });
  await add({ x: ["Tea of another collection."] }, "other");
}

/** An agent on the memory of a site: a client of `svc mcp` in a process of its own. */
export async function agentOn(v: Visitor): Promise<Session> {
  return Session.open(await signedIn(), "--path", v.memory.dir);
}

/** The notice about the sign-in, in one answer. */
import { expect, test } from "bun:test";
import { answerText } from "../../../src/answers/answer.ts";
import { withFirstNotice } from "../../../src/cli/access/first-notice.ts";
import { ValueError } from "../../../src/errors.ts";
import { parseArguments } from "../../../src/memory/arguments.ts";
import { scratchDir, TestMemory } from "../../fixture.ts";

const NOTICE = "svc signed in with this machine's local authority, without network ('svc logout' takes that back)";

test("begins the first successful answer, before what that one says itself", async () => {
  const memory = (await TestMemory.open(scratchDir())).memory;
  const verbs = withFirstNotice(memory, NOTICE);
  const search = (query: string) => parseArguments("search", { collection: "notes", query });
  await expect(verbs.search(search("a"), {})).rejects.toThrow(ValueError);
  await memory.add(parseArguments("add", { collection: "notes", texts: ["We deploy blue-green."] }), {});
  const { notice } = await verbs.search(search("!"), {});
  expect(notice).toStartWith(`${NOTICE}. the query has no words`);
  expect((await verbs.search(search("!"), {})).notice).toStartWith("the query has no words");
});

test("makes no answer longer than its call allows, and of calls at once one has it", async () => {
  const memory = (await TestMemory.open(scratchDir())).memory;
  const texts = Array.from({ length: 300 }, (_, i) => `note ${i} about how we deploy`);
  await memory.add(parseArguments("add", { collection: "notes", texts }), {});
  for (const max_bytes of [1_000, 1_500, 5_000, 24_000, 0]) {
    const verbs = withFirstNotice(memory, NOTICE.repeat(20));
    const a = parseArguments("ids", { collection: "notes", max_bytes });
    const answers = await Promise.all([verbs.ids(a, {}), verbs.ids(a, {}), verbs.ids(a, {})]);
    for (const answer of answers) {
      expect(answer).not.toHaveProperty("shortened");
      if (max_bytes > 0) expect(Buffer.byteLength(answerText(answer, max_bytes))).toBeLessThanOrEqual(max_bytes);
    }
    expect(answers.filter((answer) => "notice" in answer)).toHaveLength(1);
  }
});

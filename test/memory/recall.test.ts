/** Which stored notes a prompt is about: none for ordinary requests, the right one for a prompt about what is stored. */
import { beforeAll, describe, expect, test } from "bun:test";
import { tellingWords } from "../../src/memory/recall.ts";
import { TestMemory } from "../fixture.ts";

const NOTES = [
  "We deploy blue green on Tuesdays; never on a Friday, since the outage of 14 March.",
  "Marek owns the billing cron; ask him before you change its schedule.",
  "The customer Norwind has a contract until 2027 and gets 24 hour support.",
  "The staging cluster runs in eu-west-2 and is rebuilt every night from Terraform.",
  "Decision: we use Postgres advisory locks instead of Redis for the job queue, because one service less has to be run.",
  "The flaky test in checkout_spec was caused by a frozen clock; the fix was to travel back in an after hook.",
  "Priya prefers small pull requests with one commit each.",
  "The login page uses the legacy session cookie until the Keycloak migration is finished.",
  "Stripe webhooks are retried for three days; the handler must be idempotent, keyed by the event's id.",
  "The build on the ARM runners needs libvips 8.15, installed from backports.",
  "Feature flags live in Unleash, project 'storefront'; the admin token is in Vault.",
  "The memory leak of the image worker came from sharp's cache; sharp.cache(false) fixed it.",
  "Invoices are numbered without gaps, as the tax office requires: never delete a draft that has a number.",
  "The search index is rebuilt by 'make reindex', which takes 40 minutes on production data.",
  "Lena leads the mobile team; releases of the app are on Wednesdays.",
  "ESLint is configured in eslint.config.js at the root; packages must not have their own.",
  "The date bug of the report came from Luxon parsing in local time; all dates are UTC now.",
  "We write commit messages in the imperative, with the ticket's number at the end.",
  "The users endpoint is paginated by cursor, 100 rows a page; offsets were too slow beyond 10,000 rows.",
  "The Dockerfile is built in two stages; the final image is distroless.",
  "Customer Halvorsen complained about the slow CSV export; the fix is a streamed response.",
  "The rate limiter allows 200 requests a minute for each API key.",
  "Prettier runs in the pre-commit hook; do not run it in CI.",
  "The nightly backup goes to the bucket acme-dumps in Frankfurt; restores are tested on the first of each month.",
];

/** What people ask an agent all day. Many have words of some note. */
const ORDINARY = [
  "fix the failing test",
  "Fix the failing tests in the checkout module",
  "add a unit test for the parser",
  "refactor this function to be async",
  "why does the build fail on CI?",
  "write a function to calculate the factorial of a number",
  "update the README with install instructions",
  "can you explain what this regex does?",
  "run the linter and fix all warnings",
  "rename the variable foo to bar everywhere",
  "make the login page responsive",
  "implement pagination for the users endpoint",
  "bump the dependencies and fix what breaks",
  "fix the bug where the date is off by one day",
  "create a Dockerfile for this app",
  "commit the changes with a good message",
  "write a commit message for these changes",
  "open a pull request",
  "add logging to the request handler",
  "Please review my code and suggest improvements",
  "convert this class component to hooks",
  "the page is slow, can you profile it",
  "add dark mode to the settings page",
  "delete the unused files",
  "how do I run the tests?",
  "yes, go ahead",
  "continue",
  "looks good, now do the same for the other endpoint",
  "TypeError: Cannot read properties of undefined (reading 'map')",
  "what does this error mean?",
  "split this file into smaller modules",
  "set up eslint and prettier",
  "add a button that exports the table as csv",
  "write a migration that adds a column to the users table",
  "use the new API in the client",
  "make the tests faster",
  "add retries to the http client",
  "format the dates in the report as ISO 8601",
  "what is the time complexity of this?",
];

/** A prompt, and the beginning of the note that it is about. */
const ABOUT: [prompt: string, note: string][] = [
  ["who owns the billing cron?", "Marek owns"],
  ["deploy this blue green", "We deploy blue"],
  ["what did we agree with Norwind about support?", "The customer Norwind"],
  ["should the job queue use Redis or Postgres locks?", "Decision: we use Postgres"],
  ["the sharp cache of the image worker leaks", "The memory leak of the image"],
  ["make the Stripe webhooks idempotent", "Stripe webhooks"],
  ["when does Keycloak replace the session cookie?", "The login page uses"],
  ["is there a gap in the invoices when a draft is deleted?", "Invoices are numbered"],
  ["where do the nightly backups go, to Frankfurt?", "The nightly backup"],
  ["there is a memory leak in the worker, please find it", "The memory leak of the image"],
  ["who is Marek?", "Marek owns"],
  ["Write to Halvorsen that it is done", "Customer Halvorsen"],
  ["install libvips on the ARM runners", "The build on the ARM"],
];

let m: TestMemory;
beforeAll(async () => {
  m = await TestMemory.open();
  await m.call("add", { collection: "notes", texts: NOTES.slice(0, 16) });
  await m.call("add", { collection: "work", texts: NOTES.slice(16) });
});
const notesFor = async (prompt: string, until = Number.POSITIVE_INFINITY) =>
  (await m.memory.terminal()).recall({ prompt, limit: 2, until });

describe("a prompt", () => {
  test.each(ORDINARY)("%s: nothing", async (prompt) => {
    expect(await notesFor(prompt)).toEqual([]);
  });

  test.each(ABOUT)("%s", async (prompt, note) => {
    const found = await notesFor(prompt);
    expect(found.map(({ text }) => text.slice(0, note.length))).toContain(note);
  });

  test("has telling words, of which some are names", () => {
    expect(tellingWords("Marek, please FIX the tests of Lena's billing cron; ask Lena")).toEqual([
      { word: "marek", isName: false },
      { word: "lena's", isName: true },
      { word: "billing", isName: false },
      { word: "cron", isName: false },
      { word: "lena", isName: true },
    ]);
    expect(tellingWords("")).toEqual([]);
    expect(tellingWords("\ud800 fix it 12 3.5 🙂")).toEqual([]);
    expect(tellingWords("word ".repeat(1e6))).toEqual([]);
  });

  test("finds nothing more once its time is over, and nothing in collections of other kinds or damaged ones", async () => {
    expect(await notesFor("who owns the billing cron?", 0)).toEqual([]);
    const other = await TestMemory.open();
    const terminal = await other.memory.terminal();
    const asked = { prompt: "who owns the billing cron?", limit: 2, until: Number.POSITIVE_INFINITY };
    expect(await terminal.recall(asked)).toEqual([]);
    await other.call("create_collection", { name: "empty" });
    expect(await terminal.recall(asked)).toEqual([]);
  });
});

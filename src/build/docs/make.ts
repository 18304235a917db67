/**
 * Makes the generated pages of `docs`: `bun src/build/docs/make.ts`, after a build. A test compares them with what is
 * committed.
 */
import { join } from "node:path";
import { ROOT } from "../../commands.ts";
import { makeExamples } from "./answers.ts";
import { cliPage } from "./cli.ts";
import { clientsPage } from "./clients.ts";
import { toolsPage } from "./tools.ts";

const DOCS = join(import.meta.dir, "../../../docs");

/** The pages by name. @throws where the executable is missing */
export async function makePages(): Promise<Map<string, string>> {
  const [tools, cli] = [toolsPage(await makeExamples()), await cliPage(ROOT)];
  return new Map([
    ["tools.md", `${tools}\n`],
    ["cli.md", `${cli}\n`],
    ["clients.md", `${clientsPage()}\n`],
  ]);
}

if (import.meta.main) for (const [name, text] of await makePages()) await Bun.write(join(DOCS, name), text);

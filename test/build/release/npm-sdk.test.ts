/** The npm package of the SDK, in an ordinary project under Bun: its types, and a memory that svc reads as well. */
import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { npmSdkPackage } from "../../../src/build/release/npm-library.ts";
import { projectOf } from "../../../src/build/release/project.ts";
import { NPM_SDK } from "../../../src/published.ts";
import { ROOT, signedIn, svc } from "../../e2e/home.ts";
import { ended } from "../../ended.ts";
import { scratchDir } from "../../fixture.ts";

const PROGRAM = `
import { Eq, type Collection, Store } from "${NPM_SDK}";

await using store = await Store.open();
const notes: Collection = await store.createCollection("notes", { embedder: "multigram" });
const metadata = [{ scope: "home" }, { scope: "work" }];
await notes.addTexts(["the kettle is in the left cupboard", "we deploy blue-green"], { ids: ["kettle", "deploy"], metadata });
await notes.save();
console.log((await notes.searchText("where is the kettle", { topK: 1, where: Eq("scope", "home") })).ids.join());
`;

test("a strict program compiles, and stores what svc finds", async () => {
  const folder = join(scratchDir(), "project");
  mkdirSync(folder);
  const env = await signedIn();
  const run = async (command: string[]) => {
    const { code, out, err } = await ended(Bun.spawn(command, { cwd: folder, env, stdout: "pipe", stderr: "pipe" }));
    if (code !== 0) throw new Error(`${command.join(" ")} ended with ${code}\n${out}${err}`);
    return out;
  };
  const [name, bytes] = await npmSdkPackage(ROOT, projectOf(ROOT, "1.2.3"), Buffer.from("notices"));
  writeFileSync(join(folder, "..", name), bytes);
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(join(folder, "main.ts"), PROGRAM);
  const typeRoots = [join(ROOT, "node_modules/@types")];
  const compilerOptions = {
    module: "nodenext",
    target: "esnext",
    strict: true,
    noEmit: true,
    types: ["bun"],
    typeRoots,
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["main.ts"] }));
  await run(["npm", "install", "--offline", "--no-audit", "--no-fund", `../${name}`]);
  await run([join(ROOT, "node_modules/.bin/tsc")]);
  expect(await run([process.execPath, "main.ts"])).toBe("kettle\n");
  const { out } = await svc(env, ["mem", "get", "notes", "deploy", "--json"]);
  expect(JSON.parse(out).rows[0]).toMatchObject({ text: "we deploy blue-green" });
}, 120_000);

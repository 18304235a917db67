/** The npm package of the TypeScript client, in an ordinary project: its types, and calls of a server under Node and Bun. */
import { beforeAll, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { npmClientPackage } from "../../../src/build/release/npm-library.ts";
import { projectOf } from "../../../src/build/release/project.ts";
import { NPM_CLIENT } from "../../../src/published.ts";
import { emptyHome, type Home, ROOT, SVC, signedIn } from "../../e2e/home.ts";
import { servers } from "../../e2e/served.ts";
import { ended } from "../../ended.ts";
import { scratchDir } from "../../fixture.ts";

const TOKEN = "one-token-for-all-4711";
const start = servers();
const folder = join(scratchDir(), "project");

/** A program of a user. It is compiled with the strictest usual options, and run as it is compiled. */
const PROGRAM = `
import { connect, Eq, OSError, PermissionError, type RemoteCollection, type RemoteTelys } from "${NPM_CLIENT}";

const [address, token] = process.argv.slice(2) as [string, string];
const memory: RemoteTelys = await connect(address, { token, requestTimeoutMs: 30_000 });
const notes: RemoteCollection = await memory.createCollection("notes-" + process.argv[4], { embedder: "multigram" });
const metadata = [{ scope: "home" }, { scope: "work" }];
await notes.addTexts(["the kettle is in the left cupboard", "we deploy blue-green"], { ids: ["kettle", "deploy"], metadata });
await notes.save();
const { ids } = await notes.searchText("where is the kettle", { topK: 1, where: Eq("scope", "home") });
const many = await memory.createCollection("many-" + process.argv[4], { dim: 256 });
const vectors = Float32Array.from({ length: 256 * 5_000 }, (_, i) => Math.sin(i));
const [added] = await Promise.all([many.add(vectors), memory.ping(), memory.ping()]);
const refused = await notes.addTexts(["twice"], { ids: ["kettle"] }).catch((error: unknown) => String(error));
const outcome = (address: string, token: string) =>
  connect(address, { token, timeoutMs: 20_000 }).then(
    (other) => other.close().then(() => "connected"),
    (error: unknown) => (error instanceof PermissionError || error instanceof OSError ? error.type : error),
  );
const [host, pin] = address.split("#") as [string, string?];
const wrong = [await outcome(address, "wrong"), await outcome("tcp://127.0.0.1:1", token)];
if (pin) wrong.push(await outcome(host, token), await outcome(host + "#SHA256:" + "A".repeat(43), token));
await memory.close();
console.log(JSON.stringify({ ids, added: added.length, refused, wrong }));
`;

/** What it prints. Errors are those for a wrong token, an address without a server, and certificates. */
const printed = (wrong: readonly string[]) => ({
  ids: ["kettle"],
  added: 5_000,
  refused: expect.stringMatching(/^KeyError: .*kettle/),
  wrong,
});

async function run(command: string[], env: Record<string, string> = emptyHome()): Promise<string> {
  const { code, out, err } = await ended(Bun.spawn(command, { cwd: folder, env, stdout: "pipe", stderr: "pipe" }));
  if (code !== 0) throw new Error(`${command.join(" ")} ended with ${code}\n${out}${err}`);
  return out;
}

beforeAll(async () => {
  mkdirSync(folder);
  const [name, bytes] = await npmClientPackage(ROOT, projectOf(ROOT, "1.2.3"));
  writeFileSync(join(folder, "..", name), bytes);
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(join(folder, "main.ts"), PROGRAM);
  const typeRoots = [join(ROOT, "node_modules/@types")];
  const compilerOptions = { module: "nodenext", target: "es2022", strict: true, types: ["node"], typeRoots };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["main.ts"] }));
  await run(["npm", "install", "--offline", "--no-audit", "--no-fund", `../${name}`]);
  await run([join(ROOT, "node_modules/.bin/tsc")]);
}, 120_000);

test("its page on npm names the Node that its manifest demands", () => {
  const read = (name: string) => readFileSync(join(folder, "node_modules", NPM_CLIENT, name), "utf8");
  const { node } = JSON.parse(read("package.json")).engines;
  expect(read("README.md")).toContain(`Node ${node.replace(">=", "")} and newer`);
});

test.each(["node", "bun"])(
  "a program that is compiled for nodenext works with svc serve over TCP, TLS and a socket (%s)",
  async (runtime) => {
    const env: Home = { ...(await signedIn()), SVC_ACCESS_TOKEN: TOKEN };
    const tcp = ["--host", "127.0.0.1", "--port", "0"];
    const program = runtime === "bun" ? process.execPath : runtime;
    for (const [name, words, wrong] of [
      ["tls", [...tcp, "--tls", "self"], ["PermissionError", "OSError", "PermissionError", "PermissionError"]],
      ["tcp", tcp, ["PermissionError", "OSError"]],
      ["unix", ["--socket", join(folder, "s.sock")], ["connected", "OSError"]],
    ] as const) {
      const memory = join(env.HOME!, name);
      const { address, server } = await start([SVC, "serve", "--json", "--path", memory, ...words], env);
      expect(address).toStartWith(`${name}://`);
      expect(JSON.parse(await run([program, "main.js", address, TOKEN, runtime]))).toEqual(printed(wrong));
      server.kill();
      await server.exited;
    }
  },
  120_000,
);

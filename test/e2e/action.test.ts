/** The GitHub action: the scripts of its steps, run with bash against a server on this machine. */
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { selfSigned } from "./certificate.ts";
import { ROOT, SVC } from "./home.ts";

interface Step {
  id?: string;
  uses?: string;
  with?: Record<string, string>;
  env?: Record<string, string>;
  run?: string;
  shell?: string;
}
interface Action {
  inputs: Record<string, { required?: boolean; default?: string }>;
  outputs: Record<string, { value: string }>;
  runs: { using: string; steps: Step[] };
}

const action = Bun.YAML.parse(readFileSync(join(ROOT, ".github/actions/svc/action.yml"), "utf8")) as Action;
const executable = readFileSync(SVC);
const sha256 = (bytes: Uint8Array) => new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
const GOOD = sha256(executable);

const tools = ["bash", "curl"].filter((name) => !Bun.which(name));
const NEEDS = "(needs bash and curl)";

const scratch = mkdtempSync(join(tmpdir(), "svc-action-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

/** A server with a certificate of its own, which the scripts trust through curl's environment: they know no http. */
const tls = selfSigned();
const certificate = join(scratch, "cert.pem");
writeFileSync(certificate, tls.cert);
/** What the server answers with, by path; 404 for all others. */
const answers = new Map<string, (tries: number) => Uint8Array | Response>();

const requests: string[] = [];
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  tls,
  fetch(request) {
    const { pathname } = new URL(request.url);
    requests.push(pathname);
    const answer = answers.get(pathname)?.(requests.filter((one) => one === pathname).length);
    if (answer === undefined) return new Response("", { status: 404 });
    return answer instanceof Response ? answer : new Response(answer);
  },
});
afterAll(() => server.stop(true));
const served = `https://localhost:${server.port}`;

/** A server that ends in the middle of its first answers, of which the whole length was announced. */
function serveCut(cuts: number) {
  let asked = 0;
  const head = `HTTP/1.1 200 OK\r\nContent-Length: ${executable.length}\r\nConnection: close\r\n\r\n`;
  const server = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    tls,
    socket: {
      data(socket) {
        asked++;
        // A part that the socket takes at once.
        const part = executable.subarray(0, 10_000);
        socket.write(asked <= cuts ? Buffer.concat([Buffer.from(head), part]) : "HTTP/1.1 404 Not Found\r\n\r\n");
        socket.end();
      },
    },
  });
  return { url: `https://localhost:${server.port}`, asked: () => asked, stop: () => server.stop(true) };
}

interface Job {
  temp: string;
  home: string;
  /** Names of steps' outputs, as `executable.path`. */
  outputs: Record<string, string>;
  path: string;
  log: string;
  ok: boolean;
}

/** What a runner makes of expressions: only these appear. */
function expand(text: string, inputs: Record<string, string>, outputs: Record<string, string>): string {
  return text.replace(/\$\{\{ (?:inputs\.(\w+)|steps\.(\w+)\.outputs\.(\w+)) \}\}/g, (_, input, step, output) =>
    input ? (inputs[input] ?? action.inputs[input]!.default ?? "") : (outputs[`${step}.${output}`] ?? ""),
  );
}

/** Runs the steps of the action as a runner does. @param before a job whose temporary folder is kept, as by the cache */
async function run(inputs: Record<string, string>, before?: Job): Promise<Job> {
  const temp = before?.temp ?? mkdtempSync(join(scratch, "job-"));
  const home = before?.home ?? join(temp, "home");
  mkdirSync(home, { recursive: true });
  const job: Job = { temp, home, outputs: {}, path: "", log: "", ok: true };
  for (const step of action.runs.steps) {
    if (step.run === undefined) continue;
    const files = { GITHUB_OUTPUT: join(temp, "output"), GITHUB_PATH: join(temp, "path") };
    for (const file of Object.values(files)) writeFileSync(file, "");
    const script = join(temp, "script.sh");
    writeFileSync(script, step.run);
    const own = Object.entries(step.env ?? {}).map(([name, value]) => [name, expand(value, inputs, job.outputs)]);
    const child = Bun.spawn(["bash", "--noprofile", "--norc", "-eo", "pipefail", script], {
      cwd: home,
      env: {
        PATH: process.env.PATH,
        HOME: home,
        RUNNER_TEMP: temp,
        CURL_CA_BUNDLE: certificate,
        ...files,
        ...Object.fromEntries(own),
      },
      stdout: "pipe",
      stderr: "pipe",
    });
    const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    job.log += out + err;
    for (const line of readFileSync(files.GITHUB_OUTPUT, "utf8").split("\n").filter(Boolean)) {
      job.outputs[`${step.id}.${line.slice(0, line.indexOf("="))}`] = line.slice(line.indexOf("=") + 1);
    }
    job.path += readFileSync(files.GITHUB_PATH, "utf8");
    if ((await child.exited) !== 0) return { ...job, ok: false };
  }
  return job;
}

/** Nothing of what was downloaded is left, is on the PATH, or can run. */
function expectNothing({ ok, path, outputs, temp }: Job): void {
  expect(ok).toBe(false);
  expect(path).toBe("");
  expect(Object.keys(outputs).filter((name) => name.startsWith("executable."))).toEqual([]);
  expect(existsSync(join(temp, "svc-action/bin"))).toBe(false);
  expect(existsSync(join(temp, "svc-action/download/svc"))).toBe(false);
}

describe("the file", () => {
  test("its address and its hash have no default, and no expression is part of a script", () => {
    for (const name of ["url", "sha256"]) expect(action.inputs[name]).toMatchObject({ required: true });
    expect(Object.values(action.inputs).map((input) => input.default)).toEqual([undefined, undefined, "false"]);
    expect(action.runs.using).toBe("composite");
    for (const step of action.runs.steps) {
      expect(step.run ?? "").not.toContain("${{");
      if (step.run !== undefined) expect(step.shell).toBe("bash");
      if (step.uses !== undefined) expect(step.uses).toMatch(/@[0-9a-f]{40}$/);
    }
  });

  test("only what was checked is cached, under its hash", () => {
    const inputs = { url: "https://x", sha256: GOOD };
    const cache = action.runs.steps.find(({ uses }) => uses?.startsWith("actions/cache@"))!;
    const outputs = { "inputs.download": "/t/svc-action/download", "inputs.sha256": GOOD };
    expect(expand(cache.with!.path!, inputs, outputs)).toBe("/t/svc-action/download");
    expect(expand(cache.with!.key!, inputs, outputs)).toBe(`svc-${GOOD}`);
  });
});

describe.skipIf(tools.length > 0)(`the steps ${NEEDS}`, () => {
  test("the executable that was named is on the PATH, without a login; a second job takes it from the cache", async () => {
    answers.set("/good", () => executable);
    const job = await run({ url: `${served}/good`, sha256: GOOD.toUpperCase() });
    expect(job.log).not.toContain("::error");
    expect(job.ok).toBe(true);
    const path = join(job.temp, "svc-action/bin/svc");
    expect(job.outputs).toMatchObject({ "executable.path": path });
    expect(job.outputs["executable.version"]).toMatch(/^\d+\.\d+\.\d+$/);
    expect(job.path).toBe(`${join(job.temp, "svc-action/bin")}\n`);
    expect(sha256(readFileSync(path))).toBe(GOOD);
    expect(statSync(join(job.temp, "svc-action/download/svc")).mode & 0o777).toBe(0o600);
    expect(job.log).toContain('"installed":false');
    expect(existsSync(join(job.home, ".svc"))).toBe(false);
    const again = await run({ url: `${served}/good`, sha256: GOOD }, job);
    expect(again.ok).toBe(true);
    expect(requests.filter((one) => one === "/good")).toHaveLength(1);
  });

  test.concurrent("with login it logs in and verifies, and a runtime that is not verified ends the job", async () => {
    answers.set("/login", () => executable);
    const inputs = { url: `${served}/login`, sha256: GOOD, login: "true" };
    const job = await run(inputs);
    expect(job.ok).toBe(true);
    expect(JSON.parse(job.log.split("\n").find((line) => line.startsWith("{"))!)).toMatchObject({ ok: true });
    const [stray] = [
      ...new Bun.Glob(".svc/runtime/*/pysite/svc").scanSync({ cwd: job.home, onlyFiles: false, dot: true }),
    ];
    writeFileSync(join(job.home, stray!, "json.py"), "");
    const again = await run({ ...inputs, login: "false" }, job);
    expect(again.ok).toBe(false);
    expect(again.log).toContain("::error title=svc::the runtime is not verified");
    expect(again.log).toContain("pysite/svc/json.py is not in the manifest");
  });

  test.concurrent("a file with another hash is not run", async () => {
    answers.set("/other", () => Buffer.from(`#!/bin/sh\ntouch ${join(scratch, "ran")}\n`));
    const job = await run({ url: `${served}/other`, sha256: GOOD });
    expect(job.log).toContain("::error title=svc::the download is not the executable that the input sha256 names");
    expectNothing(job);
    expect(existsSync(join(scratch, "ran"))).toBe(false);
  });

  test.concurrent("a cached file that was altered is downloaded again, and is not run where it cannot be", async () => {
    answers.set("/altered", (tries) => (tries === 2 ? executable : new Response("", { status: 410 })));
    const temp = mkdtempSync(join(scratch, "job-"));
    const cached = join(temp, "svc-action/download");
    const job = { temp, home: join(temp, "home") } as Job;
    const alter = () => {
      mkdirSync(cached, { recursive: true });
      writeFileSync(join(cached, "svc"), `#!/bin/sh\ntouch ${join(scratch, "ran")}\n`, { mode: 0o755 });
    };
    alter();
    const good = await run({ url: `${served}/altered`, sha256: GOOD }, job);
    expect(good.ok).toBe(true);
    expect(sha256(readFileSync(good.outputs["executable.path"]!))).toBe(GOOD);
    rmSync(join(temp, "svc-action"), { recursive: true });
    alter();
    expectNothing(await run({ url: `${served}/altered`, sha256: GOOD }, job));
    expect(existsSync(join(scratch, "ran"))).toBe(false);
  });

  test.concurrent("a download that fails is tried again", async () => {
    answers.set("/later", (tries) => (tries === 1 ? new Response("", { status: 503 }) : executable));
    expect((await run({ url: `${served}/later`, sha256: GOOD })).ok).toBe(true);
  });

  test.concurrent("a download that is cut is nothing", async () => {
    const cutting = serveCut(4);
    const job = await run({ url: cutting.url, sha256: GOOD });
    expectNothing(job);
    expect(job.log).toContain("::error title=svc::the executable could not be downloaded (curl ended with ");
    expect(cutting.asked()).toBe(4);
    cutting.stop();
  });

  test.concurrent("a redirect to plain http is not followed", async () => {
    let asked = 0;
    const plain = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: () => new Response(executable, { status: 200 + asked++ }),
    });
    answers.set("/redirect", () => Response.redirect(`http://127.0.0.1:${plain.port}/svc`));
    expectNothing(await run({ url: `${served}/redirect`, sha256: GOOD }));
    expect(asked).toBe(0);
    await plain.stop(true);
  });

  test("hostile inputs run nothing, set nothing and ask for nothing", async () => {
    const marker = join(scratch, "injected");
    const url = `${served}/hostile`;
    answers.set("/hostile", () => executable);
    const commands = [`"; touch ${marker}; "`, `'; touch ${marker}; '`, `$(touch ${marker})`, `\`touch ${marker}\``];
    const urls = [
      "",
      url.replace("https:", "http:"),
      "file:///etc/passwd",
      `-o${marker}`,
      ` ${url}`,
      `${url} --output ${marker}`,
      `${url}\n`,
      `${url}\n--output\n${marker}`,
      `${url}\n::add-path::/evil`,
      `${url}{1,2}`,
      `${url}"`,
      ...commands.map((text) => `${url}${text}`),
    ];
    const hashes = [
      "",
      GOOD.slice(1),
      `${GOOD}0`,
      `${GOOD}\n`,
      `\n${GOOD}`,
      `${GOOD}\nsha256=${GOOD}`,
      GOOD.replace(/./, "g"),
      "*".repeat(64),
      ...commands,
    ];
    const logins = ["yes", "TRUE", "true\n", ...commands];
    const jobs = await Promise.all([
      ...urls.map((one) => run({ url: one, sha256: GOOD })),
      ...hashes.map((one) => run({ url, sha256: one })),
      ...logins.map((one) => run({ url, sha256: GOOD, login: one })),
    ]);
    for (const job of jobs) {
      expectNothing(job);
      expect(job.outputs).toEqual({});
      // One line, of which no part is the input's: it would be a command to the runner.
      expect(job.log).toMatch(/^::error title=svc::the input (url|sha256|login) must be [^\n]+\n$/);
    }
    expect(existsSync(marker)).toBe(false);
    expect(requests.filter((path) => path.startsWith("/hostile"))).toEqual([]);
  });

  test("what a shell would run is a part of an address, and stays one", async () => {
    const odd = "/$(id)&id;id*";
    answers.set(odd, () => Buffer.from("not svc"));
    const job = await run({ url: served + odd, sha256: GOOD });
    expect(requests).toContain(odd);
    expect(job.log).toContain("not the executable");
    expect(job.log).not.toContain("uid=");
    expectNothing(job);
  });
});

/**
 * A folder and an environment made to have other code run, or to see or change what svc does:
 * every file that Bun, Node.js or npm read of a folder or a home, and every variable that makes Bun's programs do
 * something else.
 */
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ROOT } from "./home.ts";

export interface HostileFolder {
  path: string;
  /** Whether any of the folder's code has run, or a variable has had a file written. */
  hasRun(): boolean;
}

export function hostileFolder(): HostileFolder {
  const path = mkdtempSync(join(tmpdir(), "svc-hostile-"));
  const marks = join(path, "marks");
  mkdirSync(marks);
  const put = (name: string, content: string) => {
    mkdirSync(dirname(join(path, name)), { recursive: true });
    writeFileSync(join(path, name), content);
  };
  const leave = (name: string) => `require("node:fs").writeFileSync(${JSON.stringify(join(marks, name))}, "");`;
  // What a module loader would find, by each name under which svc's own files and their imports are known.
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  for (const name of Object.keys(dependencies)) {
    put(
      `node_modules/${name}/package.json`,
      `{ "name": "${name}", "main": "index.js", "exports": { "./*": "./index.js" } }`,
    );
    put(`node_modules/${name}/index.js`, leave(name.replaceAll("/", "-")));
  }
  const modules = [
    "evil",
    "svc",
    "main",
    "index",
    "preload",
    "version",
    "run",
    "remote/server/requests/decode-worker",
    "src/main",
  ];
  for (const name of modules) {
    for (const extension of ["ts", "js"])
      put(`${name}.${extension}`, leave(`${name.replaceAll("/", "-")}.${extension}`));
  }
  put("bunfig.toml", 'preload = ["./preload.ts"]\n[run]\nbun = true\n[test]\npreload = ["./preload.ts"]\n');
  for (const name of [".bunfig.toml", ".config/.bunfig.toml"]) put(name, `preload = ["${join(path, "preload.ts")}"]\n`);
  for (const name of [".env", ".env.local", ".env.production", ".env.development"]) {
    put(
      name,
      `SVC_HOME=${join(path, "other-home")}\nNODE_TLS_REJECT_UNAUTHORIZED=0\nBUN_OPTIONS=--preload=./preload.ts\n`,
    );
  }
  const paths = { "*": ["./evil.ts"], "node:*": ["./evil.ts"], "bun:*": ["./evil.ts"], "./cli/*": ["./evil.ts"] };
  for (const name of ["tsconfig.json", "jsconfig.json"])
    put(name, JSON.stringify({ compilerOptions: { baseUrl: ".", paths } }));
  const imports = { "#*": "./evil.js", citty: "./evil.js" };
  const scripts = { version: "sh -c ': > marks/script'", mem: "sh -c ': > marks/script'" };
  put(
    "package.json",
    JSON.stringify({ name: "svc", type: "commonjs", main: "evil.js", imports, browser: imports, scripts }),
  );
  put(".npmrc", "registry=http://127.0.0.1:1/\n");
  for (const name of ["bun.lock", "bun.lockb", "runtime.bundle", "telys_manifest.json", "libty_runtime.so"])
    put(name, "x");
  for (const name of ["libame_kernel.so", "libc.so.6", "libSystem.B.dylib"]) put(name, "not a library");
  for (const name of ["git", "bun", "sh", "xdg-open"]) {
    put(name, `#!/bin/sh\n: > '${join(marks, name)}'\n`);
    chmodSync(join(path, name), 0o755);
  }
  return { path, hasRun: () => readdirSync(marks).length > 0 };
}

/**
 * Variables by what they would do, each alone. The executable answers with every one of them as without.
 * @param folder a hostile folder; all of its files may be named
 */
export function hostileVariables({ path }: HostileFolder): Record<string, string>[] {
  const mark = join(path, "marks", "written");
  const evil = join(path, "evil.ts");
  return [
    { BUN_BE_BUN: "1" },
    { BUN_OPTIONS: `--preload=${evil}` },
    { BUN_OPTIONS: "--version" },
    { BUN_OPTIONS: `--cpu-prof --cpu-prof-dir=${join(path, "marks")}` },
    { BUN_OPTIONS: "--no-such-flag" },
    { BUN_INSPECT: "127.0.0.1:0?wait=1" },
    { BUN_INSPECT: "127.0.0.1:0", BUN_INSPECT_NOTIFY: `unix://${join(path, "inspect.sock")}` },
    { BUN_INSPECT_CONNECT_TO: "ws://127.0.0.1:1" },
    { BUN_INSPECT_PRELOAD: evil },
    { BUN_JSC_dumpOptions: "2" },
    { BUN_JSC_dumpGeneratedBytecodes: "1" },
    { BUN_JSC_noSuchOption: "1" },
    { BUN_JSC_useJIT: "0" },
    { BUN_BYTECODE_ORDER_OUT: mark },
    { BUN_BYTECODE_ORDER_OUT: `${mark}-1`, BUN_BYTECODE_ORDER_NAMES_OUT: mark },
    { BUN_BYTECODE_DIGEST_OUT: mark },
    { BUN_RUNTIME_TRANSPILER_CACHE_PATH: join(path, "marks"), NODE_COMPILE_CACHE: join(path, "marks") },
    { BUN_TRACE: mark, BUN_WATCHER_TRACE: mark, NODE_REDIRECT_WARNINGS: mark, JSC_PROFILER_PATH: mark },
    { BUN_TMPDIR: join(path, "marks"), BUN_INSTALL: path, BUN_INSTALL_CACHE_DIR: join(path, "marks") },
    { BUN_CONFIG_VERBOSE_FETCH: "curl", NODE_TLS_REJECT_UNAUTHORIZED: "0" },
    { NODE_OPTIONS: `--require ${evil} --import ${evil}`, NODE_PATH: join(path, "node_modules") },
    { NODE_DEBUG: "*", DEBUG: "*", NODE_DEBUG_NATIVE: "*", BUN_DEBUG_ALL: "1", BUN_DEBUG: mark },
    { BUN_TCC_OPTIONS: `-include ${evil}`, BUN_FFI_IMPORT: evil },
    { BUN_FEATURE_FLAG_INTERNAL_FOR_TESTING: "1", BUN_ENABLE_CRASH_REPORTING: "1", NODE_CHANNEL_FD: "0" },
  ];
}

#!/usr/bin/env node
"use strict";

// Starts the executable of svc, which is in a package of its own for each platform, and does nothing else. From Node 22.15
// on this process becomes svc. An older one, which has no execve, stays: it passes signals on, and ends as svc ends.

const { accessSync, constants } = require("node:fs");
const { name, optionalDependencies } = require("../package.json");

const platform = `${name}-${process.platform}-${process.arch}`;
const args = process.argv.slice(2);

function executable() {
  try {
    return require.resolve(`${platform}/svc`);
  } catch {
    return undefined;
  }
}

const LOADERS = { x64: "/lib64/ld-linux-x86-64.so.2", arm64: "/lib/ld-linux-aarch64.so.1" };

/** Whether the file and the loader that it needs may be executed, which they may not on a file system with `noexec`. */
function mayExecute(path) {
  try {
    accessSync(path, constants.X_OK);
    if (process.platform === "linux") accessSync(LOADERS[process.arch], constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function run(path) {
  // Before Node 26 an execve that fails aborts Node; from then on it throws. A process of its own says what is wrong.
  if (process.execve && mayExecute(path)) {
    try {
      process.execve(path, [path, ...args], process.env);
    } catch {}
  }
  const child = require("node:child_process").spawn(path, args, { stdio: "inherit" });
  // svc has those of a terminal twice, and takes them as one.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"]) process.on(signal, () => child.kill(signal));
  child.on("error", ({ code, message }) => fail(`${path} cannot be started: ${REASONS[code] ?? message}`));
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

const REASONS = {
  EACCES: "the file is not executable, or its file system is mounted with noexec",
  ENOENT: "its loader is missing; on Linux svc needs glibc",
};

function fail(sentence) {
  process.stderr.write(`svc: ${sentence}\n`);
  process.exitCode = 1;
}

const found = executable();
if (found !== undefined) run(found);
else if (optionalDependencies[platform] === undefined)
  fail(
    `there is no svc for ${process.platform} on ${process.arch}, only ${Object.keys(optionalDependencies).join(", ")}`,
  );
else
  fail(
    `the package ${platform} is missing: install ${name} again on this machine, with optional dependencies` +
      (process.platform === "linux" ? "; on Linux it needs glibc" : ""),
  );

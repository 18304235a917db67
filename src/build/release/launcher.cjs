#!/usr/bin/env node
"use strict";

// Starts the executable of svc, which is in a package of its own for each platform, and does nothing else. From Node 22.15
// on this process becomes svc. An older one, which has no execve, stays: it passes signals on, and ends as svc ends.

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

function run(path) {
  if (process.execve) process.execve(path, [path, ...args], process.env);
  const child = require("node:child_process").spawn(path, args, { stdio: "inherit" });
  // A terminal sends Ctrl-C to svc as well, which takes a second one as the order to end at once.
  const isTerminal = require("node:tty").isatty(0);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"]) {
    process.on(signal, () => {
      if (!isTerminal || signal === "SIGTERM") child.kill(signal);
    });
  }
  child.on("error", (error) => fail(`${path} cannot be started: ${error.message}`));
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

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

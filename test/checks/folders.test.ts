/** A folder that a caller names is a path: an address in its place is refused, with what to write. */
import { expect, test } from "bun:test";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { readFolder, readMemoryFolder } from "../../src/checks/folders.ts";
import { ValueError } from "../../src/errors.ts";
import { memoryPath, svcHome } from "../../src/paths.ts";

const SERVED =
  "give a folder of this machine; a memory that 'svc serve' has is used with --remote, or by connect(address) in a program";

const ADDRESSES: [string, string][] = [
  ["tcp://h:1", SERVED],
  ["TLS://h:1", SERVED],
  ["https://example.org/memory", SERVED],
  ["unix:///run/svc.sock", SERVED],
  ["git+ssh://h/x", SERVED],
  ["x://", SERVED],
  ["./svc.sock", SERVED],
  ["/run/svc.sock", SERVED],
  ["file://host/x", SERVED],
  ["file:///srv/my%20memory", "write '/srv/my memory'"],
  ["localhost:8471", `${SERVED}. For a folder of that name write './localhost:8471'`],
  ["[::1]:8471", `${SERVED}. For a folder of that name write './[::1]:8471'`],
];

test.each(ADDRESSES)("%p is not a memory directory, wherever it stands", (address, remedy) => {
  const error = (name: string) => new ValueError(`${name}: '${address}' is an address, not a folder: ${remedy}`);
  expect(() => readMemoryFolder(address, "--path")).toThrow(error("--path"));
  expect(() => memoryPath(address, {})).toThrow(error("path"));
  expect(() => memoryPath(undefined, { SVC_MEMORY_PATH: address })).toThrow(error("SVC_MEMORY_PATH"));
});

test("a path may have colons and slashes", () => {
  for (const path of ["/srv/memory", "memory", "./localhost:8471", "a:b", "C:/x", "tcp:/h:1", "./x://y"]) {
    expect(readMemoryFolder(path, "--path")).toBe(resolve(path));
    expect(memoryPath(undefined, { SVC_MEMORY_PATH: path })).toBe(resolve(path));
  }
});

test("~/ is the home folder: no shell replaces it in a client's configuration", () => {
  expect(readMemoryFolder("~/memory", "--path")).toBe(join(homedir(), "memory"));
  expect(svcHome({ SVC_HOME: "~/svc home" })).toBe(join(homedir(), "svc home"));
  expect(readFolder("./~/memory", "--path")).toBe(resolve("~/memory"));
});

test("a folder that is not a memory directory is not told about servers", () => {
  const error = (name: string) =>
    new ValueError(`${name}: 'https://h/x' is an address, not a folder: give a folder of this machine`);
  expect(() => readFolder("https://h/x", "--workspace")).toThrow(error("--workspace"));
  expect(() => svcHome({ SVC_HOME: "https://h/x" })).toThrow(error("SVC_HOME"));
  expect(() => memoryPath(undefined, { SVC_HOME: "https://h/x" })).toThrow(error("SVC_HOME"));
  expect(readFolder("monday:2", "dir")).toBe(resolve("monday:2"));
});

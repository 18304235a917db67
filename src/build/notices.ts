/**
 * The licences of what the executable contains, for `svc version --notices`: sorted, without paths and dates, so that
 * the same inputs give the same bytes. Where each part comes from: notices/README.md.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { BuildError } from "./step.ts";
import { zigFolder } from "./zig.ts";

/** What the bundler says of its outputs, as far as it is read: bytes that each input, by its path, has in them. */
export interface Metafile {
  outputs: Record<string, { inputs: Record<string, { bytesInOutput: number }> }>;
}

const TEXTS = join(import.meta.dir, "notices");
const IN_PACKAGE = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/;
const LICENCE_FILE = /^(licen[cs]e|copying)([-._][-.\w]+)?$/i;
const NOTICE_FILE = /^(licen[cs]e|copying|notice|third[-_]?party)\S*$/i;
const CODE = /\.([cm]?[jt]sx?|json|map)$/;
const RULE = "=".repeat(80);

/** Numbers in `process.versions` that are not parts of Bun: itself, and the interfaces of others that it offers. */
const NO_PARTS = ["bun", "node", "v8", "napi", "modules", "openssl", "typescript", "unicode"];

/** Folders of the packages that have bytes in the bundle, relative to the checkout, sorted. */
export function bundledPackages({ outputs }: Metafile): string[] {
  const inputs = Object.values(outputs).flatMap((output) => Object.entries(output.inputs));
  const paths = inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) => path);
  return [...new Set(paths.flatMap((path) => IN_PACKAGE.exec(path)?.[0] ?? []))].sort();
}

/**
 * The whole text.
 * @param root the checkout
 * @param packages folders of bundled packages, relative to it
 * @throws BuildError for a package without a licence, and for a part of Bun that the list lacks
 */
export function notices(root: string, packages: readonly string[]): string {
  const zig = zigFolder();
  const parts = [
    "svc is licensed under the Apache License, version 2.0, whose text is below. It contains what others made:\nfirst " +
      "packages of npm, then Bun and what Bun contains, the C that the compiler adds to the native libraries,\nand data. " +
      "The licences that several parts share are at the end.",
    ...packages.map((folder) => packageNotice(join(root, folder))),
    bunNotice(process.versions),
    section(
      "C of the compiler (MIT)",
      "Helper functions, where the libraries for Linux need any.",
      read(zig, "LICENSE"),
    ),
    section(
      "C of the GNU C Library (LGPL-2.1 with an exception)",
      "Start files in the libraries for Linux.",
      start(zig),
    ),
    section("Data", read(TEXTS, "data.txt")),
    section("Licence: Apache-2.0", read(root, "LICENSE")),
    section("Licence: LGPL-2.0", read(TEXTS, "LGPL-2.txt")),
    section("Licence: LGPL-2.1", read(TEXTS, "LGPL-2.1.txt")),
    section("Licences that are short", read(TEXTS, "short.txt")),
  ];
  return `${parts.join("\n\n")}\n`;
}

/** A package's name, version and licence, and its files of licences and notices, those of what it brings too. */
export function packageNotice(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => !/(^|\/)node_modules\//.test(file) && !CODE.test(file))
    .filter((file) => NOTICE_FILE.test(file.slice(file.lastIndexOf("/") + 1)))
    .sort();
  if (typeof license !== "string" || !files.some((file) => LICENCE_FILE.test(file))) {
    throw new BuildError(
      `${name} ${version} is in the bundle, and its package has no licence ${license ? "text" : "in package.json"}: ` +
        "use another version or package, as svc may not be passed on without it",
    );
  }
  return section(`npm: ${name} ${version} (${license})`, ...files.map((file) => read(folder, file)));
}

/** What Bun contains; `key` is that of its version in `process.versions`, or empty. */
export function bunParts(): [name: string, key: string, licence: string, address: string][] {
  const [, ...rows] = read(TEXTS, "bun.tsv").split("\n");
  return rows.map((row) => row.split("\t") as [string, string, string, string]);
}

/** Bun and its parts, with the versions of those whose version it gives. */
export function bunNotice(versions: Readonly<Record<string, string | undefined>>): string {
  const parts = bunParts();
  const lacking = Object.keys(versions).find(
    (key) => !NO_PARTS.includes(key) && !parts.some(([, known]) => known === key),
  );
  if (lacking) throw new BuildError(`Bun has ${lacking} in process.versions: add it to src/build/notices/bun.tsv`);
  const lines = parts.map(
    ([name, key, licence, address]) => `${[name, versions[key]].filter(Boolean).join(" ")} (${licence})\n  ${address}`,
  );
  return section(
    `Bun ${versions.bun} (MIT)`,
    "https://github.com/oven-sh/bun\nWhat it contains, by the list in its LICENSE.md and the versions that it gives:",
    lines.join("\n"),
    "JavaScriptCore and TinyCC are linked statically. To link Bun with changed ones, build it from its source, where\n" +
      "`bun run build:local` compiles it with the WebKit of vendor/WebKit, and then build svc with that Bun.",
  );
}

/** The terms in the first comment of a file that the linker begins every library with. */
function start(zig: string): string {
  const source = read(zig, "lib/libc/glibc/sysdeps/x86_64/crti.S");
  return source
    .slice(source.indexOf("/*") + 2, source.indexOf("*/"))
    .replace(/^ {1,3}/gm, "")
    .trim();
}

function section(title: string, ...texts: string[]): string {
  return [`${RULE}\n${title}\n${RULE}`, ...texts].join("\n\n");
}

function read(folder: string, file: string): string {
  return readFileSync(join(folder, file), "utf8").replaceAll("\r\n", "\n").trim();
}

/** Steps of a life: what programs and people do to files. */
import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  cpSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import type { World } from "./world.ts";

/** What a step does; what the file system refuses is not a failure. */
export type Step = (world: World) => void;

/** Does something to one of the files of one of the roots. */
const onFile = (work: (full: string, world: World, root: string, path: string) => void): Step => {
  return (world) => {
    const root = world.root();
    const path = world.path(root);
    if (path !== undefined) work(join(root, path), world, root, path);
  };
};

/** Changes one line of a text and leaves the others. */
function editLine(world: World, text: string): string {
  const lines = text.split("\n");
  lines[world.pick(lines.length)] = world.text(1).trimEnd();
  return lines.join("\n");
}

/** The same bytes but for one letter. */
function sameSize(text: string, world: World): string {
  const at = world.pick(Math.max(1, text.length));
  return `${text.slice(0, at)}${text[at] === "e" ? "o" : "e"}${text.slice(at + 1)}`;
}

/** Saves as editors do: a new file takes the place of the old. */
function saveByRename(full: string, content: string | Uint8Array): void {
  const beside = join(dirname(full), `.${basename(full)}.swp`);
  writeFileSync(beside, content);
  renameSync(beside, full);
}

function folderStep(work: (full: string, root: string, path: string, world: World) => void): Step {
  return (world) => {
    const root = world.root();
    const path = world.path(root, "folder");
    if (path !== undefined) work(join(root, path), root, path, world);
  };
}

/** Bytes that are not UTF-8, as a name. */
const ODD_NAME = Buffer.from([0x66, 0xff, 0xfe, 0x2e, 0x74, 0x73]);

/** By their names in the list of a life; the figure is how often. */
export const FILE_STEPS: Readonly<Record<string, [number, Step]>> = {
  create: [
    6,
    (world) => {
      world.writeText(world.root(), world.newPath(), world.pick(120));
    },
  ],
  "edit a line in place": [
    6,
    onFile((full, world) => writeFileSync(full, editLine(world, readFileSync(full, "utf8")))),
  ],
  "edit a line and save by rename": [
    4,
    onFile((full, world) => saveByRename(full, editLine(world, readFileSync(full, "utf8")))),
  ],
  "save by rename with the old times": [
    2,
    onFile((full, world) => {
      const { atime, mtime } = statSync(full);
      saveByRename(full, sameSize(readFileSync(full, "utf8"), world));
      utimesSync(full, atime, mtime);
    }),
  ],
  "edit to the same size and the old times": [
    3,
    onFile((full, world) => {
      const { atime, mtime } = statSync(full);
      writeFileSync(full, sameSize(readFileSync(full, "utf8"), world));
      utimesSync(full, atime, mtime);
    }),
  ],
  append: [3, onFile((full, world) => appendFileSync(full, world.text(1 + world.pick(60))))],
  "insert at the front": [2, onFile((full, world) => writeFileSync(full, world.text(2) + readFileSync(full, "utf8")))],
  touch: [1, onFile((full) => utimesSync(full, new Date(), new Date()))],
  "set times back by years": [1, onFile((full) => utimesSync(full, 1e9, 1e9))],
  empty: [1, onFile((full) => writeFileSync(full, ""))],
  "blank lines only": [1, onFile((full) => writeFileSync(full, "\n \n\t\n"))],
  "a huge line": [1, onFile((full, world) => writeFileSync(full, `${world.text(900).replaceAll("\n", " ")}\n`))],
  "become binary": [1, onFile((full, world) => writeFileSync(full, `${world.text(3)}\0${world.text(2)}`))],
  "become a secret": [
    1,
    onFile((full, world) => {
      // Written apart, so that no scanner takes this file for one.
      const [begin, end] = ["BEGIN", "END"].map((word) => `-----${word} ${"PRIVATE"} KEY-----`);
      writeFileSync(full, `${world.text(2)}${begin}\n${"MIIEvQIBADANBgkqhkiG9w0BAQEF".repeat(8)}\n${end}\n`);
    }),
  ],
  "become text": [2, onFile((full, world) => writeFileSync(full, world.text(20)))],
  "not UTF-8 inside": [1, onFile((full) => appendFileSync(full, Buffer.from([0xff, 0xc0, 0x80, 0x0a])))],
  rename: [3, onFile((full, world, root) => move(full, join(root, world.newPath())))],
  "rename by case": [2, onFile((full) => renameSync(full, join(dirname(full), otherCase(basename(full)))))],
  delete: [4, onFile((full) => rmSync(full))],
  "hard link": [1, onFile((full, world, root) => linkSync(full, join(root, world.newPath())))],
  executable: [1, onFile((full) => chmodSync(full, 0o755))],
  "file becomes a folder": [
    1,
    onFile((full, world, root, path) => {
      rmSync(full);
      world.writeText(root, `${path}/inner.ts`, 5);
    }),
  ],
  "file becomes a link": [
    1,
    onFile((full, world, root) => {
      rmSync(full);
      symlinkSync(world.oneOf([join(world.outside, "secret.txt"), "nowhere", join(root, "README.md")]), full);
    }),
  ],
  "file becomes a FIFO": [
    1,
    onFile((full) => {
      // Git itself waits for ever where a FIFO has the name of a file that it reads.
      if (basename(full).startsWith(".git")) return;
      rmSync(full);
      spawnSync("mkfifo", [full]);
    }),
  ],
  "a socket": [
    1,
    (world) => {
      const path = join(world.root(), "s.sock");
      Bun.listen({ unix: path, socket: { data() {} } }).stop(true);
    },
  ],
  "a name that is not UTF-8": [
    1,
    (world) => writeFileSync(Buffer.concat([Buffer.from(`${world.root()}/`), ODD_NAME]), world.text(3)),
  ],
  "link to a folder": [
    1,
    (world) =>
      symlinkSync(world.oneOf([world.outside, world.two, "src", "."]), join(world.root(), `to${world.pick(3)}`)),
  ],
  "folder becomes a file": [
    1,
    folderStep((full, _root, _path, world) => {
      rmSync(full, { recursive: true });
      writeFileSync(full, world.text(4));
    }),
  ],
  "folder becomes a link": [
    1,
    folderStep((full, _root, _path, world) => {
      const other = join(world.outside, `moved${world.pick(1e6)}`);
      renameSync(full, other);
      symlinkSync(other, full);
    }),
  ],
  "move a folder": [2, folderStep((full, root, _path, world) => move(full, join(root, `moved${world.pick(4)}`)))],
  "rename a folder by case": [
    1,
    folderStep((full) => renameSync(full, join(dirname(full), otherCase(basename(full))))),
  ],
  "copy a folder": [
    1,
    folderStep((full, root, path, world) => {
      if (world.paths(root).length < 90)
        cpSync(full, join(root, `${path}.copy`), { recursive: true, verbatimSymlinks: true });
    }),
  ],
  "delete a folder": [2, folderStep((full) => rmSync(full, { recursive: true, force: true }))],
  "many files at once": [
    1,
    (world) => {
      const root = world.root();
      if (world.paths(root).length > 90) return;
      for (let i = 0; i < 15; i++) world.writeText(root, `many/f${i}.ts`, 3 + world.pick(20));
    },
  ],
};

function move(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  renameSync(from, to);
}

function otherCase(name: string): string {
  return name === name.toLowerCase() ? name.toUpperCase() : name.toLowerCase();
}

/** npm packages that some tests need and `npm ci` leaves out. They are installed into a folder that git ignores. */
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

/** npm writes this file when it is done. */
const DONE = "node_modules/.package-lock.json";
const FILES = ["package.json", "package-lock.json"];

/** The packages that the `package.json` and the lock file of one folder name. */
export class TestPackages {
  /** Where they are installed. */
  readonly folder: string;

  /**
   * @param source the folder of the lock file
   * @param name of the folder into which they are installed, below `.build/test`
   * @param title what they are, with their size, for the line that is printed before they are installed
   */
  constructor(
    private readonly source: string,
    name: string,
    private readonly title: string,
  ) {
    this.folder = join(import.meta.dir, "../.build/test", name);
  }

  /** Whether all that the lock file names is installed. */
  isInstalled(): boolean {
    const isSame = (name: string) => sameFile(join(this.source, name), join(this.folder, name));
    return existsSync(join(this.folder, DONE)) && FILES.every(isSame);
  }

  /** Installs what the lock file names, if it is not there. Nothing that a package would start at its install is started. */
  async install(): Promise<void> {
    if (this.isInstalled()) return;
    console.log(`installing ${this.title} into ${this.folder}, once`);
    rmSync(this.folder, { recursive: true, force: true });
    mkdirSync(this.folder, { recursive: true });
    for (const name of FILES) cpSync(join(this.source, name), join(this.folder, name));
    const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    const npm = Bun.spawn(["npm", "ci", ...flags], { cwd: this.folder, stdout: "ignore", stderr: "inherit" });
    if ((await npm.exited) !== 0) throw new Error(`npm could not install ${this.title}: the lines above say why`);
  }

  /** The path of a file of an installed package. */
  path(file: string): string {
    return join(this.folder, "node_modules", file);
  }

  /** The version of an installed package. */
  versionOf(name: string): string {
    return JSON.parse(readFileSync(this.path(`${name}/package.json`), "utf8")).version;
  }
}

function sameFile(a: string, b: string): boolean {
  return existsSync(b) && readFileSync(a, "utf8") === readFileSync(b, "utf8");
}

/** Links C programs with the objects of the libraries: the tests' own, and those that make tables. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import {
  compileAll,
  compileFlags,
  compileMissing,
  filesOf,
  hashHeaders,
  includesOf,
  LIBRARIES,
  type NativeOptions,
  planAll,
  produce,
  removeStale,
  type Variant,
  ZIG_TARGET,
} from "./compile.ts";
import { zig } from "./compiler.ts";
import { hash } from "./step.ts";

/** What a library shows of its sources; a test links the same objects. */
const SHOWN = ["-fvisibility=default"];
/** zig adds the sanitizer of undefined behaviour to what it does not optimise; `npm run test:native` has it. */
const UNOPTIMISED = ["-O0", "-fno-sanitize=undefined"];
/** Sources of tests that do much of the work themselves: optimising them costs less than it gains. */
const BUSY = new Set(["fault", "kernel_lines_test", "scan_test"]);

/**
 * Links a C program with the libraries' objects, hidden functions included, compiled as shipped, except that the
 * runtime's asserts are on; with `kernelOnly` without the runtime. For tests; returns the program's path.
 * @param more further sources
 * @param kind a library exports every function of the sources; the source of most tests is not optimised, which compiles
 * it in a quarter of the time: the libraries' objects and the further sources do most of its work
 * @param variant of the runtime
 * @throws BuildError with the compiler's output
 */
export async function buildProgram(
  options: NativeOptions & { kernelOnly?: boolean },
  source: string,
  more: readonly string[] = [],
  kind: "program" | "test" | "library" = "program",
  variant: Variant = "asserting",
): Promise<string> {
  const { root, cache, tag, kernelOnly } = options;
  const plans = planAll(options, variant).filter(({ library }) => !kernelOnly || library.folder === "ame_kernel");
  await compileAll(plans, options);
  const objects = plans.flatMap((plan) => plan.objects.map(({ path }) => path));
  const sources = [source, ...more];
  const test = BUSY.has(basename(source, ".c")) ? ["-O1"] : UNOPTIMISED;
  const shape = { program: [], test, library: SHOWN }[kind];
  const headers = hashHeaders(root);
  const programs = join(cache, tag, "programs");
  // Objects of their own, because the programs of the tests share some sources.
  const own = sources.map((path, i) => {
    const flags = [
      ...compileFlags(tag),
      ...(kind === "test" && i > 0 ? SHOWN : shape),
      ...includesOf(LIBRARIES, options),
      `-I${dirname(path)}`,
    ];
    // A further source has the name that it has in a library, so that it is compiled once for all.
    const beside = new Set((i === 0 ? sources : [path]).map((each) => join(root, dirname(each))));
    const headersOf = [...beside].flatMap((folder) =>
      filesOf(folder, /\.h$/).map((file) => readFileSync(join(folder, file))),
    );
    const key = hash(readFileSync(join(root, path)), headers, ...headersOf, ...flags);
    const name = `${basename(path, ".c")}-${key}.o`;
    return { source: path, flags, path: join(programs, "objects", name) };
  });
  const linked = [...own.map(({ path }) => path), ...objects];
  const linkFlags = ["-target", ZIG_TARGET[tag], ...(kind === "library" ? ["-shared"] : []), "-lm", "-lpthread"];
  const key = hash(...linked.map((path) => basename(path)), ...linkFlags);
  const program = join(programs, `${basename(source, ".c")}-${key}`);
  if (!existsSync(program)) {
    mkdirSync(programs, { recursive: true });
    for (const name of readdirSync(programs)) {
      if (name.startsWith(`${basename(source, ".c")}-`)) rmSync(join(programs, name), { force: true });
    }
    await compileMissing(own, options);
    removeStale(own);
    await produce(program, (path) => zig(options, ["cc", ...linkFlags, ...linked, "-o", path]));
  }
  return program;
}

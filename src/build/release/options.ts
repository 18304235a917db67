/** The command line of `npm run release`. */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { readChoice } from "../../checks/strings.ts";
import { PLATFORM_TAGS, type PlatformTag } from "../../paths.ts";
import { KEY_ID, VERSION } from "../../trust/runtime/bundle-manifest.ts";
import { defaultRelease } from "../release.ts";
import { BuildError } from "../step.ts";
import { pythonVersion } from "./python.ts";

/** Any earlier version. */
const NO_FLOOR = "0.0.0";

export const HELP = `npm run release -- --version X.Y.Z [options]

Builds svc and makes the files of a release in dist/release. It publishes nothing. The same commit, options
and keys give the same bytes.

  --version X.Y.Z      the version of the release
  --release N          its number, which grows with every release (default: X * 1000000 + Y * 1000 + Z,
                       and less for a prerelease of X.Y.0; another prerelease needs one)
  --floor X.Y.Z        the lowest version that svc may go back to from this one (default: ${NO_FLOOR}, any)
  --platforms A,B      of ${PLATFORM_TAGS.join(", ")} (default: all)
  --release-key FILE   the private key that signs (default: SVC_RELEASE_KEY or SVC_RELEASE_KEY_FILE, or the
                       checkout's own key for development). With a key of your own, give the public half
                       of the next one in SVC_NEXT_RELEASE_PUBKEY_FILE
  --end-key ID         the release key of this id ends with this release; repeat it for several
  --sign-macos FILE    a program that signs the executable for macOS, whose path is its argument
  --help               this text`;

/** What `npm run release` is to make. */
export interface ReleaseOptions {
  version: string;
  release: number;
  floor: string;
  platforms: readonly PlatformTag[];
  /** Path of the private key. */
  releaseKey?: string | undefined;
  /** Ids of release keys. */
  endKeys: readonly string[];
  /** Path of a program that signs an executable for macOS. */
  signMacos?: string | undefined;
}

/** The options; undefined where the help was asked for. @throws BuildError of one line, ValueError */
export function readOptions(words: readonly string[]): ReleaseOptions | undefined {
  const values = parse(words);
  if (values.help) return undefined;
  const version = readVersion(values.version, "--version");
  pythonVersion(version);
  const release = values.release === undefined ? defaultRelease(version) : Number(values.release);
  const isWritten = values.release === undefined || /^\d+$/.test(values.release);
  if (!isWritten || !Number.isSafeInteger(release) || release < 1)
    throw new BuildError(`--release must be a whole number from 1, got '${values.release ?? release}'`);
  const floor = readVersion(values.floor ?? NO_FLOOR, "--floor");
  if (Bun.semver.order(floor, version) > 0)
    throw new BuildError(`--floor ${floor} is higher than --version ${version}`);
  const named = values.platforms?.split(",").map((tag) => readChoice(tag, "--platforms", PLATFORM_TAGS));
  const endKeys = values["end-key"] ?? [];
  const wrong = endKeys.find((id) => !KEY_ID.test(id));
  if (wrong !== undefined)
    throw new BuildError(`--end-key must be the id of a release key, 32 hex digits, got '${wrong}'`);
  return {
    version,
    release,
    floor,
    platforms: PLATFORM_TAGS.filter((tag) => !named || named.includes(tag)),
    releaseKey: values["release-key"] && resolve(values["release-key"]),
    endKeys,
    signMacos: values["sign-macos"] && resolve(values["sign-macos"]),
  };
}

function parse(words: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: [...words],
      options: {
        version: { type: "string" },
        release: { type: "string" },
        floor: { type: "string" },
        platforms: { type: "string" },
        "release-key": { type: "string" },
        "end-key": { type: "string", multiple: true },
        "sign-macos": { type: "string" },
        help: { type: "boolean", short: "h" },
      },
    });
    return values;
  } catch (error) {
    throw new BuildError(`${(error as Error).message.split("\n")[0]} (npm run release -- --help shows the options)`);
  }
}

function readVersion(text: string | undefined, name: string): string {
  if (text === undefined) throw new BuildError(`${name} is missing: npm run release -- ${name} 1.2.3`);
  if (!VERSION.test(text)) throw new BuildError(`${name} must be a version such as 1.2.3, got '${text}'`);
  return text;
}

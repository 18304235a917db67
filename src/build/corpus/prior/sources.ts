/**
 * The texts that are counted, as data. Each is in the public domain or under a licence that lets anyone count its words
 * and say what came out: MIT, Apache-2.0, BSD, CC0, CC BY. No text is in the project, only how common words are.
 */
import { FAMILIES } from "./families.ts";

/** How a file becomes paragraphs: see markup.ts. `code` is cut by lines, `log` is the history of a clone. */
export type Format =
  | "markdown"
  | "rst"
  | "tei"
  | "jats"
  | "pages"
  | "turns"
  | "utterances"
  | "factbook"
  | "intents"
  | "speeches"
  | "code"
  | "log";

export interface Source {
  /** Clones of one name are one source: none of them is a second witness beside another. */
  name: string;
  repository: string;
  commit: string;
  licence: string;
  /** The file that states it. */
  stated: string;
  /** What kind of English it is; text in another language is counted by language. */
  kind: "fiction" | "tech" | "gov" | "speech" | "science" | "chat" | "code" | "commits";
  /** Of each file, by its path; undefined: not counted. */
  language: (path: string) => string | undefined;
  format: Format;
  files: RegExp;
  not?: RegExp;
  /** A file counts only if it states this itself. */
  states?: RegExp;
  /** Pieces that count, of each language. */
  cap: number;
  /** And of each file: no long novel outweighs the others. */
  perFile: number;
}

const english = () => "en";

/** Folders of the chatterbot corpus. */
const CHATTERBOT: Record<string, string> = {
  english: "en",
  german: "de",
  french: "fr",
  spanish: "es",
  italian: "it",
  portuguese: "pt",
  russian: "ru",
  turkish: "tr",
  indonesian: "id",
  hindi: "hi",
  bangla: "bn",
  chinese: "zh",
  japanese: "ja",
  korean: "ko",
  thai: "th",
  persian: "fa",
  hebrew: "he",
  swedish: "sv",
  ukrainian: "uk",
};

const government = (
  name: string,
  repository: string,
  commit: string,
  files = /\.md$/,
  cap = 1000,
  perFile = 20,
): Source => ({
  name,
  repository,
  commit,
  licence: "CC0-1.0",
  stated: "LICENSE.md",
  kind: "gov",
  language: english,
  format: "markdown",
  files,
  not: /LICENSE/,
  cap,
  perFile,
});

/** Sources that are about nothing in particular: a hundred books are witnesses enough. */
export const COLLECTIONS: ReadonlySet<string> = new Set(["novels"]);

/** Sources that say "you" and "has" so seldom that what they lack may well be common. */
export const TERSE: ReadonlySet<string> = new Set(["tldr"]);

export const SOURCES: readonly Source[] = [
  ...FAMILIES,
  government("handbook", "18F/handbook", "1e4955634d0369f17e5bbc0ebbf8f62e2a3dfe4b"),
  government("methods", "18F/methods", "f9305795b101763edd7ff3287a6e1005152ca862"),
  government(
    "digitalgov",
    "GSA/digitalgov.gov",
    "4979583206d90ff1707b097454a9b169ca9e95e4",
    /^content\/(news|resources|guides|events|communities).*\.md$/,
    3500,
    15,
  ),
  government("plainlanguage", "GSA/plainlanguage.gov", "43230773bd7c589ac6394ead7b36a2554241abdc"),
  {
    name: "factbook",
    repository: "factbook/factbook.json",
    commit: "8662a8b17a784841ab4528631b04090eb2f183eb",
    licence: "CC0-1.0",
    stated: "LICENSE.md",
    kind: "gov",
    language: english,
    format: "factbook",
    files: /^[a-z-]+\/\w\w\.json$/,
    cap: 1200,
    perFile: 8,
  },
  {
    name: "addresses",
    repository: "nltk/nltk_data",
    commit: "5db857e6f7df11eabb5e5665836db9ec8df07e28",
    licence: "public domain",
    stated: "packages/corpora/state_union.xml, packages/corpora/inaugural.xml",
    kind: "speech",
    language: english,
    format: "speeches",
    files: /^packages\/corpora\/(state_union|inaugural)\.zip$/,
    cap: 2500,
    perFile: 2500,
  },
  {
    name: "plos",
    repository: "PLOS/allofplos",
    commit: "07fdeed848b2816a7fbf7da6418ef6e2076e1960",
    licence: "CC-BY",
    stated: "<license> of each article",
    kind: "science",
    language: english,
    format: "jats",
    files: /starter_corpus\/.*\.xml$/,
    states:
      /<license\b[\s\S]{0,1500}?(creativecommons\.org\/licenses\/by\/|Creative Commons Attribution License|public domain)/,
    cap: 3500,
    perFile: 45,
  },
  {
    name: "jose",
    repository: "openjournals/jose-papers",
    commit: "33e0027f3ea3b278bd09bb45a8128079949f2c41",
    licence: "CC-BY-4.0",
    stated: "LICENSE",
    kind: "science",
    language: english,
    format: "jats",
    files: /\.jats$/,
    cap: 500,
    perFile: 45,
  },
  {
    name: "chatterbot",
    repository: "gunthercox/chatterbot-corpus",
    commit: "a01efece26661309b870af0251d96f94ee09fb19",
    licence: "BSD-3-Clause",
    stated: "license.md",
    kind: "chat",
    language: (path) => CHATTERBOT[path.split("/")[2]!],
    format: "turns",
    files: /^chatterbot_corpus\/data\/.*\.ya?ml$/,
    not: /swear|profan/,
    cap: 300,
    perFile: 60,
  },
  {
    name: "intents",
    repository: "clinc/oos-eval",
    commit: "828f8093932c8fe6ca7936c3d2e52903b1c523de",
    licence: "CC-BY-3.0",
    stated: "LICENSE",
    kind: "chat",
    language: english,
    format: "intents",
    files: /^data\/data_full\.json$/,
    cap: 300,
    perFile: 300,
  },
  {
    name: "taskmaster",
    repository: "google-research-datasets/Taskmaster",
    commit: "d92cb6af3005f1dc09c39e75e7daf4a04905e00b",
    licence: "CC-BY-4.0",
    stated: "TM-4-2024/README.md",
    kind: "chat",
    language: english,
    format: "utterances",
    files: /^TM-4-2024\/data\/.*json$/,
    cap: 300,
    perFile: 300,
  },
  {
    name: "rust",
    repository: "rust-lang/book",
    commit: "917544888a55e4da7109bdba8c88c893c0da70f4",
    licence: "MIT OR Apache-2.0",
    stated: "LICENSE-MIT, LICENSE-APACHE",
    kind: "tech",
    language: english,
    format: "markdown",
    files: /^src\/.*\.md$/,
    cap: 800,
    perFile: 30,
  },
  {
    name: "rust",
    repository: "rust-lang/rfcs",
    commit: "354518a8c9025f40be6f730452c1bfe71a12dc22",
    licence: "MIT OR Apache-2.0",
    stated: "LICENSE-MIT, LICENSE-APACHE",
    kind: "tech",
    language: english,
    format: "markdown",
    files: /^text\/.*\.md$/,
    cap: 1800,
    perFile: 12,
  },
  {
    name: "peps",
    repository: "python/peps",
    commit: "ba4deeb7969588d937da609008d05bb83a47b1ab",
    licence: "public domain OR CC0-1.0",
    stated: "the Copyright section of each document",
    kind: "tech",
    language: english,
    format: "rst",
    files: /^peps\/pep-\d+\.rst$/,
    states: /Copyright\n=+\n[\s\S]{0,400}(public\s+domain|CC0)/i,
    cap: 1800,
    perFile: 12,
  },
  {
    name: "tldr",
    repository: "tldr-pages/tldr",
    commit: "08e345f42639f67d99282813247ac670dc6e87cb",
    licence: "CC-BY-4.0",
    stated: "LICENSE.md",
    kind: "tech",
    language: (path) => /^pages\.([a-z]+)/.exec(path)?.[1] ?? "en",
    format: "pages",
    files: /^pages(\.\w+)?\/(common|linux|osx)\/.*\.md$/,
    not: /^pages\.zh_TW/,
    cap: 300,
    perFile: 1,
  },
  {
    name: "opensource",
    repository: "github/opensource.guide",
    commit: "ebc9678e39b55ff5e5c8801d1960904692188e90",
    licence: "CC-BY-4.0",
    stated: "LICENSE",
    kind: "tech",
    language: (path) => /^_articles\/([a-z]+)[^/]*\//.exec(path)?.[1] ?? "en",
    format: "markdown",
    files: /^_articles\/.*\.md$/,
    cap: 300,
    perFile: 60,
  },
];

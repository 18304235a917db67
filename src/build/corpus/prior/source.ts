/** A source of text: where it is, and how its files become paragraphs. */

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
  /** Clones of one name are one source: two of them do not confirm each other. */
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

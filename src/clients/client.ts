/** What is known of a client, and what is asked of it. */
import type { Env } from "../paths.ts";
import type { Notation, PlainObject } from "./edit/edit.ts";
import type { ServerEntry, Shape } from "./shapes.ts";

/** `user`: of this user, everywhere. `project`: in a project's folder, for all who work in it. */
export type Scope = "user" | "project";

/** Where to look: all of it can be another folder in tests. */
export interface ClientSite {
  /** The user's home folder. */
  readonly home: string;
  readonly platform: "linux" | "darwin";
  /** Environment variables: those that move a client's folder, PATH, and SVC_HOME, where what svc changes is noted. */
  readonly env: Env;
  /** Root of the project, for scope `project`. */
  readonly project?: string;
  /** Where the files of the system begin that administrators write; `/` where there is nothing else. */
  readonly root?: string;
}

/** A program that starts MCP servers, and where it keeps which ones. */
export interface Client {
  /** As in `--client`. */
  readonly id: string;
  readonly title: string;
  readonly scopes: readonly Scope[];
  /** What the user has to do after an install, in one sentence. */
  readonly afterwards: string;
  /** When the client ends the server after an uninstall, in one sentence. */
  readonly afterRemoval: string;
  readonly notation: Notation;
  readonly shape: Shape;
  /** The shape in a project's file, where it is another one. */
  readonly projectShape?: Shape;
  /**
   * The files that a scope may have, the newest documented one first. The first that exists is the one, and the first
   * one where none does.
   */
  files(scope: Scope, site: ClientSite): readonly string[];
  /** Files of earlier versions. An entry in one of them is found, updated and removed there; no new entry goes into them. */
  formerFiles?(scope: Scope, site: ClientSite): readonly string[];
  /** Files of other clients that it reads as well. */
  alsoReads?(scope: Scope, site: ClientSite): readonly string[];
  /** The keys from a document's root to the object that holds an entry. */
  path(document: unknown, name: string): readonly string[];
  /** Folders and files that a machine with the client has. */
  traces(site: ClientSite): readonly string[];
  /** Its program on PATH, where it has one. */
  readonly program?: string;
  /** How it runs hooks, where svc has some for it. */
  readonly hooks?: HookPlace;
  /**
   * The files of instructions that a scope may have, for the model of each session. The first that exists is the one, and
   * the last one where none does.
   */
  instructions?(scope: Scope, site: ClientSite): readonly string[];
  /** Whether it tells its servers in which project it works, by roots or a variable; to others a flag of the entry says it. */
  readonly reportsProject?: true;
  /** The client that replaces it, where there is one. */
  readonly successor?: Successor;
  /** Looks for what keeps an entry from being started in its lists. */
  readonly findBlock?: FindBlock;
  /** Which of several entries of one name it uses; absent where its documentation does not say so. */
  readonly precedence?: Precedence;
}

/** The order in which a client looks for an entry: that of the project before the user's. */
export interface Precedence {
  /** The rule as the end of a sentence: "an entry of the project wins over one of the user". */
  readonly rule: string;
  /** The keys in the user's file to an entry that counts in one project only, which wins over both. */
  readonly local?: (project: string, name: string) => readonly string[];
}

/** The entry that a client uses in place of another one of the same name. */
export interface Override {
  readonly file: string;
  /** `local`: in the user's file, for this project only. */
  readonly scope: "local" | "project";
}

/** What lists can be about: an entry by its name, where it is, and what it starts. */
export interface Entry {
  readonly name: string;
  readonly scope: Scope;
  readonly server: ServerEntry;
}

/** Reads a file of settings, JSON unless another notation is named; undefined where it is not there or cannot be read. */
export type ReadSettings = (file: string, notation?: Notation) => PlainObject | undefined;

/** Why a client does not start an entry. */
export interface Block {
  readonly file: string;
  /** The key of the file, with dots. */
  readonly key: string;
  /** The rest of a sentence about the key: "lists it". */
  readonly why: string;
  /** What the client does instead of "does not start svc". */
  readonly effect?: string;
  /** Whether another part of the client has svc anyway. */
  readonly isPartial?: true;
}

/** @returns what keeps the entry from being started; undefined where nothing does */
export type FindBlock = (entry: Entry, site: ClientSite, read: ReadSettings) => Block | undefined;

/** What became of a client. */
export interface Successor {
  /** As in `--client`. */
  readonly id: string;
  /** One sentence, with the command that configures the successor. */
  readonly sentence: string;
}

/** When hooks of svc run: a session begins, a person sends a prompt, a turn ends. */
export const HOOK_EVENTS = ["session-start", "prompt", "stop"] as const;
export type HookEvent = (typeof HOOK_EVENTS)[number];

/**
 * Where a client has its hooks: in `hooks` of a JSON file, which has a list for each event. An item of it has a list of
 * commands in its own `hooks`.
 */
export interface HookPlace {
  /** The file of a scope. */
  file(scope: Scope, site: ClientSite): string;
  /** The client's name of each event. */
  readonly events: Readonly<Record<HookEvent, string>>;
  /** A second in the client's unit for the time that a command may take. */
  readonly second: number;
  /** What the client has of a command beside that. */
  readonly fields?: Readonly<Record<string, string>>;
  /** What the user has to do after an install of hooks, in one sentence. */
  readonly afterwards: string;
}

/** What a file says of an entry. `file` is the configuration file, whether there is one or not. */
export type EntryState =
  | { readonly state: "absent" }
  | {
      readonly state: "present";
      /** With an empty command if the entry does not start a process. */
      readonly server: ServerEntry;
      /** Whether it starts svc: a program of that name, or this executable, with `mcp` as first argument. */
      readonly isOurs: boolean;
      /** Whether the client does not start it, by a field of the entry. */
      readonly disabled: boolean;
      /** Which tools the client offers, where a field of the entry chooses some. */
      readonly filter?: ToolFilter;
    }
  | { readonly state: "unreadable"; readonly problem: string };

/** A field of an entry that chooses tools. */
export interface ToolFilter {
  readonly key: string;
  readonly tools: readonly string[];
  /** Whether only these are offered; else all others are. */
  readonly isOnly: boolean;
}

/**
 * A change of one file, made in memory; nothing is written.
 *
 * `create` makes the file and `delete` removes one that an install made; `add`, `replace` and `remove` change one
 * entry; `none` changes nothing: `before` is `after`.
 */
export interface Change {
  readonly client: Client;
  readonly scope: Scope;
  readonly name: string;
  readonly site: ClientSite;
  /** The file's path as the client knows it. */
  readonly file: string;
  readonly action: "create" | "add" | "replace" | "remove" | "delete" | "none";
  /** The file's bytes, undefined where there is none. */
  readonly before: Uint8Array | undefined;
  readonly after: Uint8Array | undefined;
  /** What has to be noted for the way back; `undefined` where nothing has to, `null` where the note goes. */
  readonly note: Note | null | undefined;
}

/** How an install is undone: kept under SVC_HOME from the install to the uninstall. */
export interface Note {
  /** Whether the install made the file. */
  readonly isNew: boolean;
  /** SHA-256 of the file before, in hex; of no bytes where there was none. */
  readonly before: string;
  /** SHA-256 of the file that the install left. */
  readonly after: string;
  /** The same of the install before, whose entry this one changed: what is there if it was killed on the way. */
  readonly earlier?: string;
  /** What turns that file into the one before, in UTF-16 units of its text without a byte order mark. */
  readonly back: readonly { readonly at: number; readonly removed: number; readonly inserted: string }[];
  /** How many objects on the way to the entry the install made. */
  readonly containers: number;
  /** Of hooks: the events whose lists the install made. */
  readonly lists?: readonly string[];
  /** Folders that the install made, the innermost first. */
  readonly folders: readonly string[];
  /** The copy of the file before. */
  readonly backup?: string;
}

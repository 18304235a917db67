/**
 * How the files of a repository are indexed: into which chunks, and up to which size. What a call names stays until
 * another call names something else; what it leaves out is as it was, for a first index as by default.
 */
import { CHUNK_DEFAULTS, type ChunkMode, type ChunkOptions, checkChunkOptions } from "../chunks/chunk.ts";
import { chunkingOf, chunkKey } from "./fingerprints.ts";
import type { Note } from "./note.ts";

/** What a call may name. */
export interface GivenSettings extends Partial<ChunkOptions> {
  /** Larger files are left out; 0: only those above `REPO_FILE_BYTES_MAX`. */
  maxFileBytes?: number;
}

export interface Settings {
  chunking: ChunkOptions;
  maxFileBytes: number;
}

/** Settings of a first index, if the call has none. */
export const SETTINGS_DEFAULT: Settings = { chunking: CHUNK_DEFAULTS, maxFileBytes: 0 };

/** What of an answer's settings differs from the defaults. */
export interface ShownSettings {
  mode?: ChunkMode;
  window_lines?: number;
  window_overlap_lines?: number;
  max_file_bytes?: number;
}

/**
 * The settings of a run. Sizes of windows without a mode mean windows, also of a repository that is in whole files.
 * @param note of the last run; undefined where there was none
 * @throws ValueError naming the argument where the result is not valid
 */
export function settingsOf(given: GivenSettings, note: Note | undefined): Settings {
  const before = (note && chunkingOf(note.params)) ?? CHUNK_DEFAULTS;
  const namesWindows = given.windowLines !== undefined || given.windowOverlapLines !== undefined;
  const chunking: ChunkOptions = {
    mode: given.mode ?? (namesWindows ? "windowed" : before.mode),
    windowLines: given.windowLines ?? before.windowLines,
    windowOverlapLines: given.windowOverlapLines ?? before.windowOverlapLines,
  };
  checkChunkOptions(chunking);
  return { chunking, maxFileBytes: given.maxFileBytes ?? note?.maxFileBytes ?? 0 };
}

/** Settings as a member of an answer; none where all are the defaults. */
export function shownSettings({ chunking, maxFileBytes }: Settings): { settings?: ShownSettings } {
  const { mode, windowLines, windowOverlapLines } = chunking;
  const isOther = chunkKey(chunking) !== chunkKey(CHUNK_DEFAULTS);
  const windows = { window_lines: windowLines, window_overlap_lines: windowOverlapLines };
  const settings: ShownSettings = {
    ...(isOther ? { mode, ...(mode === "windowed" ? windows : {}) } : {}),
    ...(maxFileBytes > 0 ? { max_file_bytes: maxFileBytes } : {}),
  };
  return Object.keys(settings).length === 0 ? {} : { settings };
}

/**
 * When the last brief of each project was marked: a small file under `SVC_HOME`. It is a convenience: one that is missing
 * or damaged counts as empty, and a disk that is full or read-only only keeps the next brief from telling what is new.
 */

import { dirname } from "node:path";
import { isObject } from "../../checks/kinds.ts";
import { makeDurableDirectory, readCapped, writeDurable } from "../../durable.ts";
import { errorMessage } from "../../errors.ts";

/** Marks that are kept: those of the projects that were marked last. */
const MARKS_MAX = 200;
/** A larger file is none of ours. */
const FILE_BYTES_MAX = 1024 * 1024;

interface Mark {
  /** The memory directory. */
  memory: string;
  /** Null: briefs without a project. */
  project: string | null;
  /** Milliseconds since 1970. */
  time: number;
}

/** When the last brief of a project of a memory was marked; undefined where it was not. */
export function lastMarkOf(file: string, memory: string, project: string | undefined): number | undefined {
  return readMarks(file).find((one) => one.memory === memory && one.project === (project ?? null))?.time;
}

/** Marks a brief. @returns why that failed */
export function markBrief(file: string, memory: string, project: string | undefined, time: number): string | undefined {
  const own: Mark = { memory, project: project ?? null, time };
  const others = readMarks(file).filter((one) => one.memory !== memory || one.project !== own.project);
  try {
    makeDurableDirectory(dirname(file));
    writeDurable(file, `${JSON.stringify({ marks: [own, ...others].slice(0, MARKS_MAX) })}\n`);
    return undefined;
  } catch (error) {
    return errorMessage(error);
  }
}

function readMarks(file: string): Mark[] {
  try {
    const bytes = readCapped(file, FILE_BYTES_MAX);
    const { marks } = JSON.parse(new TextDecoder().decode(bytes)) as { marks: unknown };
    return Array.isArray(marks) ? marks.filter(isMark) : [];
  } catch {
    return [];
  }
}

function isMark(value: unknown): value is Mark {
  if (!isObject(value)) return false;
  const { memory, project, time } = value as Partial<Mark>;
  return typeof memory === "string" && (project === null || typeof project === "string") && Number.isSafeInteger(time);
}

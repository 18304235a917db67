/** The server's events as lines on stderr: for people, or one JSON object each for programs. */
import type { Log, LogEvent } from "../../log.ts";
import { asciiControls, noteWhole, oneLine } from "../terminal/output.ts";

/** A log that prints. */
export function serveLog(asJson: boolean): Log {
  return asJson ? (event) => noteWhole(jsonLine(event)) : (event) => noteWhole(textLine(event));
}

function jsonLine({ level, event, message, fields }: LogEvent): string {
  return asciiControls(JSON.stringify({ time: new Date().toISOString(), level, event, message, ...fields }));
}

function textLine({ level, message }: LogEvent): string {
  return `${new Date().toISOString()} ${level.padEnd(5)} ${oneLine(message)}`;
}

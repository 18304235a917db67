/** What `svc login` is given in place of a person: an access token, or an enrolment key. Stdin may hold one of them. */

import { checkDeviceName } from "../../checks/device-name.ts";
import { ValueError } from "../../errors.ts";
import { readChunks } from "../../formats/input/bytes.ts";
import { SECRET_BYTES_MAX } from "../../limits.ts";
import { type EnrollKeyText, givenEnrollKey } from "../../trust/account/enroll-key.ts";
import { asUsage, string, UsageError, type Values } from "../terminal/command.ts";
import { isTerminal, note } from "../terminal/output.ts";

/** The flags, for the command's table. */
export const SECRET_FLAGS = {
  "enroll-key": string(
    "STDIN",
    "enrol with a key of an organisation, without a person; only - is allowed, which reads the key from stdin",
  ),
  token: string(
    "TOKEN",
    "an access token obtained elsewhere; - reads it from stdin, where other users cannot see it (SVC_TOKEN)",
  ),
  "device-name": string("NAME", "name of this machine in the organisation's list; the host name is never sent"),
} as const;

/** Their values. */
export type SecretValues = Values<typeof SECRET_FLAGS>;

/** The secrets that a login gets. */
export interface LoginSecrets {
  readonly enrollKey?: EnrollKeyText | undefined;
  readonly token?: string | undefined;
  readonly deviceName?: string | undefined;
}

/** Whether a command line names a secret, so that no person has to confirm the login. */
export function namesSecret(flags: SecretValues): boolean {
  return [flags["enroll-key"], flags.token].some((value) => value?.trim());
}

/**
 * Reads them, from stdin where they say `-`.
 * @param isLocal whether this machine's local authority is asked, which takes no enrolment key
 * @throws UsageError where a value is not to be written there, or stdin is a terminal; ValueError where stdin has no
 *   line, or more, or what it has is not an enrolment key, or there is no organisation; CancelledError, OSError
 */
export async function readSecrets(flags: SecretValues, isLocal: boolean, signal: AbortSignal): Promise<LoginSecrets> {
  const { "enroll-key": enrollKey, token, "device-name": name } = flags;
  const deviceName = name === undefined ? undefined : asUsage(() => checkDeviceName(name));
  if (enrollKey === undefined) return { deviceName, token: await readToken(token, signal) };
  // The value is not quoted: it may be a key, and errors are logged.
  if (enrollKey !== "-")
    throw new UsageError("--enroll-key takes only -, and the key from stdin: others can see a command's arguments");
  if (token !== undefined) throw new UsageError("--enroll-key and --token exclude each other");
  if (isLocal) {
    const how = "name it with --authority URL and --license-pubkey, or log in there once";
    throw new ValueError(`--enroll-key is for an organisation's authority: ${how}`);
  }
  return { deviceName, enrollKey: givenEnrollKey(await readSecret("--enroll-key", "key", signal)) };
}

/** The value itself is taken too, though other users could see it: older scripts have it. */
async function readToken(flag: string | undefined, signal: AbortSignal): Promise<string | undefined> {
  if (flag === undefined || flag === "-") return flag && readSecret("--token", "token", signal);
  note("note: other users of this machine can see --token in its list of processes; '--token -' reads it from stdin");
  return flag;
}

/** The only line of stdin. */
async function readSecret(flag: string, what: string, signal: AbortSignal): Promise<string> {
  if (isTerminal(0)) throw new UsageError(`${flag} - reads the ${what} from stdin, which is a terminal here: pipe it`);
  const text = await readLine(flag, signal);
  if (text === "") throw new ValueError(`${flag} -: stdin is empty, one line with the ${what} is expected`);
  return text;
}

/** The first line of stdin, trimmed; what follows it may only be white space, as far as it is there already. */
async function readLine(flag: string, signal: AbortSignal): Promise<string> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of readChunks("-", signal)) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > SECRET_BYTES_MAX)
      throw new ValueError(`${flag} -: stdin holds more than ${SECRET_BYTES_MAX} bytes, one line is expected`);
    // A pipe that stays open is not waited for.
    if (/\S\s*\n/.test(text)) break;
  }
  const line = text.trim();
  if (line.includes("\n")) throw new ValueError(`${flag} -: stdin holds more than one line`);
  return line;
}

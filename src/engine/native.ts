/** The way to the native libraries for everything that opens a memory: logged in, runtime verified, both mapped once a process. */
import { requireLogin } from "../account/credentials.ts";
import { type Env, svcHome } from "../paths.ts";
import { loadVerified } from "../runtime/load.ts";
import { type Native, openNative } from "../runtime/native.ts";

export type { Native } from "../runtime/native.ts";

/** Whose home, and who is told what a person should know though nothing fails: a licence about to expire, a clock gone back. */
export interface GateOptions {
  readonly env?: Env | undefined;
  readonly warn?: ((line: string) => void) | undefined;
}

const opened = new Map<string, Promise<Native>>();

/**
 * The verified libraries, mapped; the same ones for every call of this process with the same home.
 * @throws PermissionError if not logged in or the licence is not good; RuntimeError if the native runtime is missing or is not
 * what was signed; the message says which command mends it
 */
export function verifiedNative(options: GateOptions = {}): Promise<Native> {
  const home = svcHome(options.env);
  let native = opened.get(home);
  if (!native) {
    native = open(home, options);
    opened.set(home, native);
    // A failure is not kept: the next try comes when somebody has logged in.
    native.catch(() => opened.delete(home));
  }
  return native;
}

async function open(home: string, { env = process.env, warn }: GateOptions): Promise<Native> {
  const login = await requireLogin(home, env);
  for (const warning of login.warnings) warn?.(warning);
  // It is the licence that has just been verified: once a process is enough.
  const checkLicense = async () => login.license;
  const runtime = await loadVerified({ home, env, license: login.jwt, checkLicense });
  const native = openNative(runtime);
  // Both libraries are mapped by now; the sealed files they came from are not needed any more.
  runtime.close();
  return native;
}

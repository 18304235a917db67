/** Opening a page in the user's browser, without a shell. */
import { type Env, programFolders } from "../../paths.ts";

/**
 * The program that opens addresses in a browser of this machine's desktop, by its absolute path. Undefined where there is no program, or no
 * desktop that a browser could appear on.
 */
export function findBrowser(env: Env, platform: string = process.platform): string | undefined {
  const PATH = programFolders(env).join(":");
  for (const name of openers(env, platform)) {
    const found = Bun.which(name, { PATH });
    if (found) return found;
  }
  return undefined;
}

function openers(env: Env, platform: string): string[] {
  if (platform === "darwin") return ["open"];
  // WSL2 seldom has xdg-open, which would look for a browser on the Linux side; wslview takes the one of Windows.
  if (env.WSL_DISTRO_NAME || env.WSL_INTEROP) return ["wslview", "xdg-open"];
  // Without a desktop xdg-open takes a text browser, which would fight with this process for the terminal.
  return env.DISPLAY || env.WAYLAND_DISPLAY ? ["xdg-open"] : [];
}

/**
 * Starts `opener` with an address and does not wait for it. The address was checked to be https, or http on loopback:
 * an opener would as well start a program for another scheme.
 * @param onFailed is called once where it does not start, or ends with an error while this process lives
 */
export function openBrowser(opener: string, address: string, onFailed: () => void): void {
  try {
    // In a session of its own: Ctrl-C in this terminal must not end a browser, nor may one read from it.
    const child = Bun.spawn([opener, address], {
      env: process.env,
      stdio: ["ignore", "ignore", "ignore"],
      detached: true,
    });
    child.unref();
    child.exited.then((code) => code === 0 || onFailed(), onFailed);
  } catch {
    onFailed();
  }
}

/** Opening a page in the user's browser. */

/**
 * Starts the system's opener and does not wait for it. The address was checked to be https, or http on loopback: an
 * opener would as well start a program for another scheme.
 * @returns whether there was an opener to start
 */
export function openBrowser(address: string): boolean {
  // A CI machine has no user at a screen.
  if (process.env.CI) return false;
  const opener = process.platform === "darwin" ? "open" : "xdg-open";
  if (!Bun.which(opener)) return false;
  try {
    // In a session of its own: without a desktop xdg-open would start a text browser, which must not take over this
    // terminal.
    const child = Bun.spawn([opener, address], { stdio: ["ignore", "ignore", "ignore"], detached: true });
    child.unref();
    return true;
  } catch {
    return false;
  }
}

/** This machine's local authority, which runs for as long as a login takes. */
import type { Endpoints } from "../../trust/account/trusted/endpoints.ts";

/**
 * Runs a login against it.
 * @param approve `yes` approves at once, `browser` waits for a person on its page
 * @throws as `startAuthority`, and what `action` throws
 */
export async function withLocalAuthority<T>(
  home: string,
  approve: "yes" | "browser",
  action: (endpoints: Endpoints) => Promise<T>,
): Promise<T> {
  const { startAuthority } = await import("../../trust/authority/server/server.ts");
  const authority = await startAuthority({ home, approve, privateApi: true });
  try {
    return await action({ accounts: authority.apiUrl, api: authority.apiUrl });
  } finally {
    await authority.stop();
  }
}

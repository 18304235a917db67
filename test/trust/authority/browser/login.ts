/** `svc login` of the compiled executable, waiting in a terminal for a person at a browser. */
import { mkdirSync, writeFileSync } from "node:fs";
import { authorityPaths } from "../../../../src/paths.ts";
import { Screen } from "../../../cli/terminal.ts";
import { SVC } from "../../../e2e/home.ts";
import { LICENSE_KEY_PEM, newHome } from "../../account/helpers.ts";

export interface Waiting extends Disposable {
  readonly screen: Screen;
  /** The page with the code filled in, the page without, and the code. */
  readonly link: string;
  readonly page: string;
  readonly code: string;
}

/** Starts it in a home of its own, which has a LICENSE key: making one takes a second. */
export async function waitingLogin(): Promise<Waiting> {
  const home = newHome();
  const paths = authorityPaths(home);
  mkdirSync(paths.dir, { mode: 0o700 });
  writeFileSync(paths.licenseKey, LICENSE_KEY_PEM, { mode: 0o600 });
  const screen = new Screen([SVC, "login", "--no-browser", "--no-install"], { SVC_HOME: home });
  try {
    await screen.until(/Ctrl-C stops/);
    const [, code = ""] = await screen.until(/code: (\S+)/);
    const [, link = "", page = ""] = await screen.until(
      /address: ((http:\/\/127\.0\.0\.1:\d+\/device)\?user_code=\S+)/,
    );
    return { screen, link, page, code, [Symbol.dispose]: () => screen[Symbol.dispose]() };
  } catch (error) {
    screen[Symbol.dispose]();
    throw error;
  }
}

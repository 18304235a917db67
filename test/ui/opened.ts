/** `svc ui` on a real memory, as one browser sees it. */
import { LocalStore } from "../../src/api/local-store.ts";
import type { LocalParts, Site } from "../../src/ui/memory/site.ts";
import { Lifetime } from "../../src/ui/server/lifetime.ts";
import { type RunningUi, startUi } from "../../src/ui/server/server.ts";
import { native, type TestMemory } from "../fixture.ts";
import { closedAtEnd } from "../opened.ts";

/** No page of a test is left for long. */
const NEVER_MS = 3_600_000;

/** The parts of a memory of this machine. */
export function localParts(m: TestMemory, health: LocalParts["health"] = async () => []): LocalParts {
  return {
    overview: () => m.memory.overview(),
    terminal: () => m.memory.terminal(),
    repositories: () => m.repos(),
    health,
    async withStore(work) {
      const store = await openLocal(m.dir);
      try {
        return await work(store);
      } finally {
        await store.close();
      }
    },
  };
}

async function openLocal(dir: string): Promise<LocalStore> {
  return new LocalStore(dir, await native(), "0.0.0-test");
}

/** A browser with its cookie, without a window. */
export class Browsing {
  private constructor(
    readonly ui: RunningUi,
    readonly origin: string,
    readonly cookie: string,
  ) {}

  static async of(ui: RunningUi): Promise<Browsing> {
    const { origin } = new URL(ui.address);
    const entered = await fetch(ui.address, { redirect: "manual" });
    return new Browsing(ui, origin, entered.headers.get("set-cookie")!.split(";")[0]!);
  }

  /** A page. */
  async get(path: string): Promise<{ status: number; body: string; response: Response }> {
    const response = await fetch(this.origin + path, { headers: { cookie: this.cookie }, redirect: "manual" });
    return { status: response.status, body: await response.text(), response };
  }

  /** Sends a form. A redirect is followed, as a browser does. */
  async post(
    path: string,
    fields: Record<string, string> | FormData,
  ): Promise<{ status: number; body: string; path: string }> {
    const body = fields instanceof FormData ? fields : new URLSearchParams(fields);
    const headers = { cookie: this.cookie, origin: this.origin };
    const response = await fetch(this.origin + path, { method: "POST", body, headers, redirect: "manual" });
    if (response.status !== 303) return { status: response.status, body: await response.text(), path };
    const to = response.headers.get("location")!;
    return { ...(await this.get(to)), path: to };
  }
}

/** The pages of a memory, closed at the end of the test or of the file. Without one `more` has the verbs of another. */
export function opening(m: TestMemory | undefined, more: Partial<Site> = {}): RunningUi {
  const own = m && { verbs: m.memory, local: localParts(m), memory: m.dir };
  const site = { ...own, readOnly: false, now: Date.now, ...more } as Site;
  const ui = startUi(site, { lifetime: new Lifetime(NEVER_MS, NEVER_MS) });
  closedAtEnd({ close: () => ui.stop() });
  return ui;
}

/** The same, entered by one browser. */
export async function browsing(m: TestMemory | undefined, more: Partial<Site> = {}): Promise<Browsing> {
  return Browsing.of(opening(m, more));
}

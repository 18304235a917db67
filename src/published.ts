/** The names under which svc is published. A fork changes them here. */

/** The project's page. */
export const PROJECT_URL = "https://github.com/svc-memory/svc";

/**
 * Where the files of releases are: `<RELEASES_URL>/download/v<version>/<file>`, and those of the newest one at
 * `<RELEASES_URL>/latest/download/<file>`.
 */
export const RELEASES_URL = `${PROJECT_URL}/releases`;

/** The scope of the npm packages; `svc` alone is taken. */
export const NPM_SCOPE = "@svc-memory";

/** The npm package with the command `svc`. */
export const NPM_PACKAGE = `${NPM_SCOPE}/svc`;

/** The tap of Homebrew, `<owner>/homebrew-tap` on GitHub: `brew install <HOMEBREW_TAP>/svc`. */
export const HOMEBREW_TAP = "svc-memory/tap";

/** The npm package of the TypeScript client. */
export const NPM_CLIENT = `${NPM_SCOPE}/client`;

/** The npm package of the SDK: the client and the store. */
export const NPM_SDK = `${NPM_SCOPE}/sdk`;

/** The Python client's name among Python's packages; it is imported as `svc`. */
export const PYPI_PACKAGE = "svc-memory";

/** The name in the registry of MCP servers: a name in reverse order of its parts, and the server's. */
export const REGISTRY_NAME = "io.github.svc-memory/svc";

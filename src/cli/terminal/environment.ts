/**
 * The first import of the executable: takes variables out of the environment that Bun reads later than it starts, at a
 * request. Those that act before any code of ours are closed by the build (src/build/bun-names.ts).
 *
 * What svc starts gets `process.env` and not, as Bun does by itself, the environment that svc was started with.
 */

/** Cleared variables, and what each would do to a request. */
const CLEARED = [
  "BUN_CONFIG_VERBOSE_FETCH", // prints it to stderr, the bearer token of an authority in it
  "NODE_TLS_REJECT_UNAUTHORIZED", // takes any certificate for the authority's; SSL_CERT_FILE and NODE_EXTRA_CA_CERTS stay
];

for (const name of CLEARED) {
  if (process.env[name] === undefined) continue;
  process.env[name] = ""; // what Bun has read of it already changes with a value only
  delete process.env[name];
}

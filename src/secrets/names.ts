/**
 * Files that hold credentials, by name: an index copies texts to another place on disk and to agents, so such a file is
 * never opened. A template (`.env.example`) counts too: a simple rule is worth more than its placeholders. Those that
 * only their content shows are in `secret-content.ts`.
 */

/** File names in lower case; `*` stands for anything. */
// biome-ignore format: a list of names reads best packed
const NAMES = [
  ".env*", "*.env", ".envrc", ".netrc", "_netrc", ".npmrc", ".yarnrc.yml", ".pypirc", ".pgpass", ".my.cnf",
  ".mylogin.cnf", ".git-credentials", ".htpasswd", ".dockercfg", ".boto", ".s3cfg", ".vault-token", ".terraformrc",
  "*.tfstate", "*.tfstate.*", "*.pem", "*.key", "*.p12", "*.pfx", "*.p8", "*.pkcs12", "*.jks", "*.keystore", "*.bks",
  "*.ppk", "*.kdb", "*.kdbx", "*.ovpn", "id_rsa*", "id_dsa*",
  "id_ecdsa*", "id_ed25519*", "ssh_host_*_key", "credentials", "credentials.json",
  "credentials.*.json", "credentials*.json", "*-credentials.json", "*_credentials.json", "service-account*.json",
  "service_account*.json", "serviceaccount*.json", "client_secret*.json", "secrets.json", "secrets.yml", "secrets.yaml",
  "secrets.toml", "secrets.env", "master.key", "login_license.jwt", "kubeconfig",
];

/** Directories whose every file counts. */
const DIRECTORIES = new Set([".ssh", ".gnupg", ".aws", ".azure", ".gcloud", ".password-store"]);

/** Names that count only in their directory: a `.docker/` may also hold only build recipes. */
const PATHS = [".docker/config.json", ".kube/config", ".config/gh/hosts.yml", ".cargo/credentials.toml"];

// Every file is asked about in every call: one expression of all names took three times as long.
const WHOLE = new Set(NAMES.filter((name) => !name.includes("*")));
const EXTENSIONS = new Set(NAMES.filter((name) => /^\*\.\w+$/.test(name)).map((name) => name.slice(1)));
const OTHERS = new RegExp(
  `^(?:${NAMES.filter((name) => name.includes("*") && !EXTENSIONS.has(name.slice(1)))
    .map((name) => name.replace(/[.+?^$()[\]{}|\\]/g, "\\$&").replaceAll("*", ".*"))
    .join("|")})$`,
  "s",
);

/**
 * Whether a `/`-separated path names credentials. Case is ignored, as on some file systems.
 */
export function isSecret(path: string): boolean {
  const lower = path.toLowerCase();
  const name = lower.slice(lower.lastIndexOf("/") + 1);
  const extension = name.slice(Math.max(0, name.lastIndexOf(".")));
  if (WHOLE.has(name) || EXTENSIONS.has(extension) || OTHERS.test(name)) return true;
  // All of the directories begin with a dot.
  if (!lower.startsWith(".") && !lower.includes("/.")) return false;
  if (
    lower
      .split("/")
      .slice(0, -1)
      .some((part) => DIRECTORIES.has(part))
  )
    return true;
  return PATHS.some((known) => lower.endsWith(known) && (lower === known || lower.at(-known.length - 1) === "/"));
}

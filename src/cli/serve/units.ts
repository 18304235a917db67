/** What service managers need to run `svc serve`: texts of files. No secret is in them. */
import { dirname } from "node:path";

/** How the server is to be started. */
export interface Service {
  readonly program: string;
  /** The program's arguments. */
  readonly words: readonly string[];
  /** Where it listens. */
  readonly listen: { readonly socketPath: string } | { readonly host: string; readonly port: number };
  /** The folders that it writes to, the memory first. */
  readonly writes: readonly string[];
  /** SVC_HOME. */
  readonly home: string;
}

/** A file to make. */
export interface UnitFile {
  readonly path: string;
  readonly text: string;
}

/** A service and a socket that stays open while the service is stopped, started and upgraded. */
export function systemdUnits({ program, words, listen, writes, home }: Service): UnitFile[] {
  const isUnix = "socketPath" in listen;
  const where = isUnix ? listen.socketPath : `${bracketed(listen.host)}:${listen.port}`;
  const folders = writes.filter((folder) => folder !== home && !folder.startsWith(`${home}/`));
  const isInHome = /^\/(home|root)\//.test(program);
  const service = [
    "# Once: useradd --system --home-dir /var/lib/svc svc",
    "#       install -d -o svc -g svc -m 700 /var/lib/svc",
    "#       sudo -u svc env SVC_HOME=/var/lib/svc svc login --yes",
    ...(isUnix
      ? []
      : [`# People: sudo -u svc env SVC_HOME=${quoted(home)} svc ${peopleCommand(words, listen, quoted(writes[0]!))}`]),
    "# Start:  systemctl daemon-reload && systemctl enable --now svc.socket",
    "# Upgrade: replace the program by renaming, then: systemctl kill --kill-whom=main --signal=USR2 svc.service",
    "[Unit]",
    "Description=svc memory for other processes",
    "Requires=svc.socket",
    "After=svc.socket",
    "",
    "[Service]",
    `ExecStart=${[program, ...words].map(quoted).join(" ")}`,
    "ExecReload=/bin/kill -HUP $MAINPID",
    "Restart=on-failure",
    "User=svc",
    "Group=svc",
    `Environment=SVC_HOME=${quoted(home)}`,
    "StateDirectory=svc",
    "StateDirectoryMode=0700",
    "UMask=0077",
    "NonBlocking=true",
    "LimitNOFILE=65536",
    "TimeoutStopSec=60",
    "NoNewPrivileges=true",
    "CapabilityBoundingSet=",
    "PrivateTmp=true",
    "PrivateDevices=true",
    "ProtectSystem=strict",
    `ProtectHome=${isInHome ? "read-only" : "true"}`,
    ...folders.map((folder) => `ReadWritePaths=${quoted(folder)}`),
    "ProtectClock=true",
    "ProtectControlGroups=true",
    "ProtectHostname=true",
    "ProtectKernelLogs=true",
    "ProtectKernelModules=true",
    "ProtectKernelTunables=true",
    "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6",
    "RestrictNamespaces=true",
    "RestrictRealtime=true",
    "RestrictSUIDSGID=true",
    "LockPersonality=true",
    "",
    "[Install]",
    "WantedBy=multi-user.target",
  ];
  const socket = [
    "[Unit]",
    "Description=the socket of svc",
    "",
    "[Socket]",
    `ListenStream=${where.replaceAll("%", "%%")}`,
    ...(isUnix ? ["SocketMode=0600", "SocketUser=svc", "SocketGroup=svc"] : ["NoDelay=true"]),
    "",
    "[Install]",
    "WantedBy=sockets.target",
  ];
  return [
    { path: "/etc/systemd/system/svc.service", text: linesOf(service) },
    { path: "/etc/systemd/system/svc.socket", text: linesOf(socket) },
  ];
}

/** An agent of the user who is logged in. @param userHome its home folder */
export function launchdAgent({ program, words, home }: Service, userHome: string): UnitFile[] {
  const path = `${userHome}/Library/LaunchAgents/svc.serve.plist`;
  const log = `${userHome}/Library/Logs/svc-serve.log`;
  const plist = [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">',
    '<plist version="1.0">',
    "<dict>",
    "  <key>Label</key>",
    "  <string>svc.serve</string>",
    "  <key>ProgramArguments</key>",
    "  <array>",
    ...[program, ...words].map((word) => `    <string>${escaped(word)}</string>`),
    "  </array>",
    "  <key>EnvironmentVariables</key>",
    "  <dict>",
    "    <key>SVC_HOME</key>",
    `    <string>${escaped(home)}</string>`,
    "  </dict>",
    "  <key>RunAtLoad</key>",
    "  <true/>",
    "  <key>KeepAlive</key>",
    "  <dict>",
    "    <key>SuccessfulExit</key>",
    "    <false/>",
    "  </dict>",
    "  <key>ExitTimeOut</key>",
    "  <integer>60</integer>",
    "  <key>Umask</key>",
    "  <integer>63</integer>",
    "  <key>StandardErrorPath</key>",
    `  <string>${escaped(log)}</string>`,
    "</dict>",
    "</plist>",
  ];
  return [{ path, text: linesOf(plist) }];
}

/** An image without a shell, whose process is not root and writes to one volume only. */
export function containerFile({ words, listen, home }: Service): UnitFile[] {
  const data = dirname(home);
  const ports = "port" in listen ? [listen.port] : [];
  const publish = ports.map((port) => `-p ${port}:${port} `).join("");
  const run = `docker run --read-only --cap-drop ALL --security-opt no-new-privileges --tmpfs /tmp -v svc:${data}`;
  const file = [
    "# Put this file next to the svc of Linux (glibc), then:",
    "#   docker build -t svc -f Containerfile .",
    `#   ${run} svc login --yes`,
    `#   ${run} svc ${peopleCommand(words, listen, `${data}/memory`)}`,
    `#   ${run} ${publish}svc`,
    "FROM busybox:stable AS folders",
    `RUN mkdir -m 700 ${data}`,
    "",
    "FROM gcr.io/distroless/cc-debian12:nonroot",
    `COPY --from=folders --chown=65532:65532 ${data} ${data}`,
    "COPY --chmod=0755 svc /usr/local/bin/svc",
    `ENV SVC_HOME=${home}`,
    "USER 65532:65532",
    `VOLUME ${data}`,
    ...ports.map((port) => `EXPOSE ${port}`),
    "STOPSIGNAL SIGTERM",
    'ENTRYPOINT ["/usr/local/bin/svc"]',
    `CMD ${JSON.stringify(words)}`,
  ];
  return [{ path: "Containerfile", text: linesOf(file) }];
}

/**
 * What gives a person access: an invitation with the fingerprint of the server's own certificate, else a token.
 * @param memory the server's folder, as a word of the shell
 */
function peopleCommand(words: readonly string[], listen: Service["listen"], memory: string): string {
  const port = "port" in listen ? listen.port : undefined;
  const hasOwnCertificate = words.includes("--tls") && port !== undefined;
  const what = hasOwnCertificate ? `serve invite NAME --address HOST:${port}` : "serve token add NAME";
  return `${what} --path ${memory}`;
}

/** A word of systemd: specifiers and variables are taken literally. */
function quoted(word: string): string {
  const literal = word.replaceAll("%", "%%").replaceAll("$", "$$$$");
  return /^[\w@%+=:,./$-]+$/.test(literal) ? literal : `"${literal.replace(/["\\]/g, "\\$&")}"`;
}

function bracketed(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function linesOf(lines: readonly string[]): string {
  return `${lines.join("\n")}\n`;
}

/** The baseline of `ping`: writes back what comes, at a Unix socket or at a port that it sends by IPC. */
import { rmSync } from "node:fs";

const [path] = process.argv.slice(2);
const socket = { data: (from: Bun.Socket, chunk: Buffer) => void from.write(chunk) };
if (path) rmSync(path, { force: true });
const listener = path ? Bun.listen({ unix: path, socket }) : Bun.listen({ hostname: "127.0.0.1", port: 0, socket });
process.send!(path ? `unix://${path}` : `tcp://127.0.0.1:${(listener as Bun.TCPSocketListener).port}`);

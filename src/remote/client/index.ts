/** The npm package of the client: what a program imports. */

export type * from "../../api/api.ts";
export { Eq, scopeKey } from "../../api/eq.ts";
export {
  ArgumentTypeError,
  CancelledError,
  type ErrorType,
  KeyError,
  OSError,
  PermissionError,
  RuntimeError,
  SvcError,
  TimeoutError,
  ValueError,
} from "../../errors.ts";
export { type ConnectOptions, connect, RemoteTelys, type ServerStats } from "./client.ts";
export { RemoteCollection } from "./collection.ts";

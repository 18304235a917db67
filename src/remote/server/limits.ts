/** A server's bounds that its operator can set; src/limits.ts has the defaults and their reasons. */
import {
  AUTH_TIMEOUT_S,
  BUFFERED_BYTES_MAX,
  CONNECTIONS_MAX,
  FRAME_TIMEOUT_S,
  IDLE_TIMEOUT_S,
  IN_FLIGHT_MAX,
  READER_TIMEOUT_S,
  UNAUTHENTICATED_MAX,
} from "../../limits.ts";

/** The bounds of an operator who sets none. */
export function defaultLimits(isTcp: boolean) {
  return {
    connectionsMax: CONNECTIONS_MAX,
    unauthenticatedMax: UNAUTHENTICATED_MAX,
    inFlightMax: IN_FLIGHT_MAX,
    bufferedBytesMax: BUFFERED_BYTES_MAX,
    authTimeoutS: AUTH_TIMEOUT_S,
    frameTimeoutS: FRAME_TIMEOUT_S,
    readerTimeoutS: READER_TIMEOUT_S,
    /** 0: never. */
    idleTimeoutS: isTcp ? IDLE_TIMEOUT_S : 0,
  };
}

export type Limits = ReturnType<typeof defaultLimits>;

/** The bounds of a server that its operator can move; the defaults have their reasons beside them in limits.ts of the common floor. */
import {
  AUTH_TIMEOUT_S,
  BUFFERED_BYTES_MAX,
  CONNECTIONS_MAX,
  FRAME_TIMEOUT_S,
  IDLE_TIMEOUT_S,
  IN_FLIGHT_MAX,
  READER_TIMEOUT_S,
  UNAUTHENTICATED_MAX,
} from "../limits.ts";

/** What holds where the operator says nothing. */
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

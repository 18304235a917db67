/* How long a process may take after a signal. */
#include "os/stop.h"

#include <inttypes.h>
#include "calls/calls.h"

#define MILLISECONDS_MAX 60000u

ty_status ty_stop_after_signal(uint64_t milliseconds, uint64_t code, const uint8_t *message, uint64_t bytes,
                               ty_error *err) {
  if (milliseconds < 1 || milliseconds > MILLISECONDS_MAX)
    return ty_fail(err, TY_INVALID, "%" PRIu64 " milliseconds: allowed are 1 to %u", milliseconds, MILLISECONDS_MAX);
  if (code > 255) return ty_fail(err, TY_INVALID, "an exit status of %" PRIu64 ": allowed are 0 to 255", code);
  if (bytes > TY_STOP_BYTES)
    return ty_fail(err, TY_INVALID, "a message of %" PRIu64 " bytes: allowed are %u", bytes, TY_STOP_BYTES);
  int result = ty_stop_set(milliseconds, (uint8_t)code, message, (size_t)bytes);
  return result == 0 ? TY_OK : ty_fail(err, TY_STATE, "signals cannot be handled: errno %d", -result);
}

/* How many rows were created on each day. */
#include <string.h>

#include "calls/calls.h"
#include "state/state.h"

#define DAY_MS 86400000u

static void count(const ty_segment *s, const ty_days_args *args) {
  for (uint64_t at = 0; at < s->count; at++) {
    if (s->dead[at]) continue;
    uint64_t day = ty_row_times(s, at).created / DAY_MS;
    args->out[day < args->n ? day : args->n - 1]++;
  }
}

ty_status ty_days(ty_collection *c, ty_days_args *args, ty_error *err) {
  if (args->n == 0 || args->n > SIZE_MAX / sizeof *args->out)
    return ty_fail(err, TY_INVALID, "n is %llu, but has to be at least 1 and fit into memory",
                   (unsigned long long)args->n);
  ty_status status = ty_enter(c, err);
  if (status != TY_OK) return status;
  memset(args->out, 0, (size_t)args->n * sizeof *args->out);
  count(&c->base, args);
  count(&c->delta, args);
  return ty_leave(c, TY_OK, err);
}

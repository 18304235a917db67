/* The validator's errors. */
#include "validate.h"

#include <stdarg.h>
#include <stdio.h>

ty_status ty_invalid(ty_error *err, const char *format, ...) {
  char what[256];
  va_list args;
  va_start(args, format);
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  return ty_fail(err, TY_CORRUPT, "the open collection is inconsistent: %s", what);
}

ty_status ty_invalid_memory(ty_error *err) { return ty_fail(err, TY_NO_MEMORY, "out of memory to check the rows"); }

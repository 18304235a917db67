#include "os/fail.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void fill(ty_error *err, ty_status status, int sys_errno, const char *format, va_list args) {
  if (err == NULL) return;
  err->status = (int32_t)status;
  err->sys_errno = sys_errno;
  int n = vsnprintf(err->message, sizeof err->message, format, args);
  if (n < 0) err->message[0] = 0;
  if (n < (int)sizeof err->message) return;
  /* Cut off: step back over a character that lost its tail. */
  size_t end = sizeof err->message - 1;
  size_t start = end;
  while (start > 0 && ((uint8_t)err->message[start - 1] & 0xc0) == 0x80) start--;
  if (start == 0) return;
  uint8_t lead = (uint8_t)err->message[start - 1];
  size_t need = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  if (end - (start - 1) < need) err->message[start - 1] = 0;
}

ty_status ty_fail(ty_error *err, ty_status status, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fill(err, status, 0, format, args);
  va_end(args);
  return status;
}

static ty_status fail_sys(ty_error *err, int sys_errno, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fill(err, TY_IO, sys_errno, format, args);
  va_end(args);
  return TY_IO;
}

/* strerror may share one buffer between threads, and strerror_r has two incompatible forms. */
static const char *text_of(int code, char *buffer, size_t bytes) {
#if defined(__GLIBC__) && defined(_GNU_SOURCE)
  return strerror_r(code, buffer, bytes);
#else
  if (strerror_r(code, buffer, bytes) != 0) snprintf(buffer, bytes, "error %d", code);
  return buffer;
#endif
}

ty_status ty_fail_io(ty_error *err, int negative_errno, const char *what, const char *name) {
  int code = -negative_errno;
  if (code == ENOMEM) return ty_fail(err, TY_NO_MEMORY, "cannot %s %s: out of memory", what, name);
  if (code == ENOSPC || code == EDQUOT) return fail_sys(err, code, "cannot %s %s: the disk is full", what, name);
  char buffer[128];
  return fail_sys(err, code, "cannot %s %s: %s", what, name, text_of(code, buffer, sizeof buffer));
}

bool ty_mul(uint64_t a, uint64_t b, uint64_t *out) { return !__builtin_mul_overflow(a, b, out); }
bool ty_add(uint64_t a, uint64_t b, uint64_t *out) { return !__builtin_add_overflow(a, b, out); }

bool ty_all_zero(const void *bytes, uint64_t n) {
  uint8_t any = 0;
  for (uint64_t i = 0; i < n; i++) any |= ((const uint8_t *)bytes)[i];
  return any == 0;
}

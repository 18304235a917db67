#include "os/fail.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "os/os.h"

/* Ends a message of `end` bytes, which was cut off, before a character that lost its tail. */
static void drop_cut_character(char *message, size_t end) {
  size_t start = end;
  while (start > 0 && ((uint8_t)message[start - 1] & 0xc0) == 0x80) start--;
  if (start == 0) return;
  uint8_t lead = (uint8_t)message[start - 1];
  size_t need = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  if (end - (start - 1) < need) message[start - 1] = 0;
}

ty_status ty_fail(ty_error *err, ty_status status, const char *format, ...) {
  if (err == NULL) return status;
  va_list args;
  va_start(args, format);
  err->status = (int32_t)status;
  err->sys_errno = 0;
  int n = vsnprintf(err->message, sizeof err->message, format, args);
  va_end(args);
  if (n < 0) err->message[0] = 0;
  if (n >= (int)sizeof err->message) drop_cut_character(err->message, sizeof err->message - 1);
  return status;
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

static const char *kind_text(int kind) {
  switch (kind) {
  case TY_KIND_FOLDER: return "a folder";
  case TY_KIND_LINK: return "a link";
  case TY_KIND_FIFO: return "a FIFO";
  case TY_KIND_SOCKET: return "a socket";
  default: return "a device";
  }
}

ty_status ty_fail_io(ty_error *err, int negative_errno, const char *what, const char *name) {
  int code = -negative_errno;
  char buffer[128];
  if (code > TY_NOT_REGULAR) {
    ty_fail(err, TY_CORRUPT, "%s: it is %s, not a regular file", name, kind_text(code - TY_NOT_REGULAR));
    if (err != NULL) err->sys_errno = code;
    return TY_CORRUPT;
  }
  if (code == ENOMEM) return ty_fail(err, TY_NO_MEMORY, "cannot %s %s: out of memory", what, name);
  bool full = code == ENOSPC || code == EDQUOT;
  ty_fail(err, TY_IO, "cannot %s %s: %s", what, name, full ? "the disk is full" : text_of(code, buffer, sizeof buffer));
  if (err != NULL) err->sys_errno = code;
  return TY_IO;
}

bool ty_mul(uint64_t a, uint64_t b, uint64_t *out) { return !__builtin_mul_overflow(a, b, out); }
bool ty_add(uint64_t a, uint64_t b, uint64_t *out) { return !__builtin_add_overflow(a, b, out); }

bool ty_all_zero(const void *bytes, uint64_t n) {
  uint8_t any = 0;
  for (uint64_t i = 0; i < n; i++) any |= ((const uint8_t *)bytes)[i];
  return any == 0;
}

/* Failure, checked sizes, progress, a growing buffer, LEB128. */
#include "internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
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

bool ty_cancelled(const ty_progress *progress) {
  return progress != NULL && __atomic_load_n(&progress->cancel, __ATOMIC_RELAXED) != 0;
}

void ty_progress_set(ty_progress *progress, uint64_t done, uint64_t total) {
  if (progress == NULL) return;
  __atomic_store_n(&progress->total, total, __ATOMIC_RELAXED);
  __atomic_store_n(&progress->done, done, __ATOMIC_RELAXED);
}

static bool room(ty_buffer *b, uint64_t more) {
  uint64_t need;
  if (b->failed || !ty_add(b->bytes, more, &need)) goto fail;
  if (need <= b->capacity) return true;
  uint64_t capacity = b->capacity < 64 ? 64 : b->capacity;
  while (capacity < need) {
    if (!ty_mul(capacity, 2, &capacity)) goto fail;
  }
  if (capacity > SIZE_MAX / 2) goto fail;
  uint8_t *data = realloc(b->data, (size_t)capacity);
  if (data == NULL) goto fail;
  b->data = data;
  b->capacity = capacity;
  return true;
fail:
  b->failed = true;
  return false;
}

void ty_buffer_append(ty_buffer *b, const void *data, uint64_t bytes) {
  if (bytes == 0 || !room(b, bytes)) return;
  memcpy(b->data + b->bytes, data, (size_t)bytes);
  b->bytes += bytes;
}

void ty_buffer_align(ty_buffer *b, uint64_t alignment) {
  uint64_t pad = (alignment - b->bytes % alignment) % alignment;
  if (pad == 0 || !room(b, pad)) return;
  memset(b->data + b->bytes, 0, (size_t)pad);
  b->bytes += pad;
}

void ty_buffer_free(ty_buffer *b) {
  free(b->data);
  *b = (ty_buffer){0};
}

uint64_t ty_leb_put(uint8_t *out, uint64_t value) {
  uint64_t n = 0;
  while (value >= 0x80) {
    out[n++] = (uint8_t)(value | 0x80);
    value >>= 7;
  }
  out[n++] = (uint8_t)value;
  return n;
}

bool ty_leb_get(const uint8_t **at, const uint8_t *end, uint64_t *value) {
  uint64_t result = 0;
  const uint8_t *p = *at;
  for (unsigned shift = 0; shift < 64 && p < end; shift += 7) {
    uint8_t byte = *p++;
    if (shift == 63 && byte > 1) return false;
    result |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) {
      *at = p;
      *value = result;
      return true;
    }
  }
  return false;
}

/* A value is checked once as a whole; the functions that take it apart rely on that. */
#include "disk/json.h"

#include <string.h>

#include "os/fail.h"

static const uint8_t *space(const uint8_t *p, const uint8_t *end) {
  while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r')) p++;
  return p;
}

static bool is_digit(uint8_t c) { return c >= '0' && c <= '9'; }

static int hex_digit(uint8_t c) {
  if (is_digit(c)) return c - '0';
  c |= 0x20;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Each skip_ function returns the end of what it read, or NULL. */
static const uint8_t *skip_string(const uint8_t *p, const uint8_t *end) {
  if (p >= end || *p != '"') return NULL;
  for (p++; p < end; p++) {
    if (*p == '"') return p + 1;
    if (*p < 0x20) return NULL;
    if (*p != '\\') continue;
    if (++p >= end) return NULL;
    if (*p == 'u') {
      if (end - p < 5) return NULL;
      for (int i = 1; i <= 4; i++) {
        if (hex_digit(p[i]) < 0) return NULL;
      }
      p += 4;
    } else if (*p == 0 || strchr("\"\\/bfnrt", *p) == NULL) {
      return NULL;
    }
  }
  return NULL;
}

static const uint8_t *skip_number(const uint8_t *p, const uint8_t *end) {
  if (p < end && *p == '-') p++;
  if (p >= end || !is_digit(*p)) return NULL;
  if (*p == '0') p++;
  else
    while (p < end && is_digit(*p)) p++;
  if (p < end && *p == '.') {
    p++;
    if (p >= end || !is_digit(*p)) return NULL;
    while (p < end && is_digit(*p)) p++;
  }
  if (p < end && (*p == 'e' || *p == 'E')) {
    p++;
    if (p < end && (*p == '+' || *p == '-')) p++;
    if (p >= end || !is_digit(*p)) return NULL;
    while (p < end && is_digit(*p)) p++;
  }
  return p;
}

static const uint8_t *skip_word(const uint8_t *p, const uint8_t *end, const char *word) {
  size_t n = strlen(word);
  return (size_t)(end - p) >= n && memcmp(p, word, n) == 0 ? p + n : NULL;
}

static const uint8_t *skip_value(const uint8_t *p, const uint8_t *end, uint32_t depth) {
  p = space(p, end);
  if (p >= end) return NULL;
  if (*p == '"') return skip_string(p, end);
  if (*p == 't') return skip_word(p, end, "true");
  if (*p == 'f') return skip_word(p, end, "false");
  if (*p == 'n') return skip_word(p, end, "null");
  if (*p != '{' && *p != '[') return skip_number(p, end);
  if (depth >= TY_JSON_DEPTH) return NULL;
  bool object = *p == '{';
  uint8_t close = object ? '}' : ']';
  p = space(p + 1, end);
  if (p < end && *p == close) return p + 1;
  for (;;) {
    if (object) {
      p = skip_string(space(p, end), end);
      if (p == NULL) return NULL;
      p = space(p, end);
      if (p >= end || *p != ':') return NULL;
      p++;
    }
    p = skip_value(p, end, depth + 1);
    if (p == NULL) return NULL;
    p = space(p, end);
    if (p >= end) return NULL;
    if (*p == close) return p + 1;
    if (*p != ',') return NULL;
    p++;
  }
}

bool ty_json_check(ty_slice text, ty_slice *out) {
  if (text.bytes == 0) return false;
  const uint8_t *end = text.data + text.bytes;
  const uint8_t *start = space(text.data, end);
  const uint8_t *stop = skip_value(start, end, 0);
  if (stop == NULL || space(stop, end) != end) return false;
  if (out != NULL) *out = (ty_slice){start, (uint64_t)(stop - start)};
  return true;
}

bool ty_json_walk_start(ty_json_walk *w, ty_slice value, bool object) {
  if (value.bytes < 2 || value.data[0] != (object ? '{' : '[')) return false;
  *w = (ty_json_walk){value.data + 1, value.data + value.bytes - 1, object, true};
  return true;
}

bool ty_json_walk_next(ty_json_walk *w, ty_slice *key, ty_slice *value) {
  const uint8_t *p = space(w->at, w->end);
  if (p >= w->end) return false;
  if (!w->first) p = space(p + 1, w->end); /* the comma */
  w->first = false;
  if (w->object) {
    const uint8_t *stop = skip_string(p, w->end);
    if (stop == NULL) return false;
    *key = (ty_slice){p + 1, (uint64_t)(stop - p) - 2};
    p = space(stop, w->end);
    p = space(p + 1, w->end); /* the colon */
  }
  const uint8_t *stop = skip_value(p, w->end, 0);
  if (stop == NULL) return false;
  *value = (ty_slice){p, (uint64_t)(stop - p)};
  w->at = stop;
  return true;
}

bool ty_json_is_string(ty_slice value) { return value.bytes >= 2 && value.data[0] == '"'; }

static void put_utf8(ty_buffer *out, uint32_t c) {
  uint8_t b[4];
  uint64_t n;
  if (c < 0x80) b[0] = (uint8_t)c, n = 1;
  else if (c < 0x800) b[0] = (uint8_t)(0xc0 | c >> 6), b[1] = (uint8_t)(0x80 | (c & 0x3f)), n = 2;
  else if (c < 0x10000)
    b[0] = (uint8_t)(0xe0 | c >> 12), b[1] = (uint8_t)(0x80 | (c >> 6 & 0x3f)), b[2] = (uint8_t)(0x80 | (c & 0x3f)),
    n = 3;
  else
    b[0] = (uint8_t)(0xf0 | c >> 18), b[1] = (uint8_t)(0x80 | (c >> 12 & 0x3f)),
    b[2] = (uint8_t)(0x80 | (c >> 6 & 0x3f)), b[3] = (uint8_t)(0x80 | (c & 0x3f)), n = 4;
  ty_buffer_append(out, b, n);
}

static uint32_t hex4(const uint8_t *p) {
  uint32_t c = 0;
  for (int i = 0; i < 4; i++) c = c << 4 | (uint32_t)hex_digit(p[i]);
  return c;
}

bool ty_json_string(ty_slice value, ty_buffer *out) {
  if (!ty_json_is_string(value)) return false;
  const uint8_t *p = value.data + 1, *end = value.data + value.bytes - 1;
  while (p < end) {
    if (*p != '\\') {
      const uint8_t *run = p;
      while (p < end && *p != '\\') p++;
      ty_buffer_append(out, run, (uint64_t)(p - run));
      continue;
    }
    uint8_t kind = p[1];
    p += 2;
    if (kind != 'u') {
      static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
      ty_buffer_append(out, &to[strchr(from, kind) - from], 1);
      continue;
    }
    uint32_t c = hex4(p);
    p += 4;
    if (c >= 0xdc00 && c < 0xe000) return false;
    if (c >= 0xd800 && c < 0xdc00) {
      if (end - p < 6 || p[0] != '\\' || p[1] != 'u') return false;
      uint32_t low = hex4(p + 2);
      if (low < 0xdc00 || low >= 0xe000) return false;
      c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
      p += 6;
    }
    put_utf8(out, c);
  }
  return !out->failed;
}

bool ty_json_u64(ty_slice value, uint64_t *out) {
  uint64_t result = 0;
  if (value.bytes == 0 || value.bytes > 20) return false;
  for (uint64_t i = 0; i < value.bytes; i++) {
    if (!is_digit(value.data[i]) || !ty_mul(result, 10, &result) || !ty_add(result, value.data[i] - '0', &result))
      return false;
  }
  *out = result;
  return true;
}

bool ty_json_double(ty_slice value, double *out) {
  const uint8_t *p = value.data, *end = p + value.bytes;
  if (value.bytes == 0 || (*p != '-' && !is_digit(*p))) return false;
  bool negative = *p == '-';
  uint64_t digits = 0;
  int32_t power = 0;
  bool fraction = false;
  for (p += negative; p < end && (is_digit(*p) || *p == '.'); p++) {
    if (*p == '.') {
      fraction = true;
    } else if (digits < 100000000000000000u) {
      digits = digits * 10 + (uint64_t)(*p - '0');
      power -= fraction;
    } else {
      power += !fraction;
    }
  }
  if (p < end) {
    int32_t sign = 1, exponent = 0;
    p++;
    if (*p == '+' || *p == '-') sign = *p++ == '-' ? -1 : 1;
    for (; p < end; p++) exponent = exponent < 10000 ? exponent * 10 + (*p - '0') : exponent;
    power += sign * exponent;
  }
  double result = (double)digits;
  double scale = 1;
  for (int32_t i = power < 0 ? -power : power; i > 0 && scale < 1e300; i--) scale *= 10;
  result = power < 0 ? result / scale : result * scale;
  *out = negative ? -result : result;
  return true;
}

bool ty_json_is(ty_slice value, const char *text) {
  size_t n = strlen(text);
  return value.bytes == n && memcmp(value.data, text, n) == 0;
}

bool ty_json_bool(ty_slice value, bool *out) {
  *out = ty_json_is(value, "true");
  return *out || ty_json_is(value, "false");
}

/* A small strict JSON reader (RFC 8259) over slices, for the manifest and the metadata of conversations. It copies only
 * decoded strings, whose bytes are not checked to be UTF-8. */
#pragma once

#include "os/buffer.h"

#define TY_JSON_DEPTH 64u

/* Whether the text is one value, with white space around it; `out` (may be NULL) gets the value without that space. */
bool ty_json_check(ty_slice text, ty_slice *out);

/* Walks the members of an object or the elements of an array. */
typedef struct ty_json_walk {
  const uint8_t *at, *end;
  bool object, first;
} ty_json_walk;
/* False where the value is not an object (`object`) or an array. The value has passed ty_json_check. */
bool ty_json_walk_start(ty_json_walk *w, ty_slice value, bool object);
/* False at the end. `key` is the raw text between the quotes. */
bool ty_json_walk_next(ty_json_walk *w, ty_slice *key, ty_slice *value);

bool ty_json_is_string(ty_slice value);
/* Appends the decoded bytes. False where it is not a string or has half a surrogate pair escaped. */
bool ty_json_string(ty_slice value, ty_buffer *out);
bool ty_json_u64(ty_slice value, uint64_t *out); /* digits only */
/* Exact up to 15 digits and exponents of 22, more than a recall target needs; independent of the locale. */
bool ty_json_double(ty_slice value, double *out);
bool ty_json_bool(ty_slice value, bool *out);
bool ty_json_is(ty_slice value, const char *text); /* the same bytes */

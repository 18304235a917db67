/* What a manifest says of itself: the checksum that ends it, and the version of its format. */
#pragma once

#include "disk/format.h"
#include "os/env.h"

/* Ends the text of a manifest of this generation, which is written up to the last comma: the checksum, the closing
 * brace, a newline and spaces. A reader tells manifests apart by inode, size and time. An inode comes back after two
 * saves, and file times stand still for some milliseconds, so the size modulo 64 is the generation's. */
void ty_seal(const ty_env *env, uint64_t generation, ty_buffer *text);
/* Compares the checksum of a manifest that was read, and looks at its version: before anything else of it is read,
 * which another version may have otherwise. TY_VERSION for another one; TY_CORRUPT where it is damaged or was edited.
 */
ty_status ty_seal_check(const ty_env *env, ty_slice text, ty_error *err);
/* Whether the text ends as ty_seal ends one of this generation. */
bool ty_seal_ends(ty_slice text, uint64_t generation);
/* TY_VERSION: this file is of that version of the format, with what helps. */
ty_status ty_other_version(const char *name, uint64_t version, ty_error *err);

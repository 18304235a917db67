/* The checksum is the last key, so that a manifest stays JSON: it is of every byte before the quote that begins it.
 * What follows is compared as it is written, byte by byte. */
#include "disk/seal.h"

#include <inttypes.h>
#include <string.h>

#include "disk/json.h"
#include "disk/schema.h"
#include "os/plant.h"

#define KEY        "\"crc32c\": "
#define END        "\n}\n"
#define DIGITS_MAX 10u

void ty_seal(const ty_env *env, uint64_t generation, ty_buffer *text) {
  char line[48];
  if (text->failed) return;
  uint32_t crc = env->kernel->crc32c(0, text->data, (size_t)text->bytes);
  int n = snprintf(line, sizeof line, KEY "%" PRIu32 END, crc);
  ty_buffer_append(text, line, (uint64_t)n);
  while (!text->failed && text->bytes % 64 != generation % 64) ty_buffer_append(text, " ", 1);
}

static uint64_t without_spaces(ty_slice text) {
  uint64_t end = text.bytes;
  while (end > 0 && text.data[end - 1] == ' ') end--;
  return end;
}

bool ty_seal_ends(ty_slice text, uint64_t generation) {
  return text.bytes - without_spaces(text) < 64 && text.bytes % 64 == generation % 64;
}

/* Whether the text ends with the checksum of what precedes it. */
static bool fits(const ty_env *env, ty_slice text) {
  uint64_t end = without_spaces(text);
  char expected[48];
  if (end < sizeof END - 1 || memcmp(text.data + end - (sizeof END - 1), END, sizeof END - 1) != 0) return false;
  uint64_t at = end - (sizeof END - 1), digits = 0;
  while (digits < DIGITS_MAX && at > 0 && text.data[at - 1] >= '0' && text.data[at - 1] <= '9') at--, digits++;
  if (at < sizeof KEY - 1) return false;
  at -= sizeof KEY - 1;
  int n = snprintf(expected, sizeof expected, KEY "%" PRIu32 END, env->kernel->crc32c(0, text.data, (size_t)at));
  return end - at == (uint64_t)n && (memcmp(text.data + at, expected, (size_t)n) == 0 || TY_PLANTED(NO_MANIFEST_SUM));
}

static const char of_earlier[] = "export the collection with the release that wrote it, and import it with this one";

ty_status ty_other_version(const char *name, uint64_t version, ty_error *err) {
  return ty_fail(err, TY_VERSION, "%s is of format version %" PRIu64 ", and this program's is %u: %s", name, version,
                 TY_SLAB_VERSION, version > TY_SLAB_VERSION ? "use a newer release of svc" : of_earlier);
}

ty_status ty_seal_check(const ty_env *env, ty_slice text, ty_error *err) {
  ty_json_walk walk;
  ty_slice object, key, value;
  uint64_t version = 0;
  bool good = fits(env, text), named = false, summed = false, files = false;
  if (ty_json_check(text, &object) && ty_json_walk_start(&walk, object, true)) {
    while (ty_json_walk_next(&walk, &key, &value)) {
      if (!named && ty_json_is(key, ty_own_keys[TY_OWN_FORMAT_VERSION])) named = ty_json_u64(value, &version);
      summed |= ty_json_is(key, ty_own_keys[TY_OWN_CRC32C]);
      files |= ty_json_is(key, ty_own_keys[TY_OWN_FILES]);
    }
    /* A later version may compute another checksum. */
    if (named && version > TY_SLAB_VERSION && !good)
      return ty_fail(err, TY_VERSION,
                     "%s is of format version %" PRIu64 ", and this program's is %u: use a newer release of svc; or it "
                     "is damaged, as its checksum is not what this version's would be",
                     TY_MANIFEST_NAME, version, TY_SLAB_VERSION);
    if (named && (version < TY_SLAB_VERSION_LEAST || version > TY_SLAB_VERSION) && version > 0 && good)
      return ty_other_version(TY_MANIFEST_NAME, version, err);
    if (!named && !summed && files)
      return ty_fail(err, TY_VERSION, "%s is of an earlier format version than this program's, which is %u: %s",
                     TY_MANIFEST_NAME, TY_SLAB_VERSION, of_earlier);
  }
  if (!good)
    return ty_fail(err, TY_CORRUPT, "%s does not match its checksum: it was damaged, or edited by hand",
                   TY_MANIFEST_NAME);
  return version >= TY_SLAB_VERSION_LEAST ? TY_OK
                                          : ty_fail(err, TY_CORRUPT, "%s: it has no format_version", TY_MANIFEST_NAME);
}

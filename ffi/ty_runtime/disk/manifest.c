/* collection.json: the schema's keys and those that are kept, then the counts and files of a state.
 *
 * A reader accepts only what a writer writes, and keys that it does not know; of files only a collection's. Sizes and
 * checksums of the files are checked where each is opened. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "disk/disk.h"
#include "disk/json.h"
#include "disk/manifest.h"
#include "disk/seal.h"
#include "disk/slab.h"

/* Bytes of a version, or of the name of a build, that a message shows. */
#define WRITER_MAX 128u

static ty_status bad(ty_error *err, const char *what) {
  return ty_fail(err, TY_CORRUPT, "%s: %s", TY_MANIFEST_NAME, what);
}

/* Whether this is the name of a slab of this kind, of a generation up to the manifest's. */
static bool is_slab_of(const ty_saved *m, const char *name, uint32_t kind) {
  char expected[64];
  const char *dash = strchr(name, '-');
  uint64_t generation = dash == NULL ? 0 : strtoull(dash + 1, NULL, 16);
  ty_slab_name(expected, kind, generation);
  return generation <= m->generation && strcmp(name, expected) == 0;
}

/* Reads an element of `files` into the field that its name belongs to. */
static ty_status read_file(ty_slice value, ty_saved *m, ty_error *err) {
  ty_json_walk walk;
  ty_slice key, member, name = {0}, bytes = {0}, crc = {0};
  if (!ty_json_walk_start(&walk, value, true)) return bad(err, "files holds something other than objects");
  while (ty_json_walk_next(&walk, &key, &member)) {
    ty_slice *to = ty_json_is(key, "name")     ? &name
                   : ty_json_is(key, "bytes")  ? &bytes
                   : ty_json_is(key, "crc32c") ? &crc
                                               : NULL;
    if (to == NULL || to->data != NULL) return bad(err, "a file has an unknown key");
    *to = member;
  }
  ty_file file = {0};
  uint64_t sum;
  if (!ty_json_is_string(name) || name.bytes - 2 < 1 || name.bytes - 2 >= sizeof file.name)
    return bad(err, "a file has no valid name");
  memcpy(file.name, name.data + 1, (size_t)name.bytes - 2);
  for (const char *p = file.name; *p != 0; p++) {
    if (!((*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9') || *p == '-' || *p == '.' || *p == '_'))
      return bad(err, "a file has no valid name");
  }
  if (strlen(file.name) != name.bytes - 2) return bad(err, "a file has no valid name");
  if (!ty_json_u64(bytes, &file.bytes) || !ty_json_u64(crc, &sum) || sum > UINT32_MAX || file.bytes == 0 ||
      file.bytes > (uint64_t)1 << 60)
    return ty_fail(err, TY_CORRUPT, "%s: bytes or crc32c of %s is not a number in range", TY_MANIFEST_NAME, file.name);
  file.crc = (uint32_t)sum;
  if (is_slab_of(m, file.name, TY_SLAB_DELTA)) {
    for (uint32_t i = 0; i < m->files.delta_count; i++) {
      if (strcmp(m->files.deltas[i].name, file.name) == 0)
        return ty_fail(err, TY_CORRUPT, "%s: %s is listed twice", TY_MANIFEST_NAME, file.name);
    }
    ty_file *deltas = realloc(m->files.deltas, (m->files.delta_count + 1) * sizeof *deltas);
    if (deltas == NULL) return ty_fail(err, TY_NO_MEMORY, "out of memory reading %s", TY_MANIFEST_NAME);
    m->files.deltas = deltas;
    m->files.deltas[m->files.delta_count++] = file;
    return TY_OK;
  }
  ty_file *to = is_slab_of(m, file.name, TY_SLAB_BASE)      ? &m->files.base
                : is_slab_of(m, file.name, TY_SLAB_IVF)     ? &m->files.ivf
                : is_slab_of(m, file.name, TY_SLAB_LEXICAL) ? &m->files.lexical
                : is_slab_of(m, file.name, TY_SLAB_MEANING) ? &m->files.meaning
                : is_slab_of(m, file.name, TY_SLAB_HISTORY) ? &m->files.history
                : strcmp(file.name, TY_ID_MAP_NAME) == 0    ? &m->files.id_map
                                                            : NULL;
  if (to == NULL || to->name[0] != 0)
    return ty_fail(err, TY_CORRUPT, "%s: %s is not a file of a collection, or one of two of its kind", TY_MANIFEST_NAME,
                   file.name);
  *to = file;
  return TY_OK;
}

static ty_status read_files(ty_slice value, ty_saved *m, ty_error *err) {
  ty_json_walk walk;
  ty_slice key, element;
  if (!ty_json_walk_start(&walk, value, false)) return bad(err, "files is not an array");
  uint32_t count = 0;
  while (ty_json_walk_next(&walk, &key, &element)) {
    if (++count > TY_FILES_MAX) return bad(err, "too many files");
    ty_status status = read_file(element, m, err);
    if (status != TY_OK) return status;
  }
  if (m->files.base.name[0] == 0 || m->files.id_map.name[0] == 0) return bad(err, "files names no base or no id map");
  if ((m->files.meaning.name[0] != 0 || m->files.history.name[0] != 0) && m->version < TY_SLAB_VERSION)
    return bad(err, "files names one that its version does not have");
  return TY_OK;
}

/* Takes the members of the object apart: the manifest's own into `own`, the others into the schema. */
static ty_status read_members(ty_saved *m, ty_slice own[TY_OWN_KEYS], ty_error *err) {
  ty_slice object, key, value;
  ty_json_walk walk;
  if (!ty_json_check((ty_slice){m->text.data, m->text.bytes}, &object) || !ty_json_walk_start(&walk, object, true))
    return bad(err, "it is not a JSON object");
  while (ty_json_walk_next(&walk, &key, &value)) {
    int n = 0;
    while (n < TY_OWN_KEYS && !ty_json_is(key, ty_own_keys[n])) n++;
    if (n == TY_OWN_KEYS) {
      ty_status status = ty_schema_take(&m->schema, key, value, TY_CORRUPT, err);
      if (status != TY_OK) return status;
      continue;
    }
    if (own[n].data != NULL)
      return ty_fail(err, TY_CORRUPT, "%s: the key %s is there twice", TY_MANIFEST_NAME, ty_own_keys[n]);
    own[n] = value;
  }
  for (int n = 0; n < TY_OWN_KEYS; n++) {
    if (own[n].data == NULL && n != TY_OWN_SUPERSEDED)
      return ty_fail(err, TY_CORRUPT, "%s: the key %s is missing", TY_MANIFEST_NAME, ty_own_keys[n]);
  }
  return TY_OK;
}

ty_status ty_saved_read(const ty_env *env, ty_buffer *text, ty_saved *m, ty_error *err) {
  *m = (ty_saved){.text = *text};
  *text = (ty_buffer){0};
  ty_slice own[TY_OWN_KEYS] = {{0}}, whole = {m->text.data, m->text.bytes};
  ty_status status = ty_seal_check(env, whole, err);
  if (status == TY_OK) status = read_members(m, own, err);
  if (status == TY_OK) status = ty_schema_check(&m->schema, TY_CORRUPT, err);
  if (status != TY_OK) return status;
  if (!ty_json_is(own[TY_OWN_ID_MAP], "\"" TY_ID_MAP_NAME "\""))
    return bad(err, "id_map is not \"" TY_ID_MAP_NAME "\"");
  uint64_t *const into[TY_OWN_KEYS] = {[TY_OWN_FORMAT_VERSION] = &m->version,
                                       [TY_OWN_GENERATION] = &m->generation,
                                       [TY_OWN_LIVE_ROWS] = &m->live_rows,
                                       [TY_OWN_TOTAL_ROWS] = &m->total_rows};
  for (int n = TY_OWN_FORMAT_VERSION; n <= TY_OWN_TOTAL_ROWS; n++) {
    if (!ty_json_u64(own[n], into[n]))
      return ty_fail(err, TY_CORRUPT, "%s: %s is not a count", TY_MANIFEST_NAME, ty_own_keys[n]);
  }
  if (m->generation == 0 || m->total_rows > TY_ROWS_MAX || m->live_rows > m->total_rows)
    return bad(err, "its counts are out of range");
  if (!ty_seal_ends(whole, m->generation)) return bad(err, "it does not end as it was written: it was damaged");
  if (own[TY_OWN_SUPERSEDED].data != NULL && m->version >= TY_SLAB_VERSION)
    return bad(err, "superseded is a key of version 7");
  return read_files(own[TY_OWN_FILES], m, err);
}

/* The text of a JSON string that can be shown as it stands, empty for any other value. */
static ty_slice plain(ty_slice value) {
  if (!ty_json_is_string(value) || value.bytes - 2 > WRITER_MAX) return (ty_slice){0};
  ty_slice text = {value.data + 1, value.bytes - 2};
  for (uint64_t i = 0; i < text.bytes; i++) {
    if (text.data[i] < 0x20 || text.data[i] > 0x7e || text.data[i] == '\\') return (ty_slice){0};
  }
  return text;
}

ty_status ty_name_writer(const ty_buffer *json, ty_status status, ty_error *err) {
  ty_json_walk walk;
  ty_slice whole = {json->data, json->bytes}, object, key, value, version = {0}, build = {0};
  if (status != TY_VERSION || err == NULL || whole.bytes == 0) return status;
  if (!ty_json_check(whole, &object) || !ty_json_walk_start(&walk, object, true)) return status;
  while (ty_json_walk_next(&walk, &key, &value)) {
    if (ty_json_is(key, "telys_version")) version = plain(value);
    if (ty_json_is(key, TY_BUILD_NAME)) build = plain(value);
  }
  size_t end = strlen(err->message);
  if (version.bytes > 0)
    snprintf(err->message + end, sizeof err->message - end, "; version %.*s%s%.*s%s wrote it", (int)version.bytes,
             (const char *)version.data, build.bytes > 0 ? " (" : "", (int)build.bytes, (const char *)build.data,
             build.bytes > 0 ? ")" : "");
  return status;
}

void ty_saved_free(ty_saved *m) {
  ty_buffer_free(&m->text);
  free(m->files.deltas);
  *m = (ty_saved){0};
}

static void put_file(ty_buffer *out, const ty_file *file, bool *first) {
  if (file->name[0] == 0) return;
  char line[192];
  int n = snprintf(line, sizeof line, "%s    {\"name\": \"%s\", \"bytes\": %" PRIu64 ", \"crc32c\": %" PRIu32 "}",
                   *first ? "\n" : ",\n", file->name, file->bytes, file->crc);
  ty_buffer_append(out, line, (uint64_t)n);
  *first = false;
}

ty_status ty_manifest_text(const ty_collection *c, const ty_files *files, uint64_t generation, uint64_t live,
                           uint64_t total, ty_buffer *out, ty_error *err) {
  ty_schema schema;
  ty_status status = ty_schema_read((ty_slice){c->schema.data, c->schema.bytes}, &schema, err);
  if (status != TY_OK) return status;
  ty_schema_put(&schema, true, out);
  /* Unsaved operations go to a delta of the newest version. */
  const bool newest = files->meaning.name[0] != 0 || files->history.name[0] != 0 || c->store->ops > 0;
  const uint32_t version = newest ? TY_SLAB_VERSION : c->store->version;
  char line[192];
  int n = snprintf(line, sizeof line,
                   ",\n  \"format_version\": %u,\n  \"generation\": %" PRIu64 ",\n  \"live_rows\": %" PRIu64
                   ",\n  \"total_rows\": %" PRIu64,
                   version, generation, live, total);
  ty_buffer_append(out, line, (uint64_t)n);
  ty_buffer_append(out, ",\n  \"files\": [", 14);
  bool first = true;
  put_file(out, &files->id_map, &first);
  put_file(out, &files->base, &first);
  for (uint32_t i = 0; i < files->delta_count; i++) put_file(out, &files->deltas[i], &first);
  put_file(out, &files->ivf, &first);
  put_file(out, &files->lexical, &first);
  put_file(out, &files->history, &first);
  put_file(out, &files->meaning, &first);
  ty_buffer_append(out, "\n  ],\n  ", 8);
  ty_seal(c->env, generation, out);
  if (out->failed) return ty_fail(err, TY_NO_MEMORY, "out of memory writing %s", TY_MANIFEST_NAME);
  if (out->bytes > TY_MANIFEST_MAX) return ty_fail(err, TY_INVALID, "%s: larger than 16 MiB", TY_MANIFEST_NAME);
  return TY_OK;
}

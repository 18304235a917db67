/* collection.json: the schema's keys, then the counts and files of a state.
 *
 * A reader accepts only what a writer writes: exactly these keys, only files of a collection. Sizes and checksums of
 * the files are checked where each is opened. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "disk/json.h"
#include "disk/manifest.h"
#include "disk/slab.h"

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
                : strcmp(file.name, TY_ID_MAP_NAME) == 0    ? &m->files.id_map
                                                            : NULL;
  if (to == NULL || to->name[0] != 0)
    return ty_fail(err, TY_CORRUPT, "%s: %s is no file of a collection, or one of two of its kind", TY_MANIFEST_NAME,
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
  return TY_OK;
}

ty_status ty_saved_read(ty_buffer *text, ty_saved *m, ty_error *err) {
  *m = (ty_saved){.text = *text};
  *text = (ty_buffer){0};
  ty_slice object, key, value, files = {0}, id_map = {0}, numbers[3] = {{0}};
  static const char *const number_keys[3] = {"generation", "live_rows", "total_rows"};
  ty_json_walk walk;
  if (!ty_json_check((ty_slice){m->text.data, m->text.bytes}, &object) || !ty_json_walk_start(&walk, object, true))
    return bad(err, "it is not a JSON object");
  while (ty_json_walk_next(&walk, &key, &value)) {
    ty_slice *to = ty_json_is(key, "files")    ? &files
                   : ty_json_is(key, "id_map") ? &id_map
                                               : ty_schema_member(&m->schema, key);
    for (int n = 0; n < 3 && to == NULL; n++) {
      if (ty_json_is(key, number_keys[n])) to = &numbers[n];
    }
    if (to == NULL || to->data != NULL)
      return ty_fail(err, TY_CORRUPT, "%s: the key %.*s is unknown or a duplicate", TY_MANIFEST_NAME,
                     (int)(key.bytes < 64 ? key.bytes : 64), key.data);
    *to = value;
  }
  ty_status status = ty_schema_check(&m->schema, TY_CORRUPT, err);
  if (status != TY_OK) return status;
  if (!ty_json_is(id_map, "\"" TY_ID_MAP_NAME "\"")) return bad(err, "id_map is not \"" TY_ID_MAP_NAME "\"");
  uint64_t *const into[3] = {&m->generation, &m->live_rows, &m->total_rows};
  for (int n = 0; n < 3; n++) {
    if (!ty_json_u64(numbers[n], into[n]))
      return ty_fail(err, TY_CORRUPT, "%s: %s is not a count", TY_MANIFEST_NAME, number_keys[n]);
  }
  if (m->generation == 0 || m->total_rows > TY_ROWS_MAX || m->live_rows > m->total_rows)
    return bad(err, "its counts are out of range");
  return read_files(files, m, err);
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
  char line[160];
  int n = snprintf(line, sizeof line,
                   ",\n  \"generation\": %" PRIu64 ",\n  \"live_rows\": %" PRIu64 ",\n  \"total_rows\": %" PRIu64
                   ",\n  \"files\": [",
                   generation, live, total);
  ty_buffer_append(out, line, (uint64_t)n);
  bool first = true;
  put_file(out, &files->id_map, &first);
  put_file(out, &files->base, &first);
  for (uint32_t i = 0; i < files->delta_count; i++) put_file(out, &files->deltas[i], &first);
  put_file(out, &files->ivf, &first);
  put_file(out, &files->lexical, &first);
  ty_buffer_append(out, "\n  ]\n}\n", 7);
  /* A reader tells manifests apart by inode, size and time. An inode comes back after two saves, and file times stand
   * still for some milliseconds, so trailing spaces make the size modulo 64 the generation's. */
  while (!out->failed && out->bytes % 64 != generation % 64) ty_buffer_append(out, " ", 1);
  if (out->failed) return ty_fail(err, TY_NO_MEMORY, "out of memory writing %s", TY_MANIFEST_NAME);
  if (out->bytes > TY_MANIFEST_MAX) return ty_fail(err, TY_INVALID, "%s: larger than 16 MiB", TY_MANIFEST_NAME);
  return TY_OK;
}

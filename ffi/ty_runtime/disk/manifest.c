/* collection.json: the schema's keys as the user gave them, then what makes it a commit point.
 *
 * It is read as strictly as it is written: exactly these keys, no file that we would not write ourselves. What it
 * promises of the files is checked where each is opened.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "disk/json.h"
#include "disk/manifest.h"
#include "disk/slab.h"

const char *const ty_schema_keys[TY_SCHEMA_KEYS] = {"name",
                                                    "dim",
                                                    "dtype",
                                                    "key_name",
                                                    "filter_columns",
                                                    "telys_version",
                                                    "default_target_recall",
                                                    "applied_tuner",
                                                    "lexical",
                                                    "embedder_profile"};

static ty_status bad(ty_error *err, ty_status status, const char *what) {
  return ty_fail(err, status, "%s: %s", TY_MANIFEST_NAME, what);
}

static int key_index(ty_slice key) {
  for (int i = 0; i < TY_SCHEMA_KEYS; i++) {
    if (ty_json_is(key, ty_schema_keys[i])) return i;
  }
  return -1;
}

/* Decodes two JSON strings and compares them: the same name may be escaped in two ways. -1: out of memory or no string.
 */
static int same_string(ty_slice a, ty_slice b) {
  ty_buffer x = {0}, y = {0};
  int result = -1;
  /* Without an escape a string has one spelling, so that nothing needs memory, which may have run out. */
  if (ty_json_is_string(a) && ty_json_is_string(b) && memchr(a.data, '\\', (size_t)a.bytes) == NULL &&
      memchr(b.data, '\\', (size_t)b.bytes) == NULL)
    return a.bytes == b.bytes && memcmp(a.data, b.data, (size_t)a.bytes) == 0;
  if (ty_json_string(a, &x) && ty_json_string(b, &y))
    result = x.bytes == y.bytes && (x.bytes == 0 || memcmp(x.data, y.data, (size_t)x.bytes) == 0);
  ty_buffer_free(&x);
  ty_buffer_free(&y);
  return result;
}

static bool read_dtype(ty_slice value, ty_dtype *out) {
  static const char *const names[] = {
      [TY_F32] = "\"f32\"", [TY_F16] = "\"f16\"", [TY_INT8] = "\"int8\"", [TY_INT4] = "\"int4\""};
  for (int i = 0; i < (int)(sizeof names / sizeof *names); i++) {
    *out = (ty_dtype)i;
    if (ty_json_is(value, names[i])) return true;
  }
  return false;
}

/* The profile is its caller's own, but for its member distance. What it does not say, or says in other words, is inner
 * product. */
static ty_metric read_metric(ty_slice profile) {
  ty_metric metric = TY_INNER_PRODUCT;
  ty_json_walk walk;
  ty_slice key, value;
  if (!ty_json_walk_start(&walk, profile, true)) return metric;
  while (ty_json_walk_next(&walk, &key,
                           &value)) { /* of a member that stands twice the last counts, as everywhere in JSON */
    if (!ty_json_is(key, "distance")) continue;
    metric = ty_json_is(value, "\"cosine\"") ? TY_COSINE : ty_json_is(value, "\"l2\"") ? TY_L2 : TY_INNER_PRODUCT;
  }
  return metric;
}

/* Checks the members' values. `status` is what a wrong one is: an argument or a file. */
static ty_status schema_values(ty_schema *s, ty_status status, ty_error *err) {
  for (int i = 0; i < TY_SCHEMA_KEYS; i++) {
    if (s->members[i].data == NULL)
      return ty_fail(err, status, "%s: the key %s is missing", TY_MANIFEST_NAME, ty_schema_keys[i]);
  }
  uint64_t dim;
  if (!ty_json_u64(s->members[TY_KEY_DIM], &dim) || dim < 1 || dim > 65536)
    return bad(err, status, "dim is not 1 to 65536");
  s->dim = (uint32_t)dim;
  if (!read_dtype(s->members[TY_KEY_DTYPE], &s->dtype))
    return bad(err, status, "dtype is not \"f32\", \"f16\", \"int8\" or \"int4\"");
  s->metric = read_metric(s->members[TY_KEY_EMBEDDER_PROFILE]);
  if (!ty_json_is_string(s->members[TY_KEY_NAME])) return bad(err, status, "name is not a string");
  if (!ty_json_is_string(s->members[TY_KEY_KEY_NAME])) return bad(err, status, "key_name is not a string");
  if (!ty_json_bool(s->members[TY_KEY_LEXICAL], &s->lexical)) return bad(err, status, "lexical is not a boolean");
  double recall;
  if (!ty_json_double(s->members[TY_KEY_DEFAULT_TARGET_RECALL], &recall) || !(recall > 0 && recall <= 1))
    return bad(err, status, "default_target_recall is not in (0, 1]");
  s->default_target_recall = recall;
  ty_json_walk walk;
  if (!ty_json_walk_start(&walk, s->members[TY_KEY_FILTER_COLUMNS], false))
    return bad(err, status, "filter_columns is not an array");
  ty_slice key, value;
  s->columns = 0;
  while (ty_json_walk_next(&walk, &key, &value)) {
    if (!ty_json_is_string(value)) return bad(err, status, "filter_columns holds something other than strings");
    if (s->columns == 0 && same_string(value, s->members[TY_KEY_KEY_NAME]) != 1)
      return bad(err, status, "filter_columns does not begin with key_name");
    if (++s->columns > TY_MAX_COLUMNS)
      return ty_fail(err, status, "%s: more than %u filter_columns", TY_MANIFEST_NAME, TY_MAX_COLUMNS);
  }
  return s->columns > 0 ? TY_OK : bad(err, status, "filter_columns is empty");
}

ty_status ty_schema_read(ty_slice json, ty_schema *out, ty_error *err) {
  *out = (ty_schema){0};
  ty_slice object, key, value;
  ty_json_walk walk;
  if (json.bytes > TY_MANIFEST_MAX || !ty_json_check(json, &object) || !ty_json_walk_start(&walk, object, true))
    return ty_fail(err, TY_INVALID, "the schema is not a JSON object");
  while (ty_json_walk_next(&walk, &key, &value)) {
    int i = key_index(key);
    if (i < 0 || out->members[i].data != NULL)
      return ty_fail(err, TY_INVALID, "the schema's key %.*s is unknown or stands twice",
                     (int)(key.bytes < 64 ? key.bytes : 64), key.data);
    out->members[i] = value;
  }
  return schema_values(out, TY_INVALID, err);
}

static void put_text(ty_buffer *out, const char *text) { ty_buffer_append(out, text, strlen(text)); }

static void put_member(ty_buffer *out, const char *key, ty_slice value) {
  put_text(out, "  \"");
  put_text(out, key);
  put_text(out, "\": ");
  ty_buffer_append(out, value.data, value.bytes);
}

void ty_schema_write(const ty_schema *schema, ty_buffer *out) {
  put_text(out, "{\n");
  for (int i = 0; i < TY_SCHEMA_KEYS; i++) {
    put_member(out, ty_schema_keys[i], schema->members[i]);
    put_text(out, i + 1 < TY_SCHEMA_KEYS ? ",\n" : "\n}");
  }
}

ty_status ty_schema_agree(const ty_schema *mine, const ty_schema *theirs, ty_error *err) {
  const char *differs = NULL;
  if (mine->dim != theirs->dim) differs = "dim";
  else if (!ty_json_is_string(theirs->members[TY_KEY_DTYPE]) ||
           same_string(mine->members[TY_KEY_DTYPE], theirs->members[TY_KEY_DTYPE]) != 1)
    differs = "dtype";
  else if (mine->metric != theirs->metric) differs = "metric";
  else if (same_string(mine->members[TY_KEY_KEY_NAME], theirs->members[TY_KEY_KEY_NAME]) != 1) differs = "key_name";
  else if (mine->lexical != theirs->lexical) differs = "lexical";
  else if (mine->columns != theirs->columns) differs = "filter_columns";
  ty_json_walk a, b;
  ty_slice key, x, y;
  if (differs == NULL && ty_json_walk_start(&a, mine->members[TY_KEY_FILTER_COLUMNS], false) &&
      ty_json_walk_start(&b, theirs->members[TY_KEY_FILTER_COLUMNS], false)) {
    while (differs == NULL && ty_json_walk_next(&a, &key, &x) && ty_json_walk_next(&b, &key, &y)) {
      if (same_string(x, y) != 1) differs = "filter_columns";
    }
  }
  if (differs == NULL) return TY_OK;
  return ty_fail(err, TY_INVALID, "another process has saved a collection of this name with another %s: open it again",
                 differs);
}

/* ---- Files ----------------------------------------------------------------------------------------------------------
 */
/* Whether a name is that of a slab of this kind which a save up to the manifest's made. */
static bool is_slab_of(const ty_saved *m, const char *name, uint32_t kind) {
  char expected[64];
  const char *dash = strchr(name, '-');
  uint64_t generation = dash == NULL ? 0 : strtoull(dash + 1, NULL, 16);
  ty_slab_name(expected, kind, generation);
  return generation <= m->generation && strcmp(name, expected) == 0;
}

/* One element of `files` into its place by its name. */
static ty_status read_file(ty_slice value, ty_saved *m, ty_error *err) {
  ty_json_walk walk;
  ty_slice key, member, name = {0}, bytes = {0}, crc = {0};
  if (!ty_json_walk_start(&walk, value, true)) return bad(err, TY_CORRUPT, "files holds something other than objects");
  while (ty_json_walk_next(&walk, &key, &member)) {
    ty_slice *to = ty_json_is(key, "name")     ? &name
                   : ty_json_is(key, "bytes")  ? &bytes
                   : ty_json_is(key, "crc32c") ? &crc
                                               : NULL;
    if (to == NULL || to->data != NULL) return bad(err, TY_CORRUPT, "a file has an unknown key");
    *to = member;
  }
  ty_file file = {0};
  uint64_t sum;
  if (!ty_json_is_string(name) || name.bytes - 2 < 1 || name.bytes - 2 >= sizeof file.name)
    return bad(err, TY_CORRUPT, "a file has no usable name");
  memcpy(file.name, name.data + 1, (size_t)name.bytes - 2);
  for (const char *p = file.name; *p != 0; p++) {
    if (!((*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9') || *p == '-' || *p == '.' || *p == '_'))
      return bad(err, TY_CORRUPT, "a file has no usable name");
  }
  if (strlen(file.name) != name.bytes - 2) return bad(err, TY_CORRUPT, "a file has no usable name");
  if (!ty_json_u64(bytes, &file.bytes) || !ty_json_u64(crc, &sum) || sum > UINT32_MAX || file.bytes == 0 ||
      file.bytes > (uint64_t)1 << 60)
    return ty_fail(err, TY_CORRUPT, "%s: bytes or crc32c of %s is no such number", TY_MANIFEST_NAME, file.name);
  file.crc = (uint32_t)sum;
  if (is_slab_of(m, file.name, TY_SLAB_DELTA)) {
    for (uint32_t i = 0; i < m->files.delta_count; i++) {
      if (strcmp(m->files.deltas[i].name, file.name) == 0)
        return ty_fail(err, TY_CORRUPT, "%s: %s stands twice", TY_MANIFEST_NAME, file.name);
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
    return ty_fail(err, TY_CORRUPT, "%s: %s is no file of a collection or has a twin", TY_MANIFEST_NAME, file.name);
  *to = file;
  return TY_OK;
}

static ty_status read_files(ty_slice value, ty_saved *m, ty_error *err) {
  ty_json_walk walk;
  ty_slice key, element;
  if (!ty_json_walk_start(&walk, value, false)) return bad(err, TY_CORRUPT, "files is not an array");
  uint32_t count = 0;
  while (ty_json_walk_next(&walk, &key, &element)) {
    if (++count > TY_FILES_MAX) return bad(err, TY_CORRUPT, "too many files");
    ty_status status = read_file(element, m, err);
    if (status != TY_OK) return status;
  }
  if (m->files.base.name[0] == 0 || m->files.id_map.name[0] == 0)
    return bad(err, TY_CORRUPT, "files names no base or no id map");
  return TY_OK;
}

ty_status ty_saved_read(ty_buffer *text, ty_saved *m, ty_error *err) {
  *m = (ty_saved){.text = *text};
  *text = (ty_buffer){0};
  ty_slice object, key, value, files = {0}, id_map = {0}, numbers[3] = {{0}};
  static const char *const number_keys[3] = {"generation", "live_rows", "total_rows"};
  ty_json_walk walk;
  if (!ty_json_check((ty_slice){m->text.data, m->text.bytes}, &object) || !ty_json_walk_start(&walk, object, true))
    return bad(err, TY_CORRUPT, "it is not a JSON object");
  while (ty_json_walk_next(&walk, &key, &value)) {
    int i = key_index(key);
    ty_slice *to = i >= 0                      ? &m->schema.members[i]
                   : ty_json_is(key, "files")  ? &files
                   : ty_json_is(key, "id_map") ? &id_map
                                               : NULL;
    for (int n = 0; n < 3 && to == NULL; n++) {
      if (ty_json_is(key, number_keys[n])) to = &numbers[n];
    }
    if (to == NULL || to->data != NULL)
      return ty_fail(err, TY_CORRUPT, "%s: the key %.*s is unknown or stands twice", TY_MANIFEST_NAME,
                     (int)(key.bytes < 64 ? key.bytes : 64), key.data);
    *to = value;
  }
  ty_status status = schema_values(&m->schema, TY_CORRUPT, err);
  if (status != TY_OK) return status;
  if (!ty_json_is(id_map, "\"" TY_ID_MAP_NAME "\""))
    return bad(err, TY_CORRUPT, "id_map is not \"" TY_ID_MAP_NAME "\"");
  uint64_t *const into[3] = {&m->generation, &m->live_rows, &m->total_rows};
  for (int n = 0; n < 3; n++) {
    if (!ty_json_u64(numbers[n], into[n]))
      return ty_fail(err, TY_CORRUPT, "%s: %s is not a count", TY_MANIFEST_NAME, number_keys[n]);
  }
  if (m->generation == 0 || m->total_rows > TY_ROWS_MAX || m->live_rows > m->total_rows)
    return bad(err, TY_CORRUPT, "its counts cannot be");
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
  put_text(out, "{\n");
  for (int i = 0; i < TY_SCHEMA_KEYS; i++) {
    put_member(out, ty_schema_keys[i], schema.members[i]);
    put_text(out, ",\n");
    if (i == TY_KEY_FILTER_COLUMNS) put_text(out, "  \"id_map\": \"" TY_ID_MAP_NAME "\",\n");
  }
  char line[160];
  int n = snprintf(line, sizeof line,
                   "  \"generation\": %" PRIu64 ",\n  \"live_rows\": %" PRIu64 ",\n  \"total_rows\": %" PRIu64
                   ",\n  \"files\": [",
                   generation, live, total);
  ty_buffer_append(out, line, (uint64_t)n);
  bool first = true;
  put_file(out, &files->id_map, &first);
  put_file(out, &files->base, &first);
  for (uint32_t i = 0; i < files->delta_count; i++) put_file(out, &files->deltas[i], &first);
  put_file(out, &files->ivf, &first);
  put_file(out, &files->lexical, &first);
  put_text(out, first ? "]\n}\n" : "\n  ]\n}\n");
  /* A reader tells manifests apart by inode, size and time. An inode comes back after two saves, and file times stand
   * still for some milliseconds, so the size says the generation too: trailing spaces up to its remainder by 64. */
  while (!out->failed && out->bytes % 64 != generation % 64) put_text(out, " ");
  if (out->failed) return ty_fail(err, TY_NO_MEMORY, "out of memory writing %s", TY_MANIFEST_NAME);
  if (out->bytes > TY_MANIFEST_MAX) return bad(err, TY_INVALID, "larger than 16 MiB");
  return TY_OK;
}

/* The schema: the keys of a collection's JSON as its creator gave them. */
#include <string.h>
#include "disk/json.h"
#include "disk/schema.h"

/* Where no note says it. */
#define HISTORY_DAYS    30u
#define HISTORY_PERCENT 25u

static const char *const keys[TY_SCHEMA_KEYS] = {"name",
                                                 "dim",
                                                 "dtype",
                                                 "key_name",
                                                 "filter_columns",
                                                 "telys_version",
                                                 "default_target_recall",
                                                 "applied_tuner",
                                                 "lexical",
                                                 "embedder_profile",
                                                 "notes"};

const char *const ty_own_keys[TY_OWN_KEYS] = {"id_map",     "format_version", "generation", "live_rows",
                                              "total_rows", "superseded",     "files",      "crc32c"};

static bool is_description(ty_slice value) { return ty_json_is_string(value) && value.bytes - 2 <= TY_DESCRIPTION_MAX; }

ty_status ty_schema_take(ty_schema *s, ty_slice key, ty_slice value, ty_status status, ty_error *err) {
  int shown = (int)(key.bytes < 64 ? key.bytes : 64);
  for (int i = 0; i < TY_SCHEMA_KEYS; i++) {
    if (!ty_json_is(key, keys[i])) continue;
    if (s->members[i].data != NULL)
      return ty_fail(err, status, TY_MANIFEST_NAME ": the key %s is there twice", keys[i]);
    s->members[i] = value;
    return TY_OK;
  }
  if (memchr(key.data, '\\', (size_t)key.bytes) != NULL)
    return ty_fail(err, status, TY_MANIFEST_NAME ": the key %.*s has an escape", shown, key.data);
  for (uint32_t i = 0; i < s->other_count; i++) {
    if (key.bytes == s->others[i].key.bytes && memcmp(key.data, s->others[i].key.data, (size_t)key.bytes) == 0)
      return ty_fail(err, status, TY_MANIFEST_NAME ": the key %.*s is there twice", shown, key.data);
  }
  if (s->other_count == TY_OTHER_KEYS_MAX)
    return ty_fail(err, status, TY_MANIFEST_NAME ": more than %u keys beside its own", TY_OTHER_KEYS_MAX);
  if (ty_json_is(key, TY_DESCRIPTION_NAME) && !is_description(value))
    return ty_fail(err, status, TY_MANIFEST_NAME ": description is not a string of at most %u bytes",
                   TY_DESCRIPTION_MAX);
  s->others[s->other_count++] = (ty_other_key){key, value};
  return TY_OK;
}

ty_status ty_schema_with_description(ty_schema *s, ty_slice json, ty_error *err) {
  uint32_t at = 0;
  if (json.bytes > 0 && !is_description(json))
    return ty_fail(err, TY_INVALID, "the description is not a string of at most %u bytes", TY_DESCRIPTION_MAX);
  while (at < s->other_count && !ty_json_is(s->others[at].key, TY_DESCRIPTION_NAME)) at++;
  if (json.bytes == 0) {
    if (at == s->other_count) return TY_OK;
    s->other_count--;
    memmove(&s->others[at], &s->others[at + 1], (s->other_count - at) * sizeof *s->others);
    return TY_OK;
  }
  if (at == TY_OTHER_KEYS_MAX)
    return ty_fail(err, TY_INVALID, TY_MANIFEST_NAME " has %u other keys: there is no room for a description",
                   TY_OTHER_KEYS_MAX);
  static const char name[] = TY_DESCRIPTION_NAME;
  s->others[at] = (ty_other_key){{(const uint8_t *)name, sizeof name - 1}, json};
  if (at == s->other_count) s->other_count++;
  return TY_OK;
}

/* Compares two JSON strings decoded, as a name can be escaped in several ways. -1: out of memory, or no string. */
static int same_string(ty_slice a, ty_slice b) {
  ty_buffer x = {0}, y = {0};
  int result = -1;
  /* Without escapes the bytes are compared, which needs no memory. */
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

/* Of the caller's profile two members are read. distance: any other value than these two, or none, is the inner
 * product. provider: whose embedder it is; "vectors" where the rows have none. */
static void read_profile(ty_slice profile, ty_schema *s) {
  ty_json_walk walk;
  ty_slice key, value;
  s->metric = TY_INNER_PRODUCT;
  s->hashed = s->words = false;
  if (!ty_json_walk_start(&walk, profile, true)) return;
  s->words = true;
  while (ty_json_walk_next(&walk, &key, &value)) {
    /* of a duplicate member the last counts, as in JSON */
    if (ty_json_is(key, "provider")) {
      s->hashed = ty_json_is(value, "\"svc\"");
      s->words = !ty_json_is(value, "\"vectors\"");
    }
    if (!ty_json_is(key, "distance")) continue;
    s->metric = ty_json_is(value, "\"cosine\"") ? TY_COSINE : ty_json_is(value, "\"l2\"") ? TY_L2 : TY_INNER_PRODUCT;
  }
}

bool ty_note_name(ty_slice name) {
  if (name.bytes == 0 || name.bytes > TY_NOTE_NAME_MAX) return false;
  for (uint64_t i = 0; i < name.bytes; i++) {
    uint8_t c = name.data[i];
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!plain && (c == 0 || strchr("-._:", c) == NULL)) return false;
  }
  return true;
}

static ty_status check_notes(ty_slice notes, ty_status status, ty_error *err) {
  ty_json_walk walk, before;
  ty_slice key, value, other;
  if (notes.data == NULL) return TY_OK;
  if (notes.bytes > TY_NOTES_MAX)
    return ty_fail(err, status, TY_MANIFEST_NAME ": notes of %llu bytes; they may have %u in all",
                   (unsigned long long)notes.bytes, TY_NOTES_MAX);
  if (!ty_json_walk_start(&walk, notes, true)) return ty_fail(err, status, TY_MANIFEST_NAME ": notes is not an object");
  while (ty_json_walk_next(&walk, &key, &value)) {
    if (!ty_note_name(key)) return ty_fail(err, status, TY_MANIFEST_NAME ": a note has no valid name");
    /* Quadratic in the notes of one collection, of which there are a few. */
    ty_json_walk_start(&before, notes, true);
    while (ty_json_walk_next(&before, &other, &value) && other.data != key.data) {
      if (other.bytes == key.bytes && memcmp(other.data, key.data, (size_t)key.bytes) == 0)
        return ty_fail(err, status, TY_MANIFEST_NAME ": the note %.*s is there twice", (int)key.bytes, key.data);
    }
  }
  return TY_OK;
}

/* Adds a member to an object of notes of which `count` have been written. */
static void put_note(ty_buffer *out, uint64_t count, ty_slice name, ty_slice json) {
  ty_buffer_append(out, count == 0 ? "{\"" : ", \"", count == 0 ? 2 : 3);
  ty_buffer_append(out, name.data, name.bytes);
  ty_buffer_append(out, "\": ", 3);
  ty_buffer_append(out, json.data, json.bytes);
}

void ty_notes_with(const ty_schema *schema, ty_slice name, ty_slice json, ty_buffer *out) {
  ty_slice notes = schema->members[TY_KEY_NOTES], key, value;
  ty_json_walk walk;
  bool is_set = json.bytes == 0;
  uint64_t count = 0;
  if (notes.data != NULL && ty_json_walk_start(&walk, notes, true)) {
    while (ty_json_walk_next(&walk, &key, &value)) {
      if (key.bytes != name.bytes || memcmp(key.data, name.data, (size_t)key.bytes) != 0) {
        put_note(out, count++, key, value);
      } else if (!is_set) {
        put_note(out, count++, name, json);
        is_set = true;
      }
    }
  }
  if (!is_set) put_note(out, count++, name, json);
  if (count > 0) ty_buffer_append(out, "}", 1);
}

ty_status ty_schema_check(ty_schema *s, ty_status status, ty_error *err) {
  for (int i = 0; i < TY_KEY_NOTES; i++) {
    if (s->members[i].data == NULL) return ty_fail(err, status, TY_MANIFEST_NAME ": the key %s is missing", keys[i]);
  }
  uint64_t dim;
  if (!ty_json_u64(s->members[TY_KEY_DIM], &dim) || dim < 1 || dim > TY_DIM_MAX)
    return ty_fail(err, status, TY_MANIFEST_NAME ": dim is not 1 to 65536");
  s->dim = (uint32_t)dim;
  if (!read_dtype(s->members[TY_KEY_DTYPE], &s->dtype))
    return ty_fail(err, status, TY_MANIFEST_NAME ": dtype is not \"f32\", \"f16\", \"int8\" or \"int4\"");
  read_profile(s->members[TY_KEY_EMBEDDER_PROFILE], s);
  if (!ty_json_is_string(s->members[TY_KEY_NAME]))
    return ty_fail(err, status, TY_MANIFEST_NAME ": name is not a string");
  if (!ty_json_is_string(s->members[TY_KEY_KEY_NAME]))
    return ty_fail(err, status, TY_MANIFEST_NAME ": key_name is not a string");
  if (!ty_json_bool(s->members[TY_KEY_LEXICAL], &s->lexical))
    return ty_fail(err, status, TY_MANIFEST_NAME ": lexical is not a boolean");
  s->words |= s->lexical;
  double recall;
  if (!ty_json_double(s->members[TY_KEY_DEFAULT_TARGET_RECALL], &recall) || !(recall > 0 && recall <= 1))
    return ty_fail(err, status, TY_MANIFEST_NAME ": default_target_recall is not in (0, 1]");
  s->default_target_recall = recall;
  ty_json_walk walk;
  if (!ty_json_walk_start(&walk, s->members[TY_KEY_FILTER_COLUMNS], false))
    return ty_fail(err, status, TY_MANIFEST_NAME ": filter_columns is not an array");
  ty_slice key, value;
  s->columns = 0;
  while (ty_json_walk_next(&walk, &key, &value)) {
    if (!ty_json_is_string(value))
      return ty_fail(err, status, TY_MANIFEST_NAME ": filter_columns holds something other than strings");
    if (s->columns == 0 && same_string(value, s->members[TY_KEY_KEY_NAME]) != 1)
      return ty_fail(err, status, TY_MANIFEST_NAME ": filter_columns does not begin with key_name");
    if (++s->columns > TY_MAX_COLUMNS)
      return ty_fail(err, status, TY_MANIFEST_NAME ": more than %u filter_columns", TY_MAX_COLUMNS);
  }
  if (s->columns == 0) return ty_fail(err, status, TY_MANIFEST_NAME ": filter_columns is empty");
  return check_notes(s->members[TY_KEY_NOTES], status, err);
}

ty_status ty_schema_read(ty_slice json, ty_schema *out, ty_error *err) {
  *out = (ty_schema){0};
  ty_slice object, key, value;
  ty_json_walk walk;
  if (json.bytes > TY_MANIFEST_MAX || !ty_json_check(json, &object) || !ty_json_walk_start(&walk, object, true))
    return ty_fail(err, TY_INVALID, "the schema is not a JSON object");
  while (ty_json_walk_next(&walk, &key, &value)) {
    for (int i = 0; i < TY_OWN_KEYS; i++) {
      if (ty_json_is(key, ty_own_keys[i])) return ty_fail(err, TY_INVALID, "a schema has no key %s", ty_own_keys[i]);
    }
    ty_status status = ty_schema_take(out, key, value, TY_INVALID, err);
    if (status != TY_OK) return status;
  }
  return ty_schema_check(out, TY_INVALID, err);
}

static void put(ty_buffer *out, const char *text) { ty_buffer_append(out, text, strlen(text)); }

void ty_schema_put(const ty_schema *schema, bool id_map, ty_buffer *out) {
  for (int i = 0; i < TY_SCHEMA_KEYS; i++) {
    if (schema->members[i].data == NULL) continue;
    put(out, i == 0 ? "{\n  \"" : ",\n  \"");
    put(out, keys[i]);
    put(out, "\": ");
    ty_buffer_append(out, schema->members[i].data, schema->members[i].bytes);
    if (id_map && i == TY_KEY_FILTER_COLUMNS) put(out, ",\n  \"id_map\": \"" TY_ID_MAP_NAME "\"");
  }
  for (uint32_t i = 0; i < schema->other_count; i++) {
    put(out, ",\n  \"");
    ty_buffer_append(out, schema->others[i].key.data, schema->others[i].key.bytes);
    put(out, "\": ");
    ty_buffer_append(out, schema->others[i].value.data, schema->others[i].value.bytes);
  }
}

void ty_schema_write(const ty_schema *schema, ty_buffer *out) {
  ty_schema_put(schema, false, out);
  put(out, "\n}");
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
  return ty_fail(err, TY_INVALID, "another process has saved a collection of this name with another %s: call again",
                 differs);
}

ty_history_rule ty_schema_history(const ty_schema *schema) {
  ty_history_rule rule = {HISTORY_DAYS, HISTORY_PERCENT};
  ty_json_walk notes, walk;
  ty_slice name, note, key, value;
  if (schema->members[TY_KEY_NOTES].data == NULL || !ty_json_walk_start(&notes, schema->members[TY_KEY_NOTES], true))
    return rule;
  while (ty_json_walk_next(&notes, &name, &note)) {
    if (!ty_json_is(name, "history") || !ty_json_walk_start(&walk, note, true)) continue;
    while (ty_json_walk_next(&walk, &key, &value)) {
      uint64_t n;
      if (!ty_json_u64(value, &n)) continue;
      if (ty_json_is(key, "days")) rule.days = n;
      if (ty_json_is(key, "percent")) rule.percent = n;
    }
  }
  return rule;
}

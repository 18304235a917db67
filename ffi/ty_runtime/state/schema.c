/* The schema in memory. */
#include "state/load.h"
#include "state/state.h"

ty_status ty_adopt_schema(ty_collection *c, const ty_schema *schema, ty_error *err) {
  ty_buffer text = {0};
  ty_schema_write(schema, &text);
  if (text.failed) {
    ty_buffer_free(&text);
    return ty_fail(err, TY_NO_MEMORY, "out of memory for a schema");
  }
  ty_buffer_free(&c->schema);
  c->schema = text;
  c->dim = schema->dim;
  c->dtype = schema->dtype;
  c->metric = schema->metric;
  c->columns = schema->columns;
  c->lexical = schema->lexical;
  c->words = schema->words;
  c->hashed = schema->hashed;
  c->default_target_recall = schema->default_target_recall;
  c->history = ty_schema_history(schema);
  return TY_OK;
}

/* Takes the place of the schema in memory, where it is one; a change keeps the one before it. */
static ty_status replace(ty_collection *c, ty_schema *schema, ty_error *err) {
  ty_buffer text = {0};
  ty_status status = TY_OK;
  ty_schema_write(schema, &text);
  if (text.failed) status = ty_fail(err, TY_NO_MEMORY, "out of memory for the schema");
  if (status == TY_OK) status = ty_schema_read((ty_slice){text.data, text.bytes}, schema, err);
  if (status != TY_OK) {
    ty_buffer_free(&text);
    return status;
  }
  pthread_rwlock_wrlock(&c->lock);
  if (c->state->kept_schema.bytes == 0) c->state->kept_schema = c->schema;
  else ty_buffer_free(&c->schema);
  c->schema = text;
  c->default_target_recall = schema->default_target_recall;
  c->history = ty_schema_history(schema);
  pthread_rwlock_unlock(&c->lock);
  return TY_OK;
}

ty_status ty_schema_set(ty_collection *c, int key, ty_slice json, ty_error *err) {
  ty_schema schema;
  ty_status status = ty_schema_read((ty_slice){c->schema.data, c->schema.bytes}, &schema, err);
  if (status != TY_OK) return status;
  schema.members[key] = json;
  return replace(c, &schema, err);
}

ty_status ty_schema_describe(ty_collection *c, ty_slice json, ty_error *err) {
  ty_schema schema;
  ty_status status = ty_schema_read((ty_slice){c->schema.data, c->schema.bytes}, &schema, err);
  if (status == TY_OK) status = ty_schema_with_description(&schema, json, err);
  return status == TY_OK ? replace(c, &schema, err) : status;
}

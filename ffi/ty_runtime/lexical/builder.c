/* What the files that build an index share: growing arrays, writing to the sink, progress. */
#include "lexical/builder.h"

ty_status ty_builder_no_memory(ty_error *err) {
  return ty_fail(err, TY_NO_MEMORY, "not enough memory to build the lexical index");
}

void *ty_builder_room(ty_lexical_builder *b, ty_growing *g, uint64_t bytes) {
  void *at = ty_growing_room(ty_dir_of(b->r->c), g, bytes);
  if (at == NULL) b->failed = true;
  return at;
}

static void to_sink(ty_lexical_builder *b, const void *data, uint64_t bytes) {
  if (!b->unwritten && !b->sink->put(b->sink->ctx, data, bytes)) b->unwritten = true;
}

void ty_builder_flush(ty_lexical_builder *b) {
  to_sink(b, b->out, b->held);
  b->held = 0;
}

void ty_builder_put(ty_lexical_builder *b, const void *data, uint64_t bytes) {
  if (bytes == 0) return;
  if (bytes > TY_BUILD_OUT - b->held) ty_builder_flush(b);
  if (bytes > TY_BUILD_OUT) {
    to_sink(b, data, bytes);
    return;
  }
  memcpy(b->out + b->held, data, (size_t)bytes);
  b->held += bytes;
}

ty_status ty_builder_look(ty_lexical_builder *b, double part) {
  ty_phases_set(&b->r->phases, TY_PHASE_LEXICAL, (uint64_t)(part * 1e6), 1000000);
  if (b->unwritten) return TY_IO;
  if (!ty_cancelled(b->r->phases.progress)) return TY_OK;
  return ty_fail(b->err, TY_CANCELLED, "the build of the lexical index was cancelled");
}

#include "state/rebase.h"

#include <errno.h>
#include <math.h>

#include "disk/slab.h"
#include "ivf/builder.h"
#include "lexical/lexical.h"
#include "rows/symbols_sample.h"
#include "rows/vector.h"
#include "rows/vertical.h"
#include "state/state.h"

/* Of a smaller base, what it has once does not tell how much it has for each row. */
#define ROWS_LEAST 256u
/* Where no base says it: what a row has in addition to vector, text, id and metadata; how much ids and metadata take
 * packed; how much a lexical index takes of texts, or of kept terms. */
#define ROW_BESIDES      24.0
#define OF_STRINGS       0.6
#define ID_BYTES         16u
#define LEXICAL_OF_TEXTS 0.1
#define LEXICAL_OF_TERMS 0.65
/* What is refused has less room than this part of the estimate: the rest may be its error. */
#define REFUSED_BELOW 0.8

/* What a row without its text takes in a base: of the one that is there, or by the forms of its vector. */
static double row_bytes(const ty_collection *c) {
  const ty_segment *base = &c->base;
  uint64_t texts = base->count > 0 && base->text_ends != NULL ? base->text_ends[base->count - 1] : 0;
  if (base->count >= ROWS_LEAST) return (double)(c->store->files.base.bytes - texts) / (double)base->count;
  double dim = c->dim, blocks = AME_BLOCK_BYTES(c->dim) / 16.0, codes = AME_CODE_STRIDE(c->dim);
  if (c->delta.vertical.lines != NULL || base->vertical.lines != NULL)
    return ROW_BESIDES + (c->dtype == TY_INT4 ? dim / 2 : dim);
  double stored = c->dtype == TY_F32 ? 4 * dim : c->dtype == TY_F16 ? 2 * dim : 0;
  return ROW_BESIDES + blocks + (c->dtype == TY_INT4 ? 0 : codes + 16) + stored;
}

static ty_ref row_of(const void *segment, uint64_t i) { return (ty_ref){segment, i}; }

/* What coding leaves of texts that are not coded: as much as of those of the base, or of a sample. */
static double text_share(const ty_collection *c, double bytes) {
  const ty_segment *base = &c->base, *from = c->delta.count > 0 ? &c->delta : base;
  const double all = base->symbols == NULL ? 0 : (double)base->symbols->head.text_bytes;
  if (all > 0 && base->text_ends != NULL) return (double)base->text_ends[base->count - 1] / all;
  if (bytes < (double)c->env->coded_from) return 1;
  ty_text_reader reader = {0};
  ty_symbols symbols;
  double share;
  (void)ty_symbols_of_rows(&(ty_text_rows){row_of, from, from->count}, &reader, NULL, &symbols, &share);
  ty_buffer_free(&reader.text);
  return share;
}

/* Bytes of a segment's live rows; ids, metadata and terms of a delta only. */
typedef struct live_bytes {
  double texts, strings, terms;
} live_bytes;

static live_bytes count_live(const ty_segment *s) {
  live_bytes n = {0};
  for (uint64_t at = 0; at < s->count; at++) {
    if (s->dead[at]) continue;
    n.texts += (double)ty_row_stored_text(s, at).bytes;
    if (s->is_base) continue;
    n.strings += (double)(s->payload[at].id.bytes + s->payload[at].meta.bytes);
    n.terms += (double)s->payload[at].terms.bytes;
  }
  return n;
}

/* What the history takes that is written beside the new base: dead rows, and a change for each row of the deltas. Rows
 * of files, which it leaves out, have no text. Its bound is left aside: it keeps what was deleted last. */
static double history_bytes(const ty_collection *c, const ty_rebase_wish *wish) {
  const ty_segment *segments[] = {&c->base, &c->delta};
  const bool codes = c->delta.vertical.lines != NULL || c->base.vertical.lines != NULL;
  const uint64_t vector = ty_form_bytes(ty_form_of(c, codes && c->dtype == TY_F32), c->dim);
  const uint64_t change = sizeof(ty_history_change) + ID_BYTES;
  uint64_t bytes = c->store->files.history.bytes + c->delta.count * change;
  if (wish->history.drop || c->history.days == 0) return 0;
  for (int i = 0; i < 2; i++) {
    for (uint64_t at = 0; at < segments[i]->count; at++) {
      if (!segments[i]->dead[at]) continue;
      const uint64_t text = ty_row_text_bytes(segments[i], at);
      if (ty_row_has_text(segments[i], at) || !c->lexical) bytes += change + sizeof(ty_history_row) + vector + text;
    }
  }
  return (double)bytes;
}

uint64_t ty_room_need(const ty_collection *c, const ty_rebase_wish *wish) {
  const ty_files *files = &c->store->files;
  live_bytes base = count_live(&c->base), delta = count_live(&c->delta);
  double rows = (double)(c->base.live + c->delta.live);
  double had = (double)c->base.count, all = (double)ty_total_rows(c);
  bool enough = c->base.count >= ROWS_LEAST;
  const double share = text_share(c, base.texts + delta.texts);
  double need = rows * row_bytes(c) + base.texts * (c->base.symbols == NULL ? share : 1) + delta.texts * share;
  if (!enough) need += delta.strings * OF_STRINGS;
  if (wish->lexical && enough && files->lexical.bytes > 0) need += (double)files->lexical.bytes * rows / had;
  else if (wish->lexical) need += delta.texts * LEXICAL_OF_TEXTS + delta.terms * LEXICAL_OF_TERMS;
  if (wish->ivf && files->ivf.bytes > 0 && !wish->retrain) need += (double)files->ivf.bytes;
  else if (wish->ivf)
    need += (double)ty_ivf_lists_for((uint64_t)rows) * (5.2 * c->dim + 500) + rows * (c->dim / 8.0 + 12);
  if (all > 0) need += (double)files->id_map.bytes * rows / all;
  need += history_bytes(c, wish);
  return (uint64_t)(need + (double)(files->meaning.bytes + c->store->manifest_bytes));
}

ty_status ty_room_check(const ty_collection *c, const ty_rebase_wish *wish, const char *what, ty_error *err) {
  uint64_t room;
  if (c->generation == 0 || c->env->os.space(&c->env->os, c->dir, &room) < 0) return TY_OK;
  if (room / 4 > ty_files_bytes(&c->store->files)) return TY_OK; /* without a look at every row */
  uint64_t need = ty_room_need(c, wish);
  if ((double)room >= (double)need * REFUSED_BELOW) return TY_OK;
  double mib = 1024 * 1024;
  ty_fail(err, TY_IO, "%s needs about %.1f MiB on the disk of the memory directory, and %.1f MiB are free", what,
          ceil((double)need / mib * 10) / 10, floor((double)room / mib * 10) / 10);
  err->sys_errno = ENOSPC;
  return TY_IO;
}

/* Puts the newer one of two hits first where both are about the same thing: an agent notes what has changed, and seldom
 * deletes what it noted before.
 *
 * Two texts are about the same thing if the rarer words that they share have half of the weight of the rarer words of
 * the text in which these weigh less, and the question's words weigh at least as much in the newer text as in the older
 * one: "the code of the bike cellar" does not replace "the code of the server room" for a question about the server
 * room. A text with a word of change ("Adyen now, no longer Stripe") needs no word of the question. Of 60 questions
 * about something that has changed the newer note is first in 23 where it was in 10; of 40 about the older one of two
 * similar notes 39 are right as before. Comparing five hits instead of three, or less that is shared (.4: 30 of the
 * 60), loses .003 to .009 nDCG@10 on locomo without its sessions.
 *
 * Nothing is compared if the caller ranks further, by recency or by a time that the question names (TY_WITH_ALL without
 * TY_WITH_NEWER), or if one of the first ten rows of the search is a turn of a conversation (ask_turns.c): turns tell
 * what was said when, and locomo lost .007. */
#include <stdlib.h>

#include "calls/ask_run.h"
#include "lexical/passage.h"
#include "rows/checks.h"

/* Hits that are compared with each other. */
#define HITS_MOST 3u
/* Terms of a text; texts with more, or with more than 1,200 characters, are not compared. */
#define TERMS_MOST 256u
/* What was put within a minute was put together, and is not newer. */
#define APART_MS 60000u
/* Words of less worth are in most texts. */
#define RARE_WORTH   0.7
#define SHARED_LEAST 0.5

/* Words of texts that say that something is not as it was. */
static const char CHANGES[] =
    "now longer anymore instead replaced switched moved changed dropped removed gone left since new "
    "jetzt statt neu ersetzt maintenant remplacé nouveau ahora nuevo reemplazado";

typedef struct note {
  uint32_t hashes[TERMS_MOST];
  float worth[TERMS_MOST];
  uint32_t count;
  double weight; /* of its rare words */
  double asked;  /* the weight of the question's words that it has */
  uint64_t updated;
  bool changes, usable;
} note;

typedef struct reading {
  const ame_kernel *k;
  note *n;
} reading;

static bool has(const uint32_t *hashes, uint32_t count, uint32_t hash) {
  for (uint32_t i = 0; i < count; i++)
    if (hashes[i] == hash) return true;
  return false;
}

static uint32_t take(void *context, const ame_word *w) {
  reading *r = context;
  note *n = r->n;
  if (has(n->hashes, n->count, w->hash)) return 0;
  if (n->count == TERMS_MOST) {
    n->usable = false;
    return 1;
  }
  float worth = (float)r->k->term_worth(w->term, w->term_bytes);
  n->hashes[n->count] = w->hash;
  n->worth[n->count++] = worth >= (float)RARE_WORTH ? worth : 0;
  return 0;
}

static void read_words(const ame_kernel *k, ty_slice text, note *out) {
  reading r = {k, out};
  out->count = 0;
  out->usable = true;
  k->token_words(text.data, (size_t)text.bytes, take, &r);
}

static void read_note(const ty_ask_run *x, ty_ref ref, const note *changes, ty_text_reader *r, note *out) {
  const question *q = x->words;
  bool has_text;
  out->usable = false;
  /* Of a text that is surely long not even the checksum is compared; coded, a text is at most twice as long. */
  if (ty_row_stored_text(ref.segment, ref.at).bytes > 2 * TY_LONG_TEXT_BYTES) return;
  if (!ty_text_intact(ref.segment, ref.at)) return;
  ty_slice text = ty_row_text(ref.segment, ref.at, r, &has_text);
  if (!has_text || ty_is_long_text(text)) return;
  read_words(x->env->kernel, text, out);
  out->weight = out->asked = 0;
  out->changes = false;
  for (uint32_t i = 0; i < out->count; i++) {
    out->weight += (double)out->worth[i];
    out->changes |= has(changes->hashes, changes->count, out->hashes[i]);
  }
  for (uint32_t i = 0; i < q->count; i++)
    if (has(out->hashes, out->count, q->terms[i].hash)) out->asked += (double)q->terms[i].part.weight;
}

static bool replaces(const note *newer, const note *older) {
  double shared = 0, least = newer->weight < older->weight ? newer->weight : older->weight;
  if (!newer->usable || !older->usable || newer->updated < older->updated + APART_MS) return false;
  if (!newer->changes && newer->asked < older->asked) return false;
  for (uint32_t i = 0; i < newer->count; i++)
    if (newer->worth[i] > 0 && has(older->hashes, older->count, newer->hashes[i])) shared += (double)newer->worth[i];
  return shared > 0 && shared >= SHARED_LEAST * least;
}

/* Moves a row up to an earlier place; the scores stay at their places. */
static void move_up(ty_fused *rows, note *notes, uint64_t from, uint64_t to) {
  ty_fused row = rows[from];
  note one = notes[from];
  for (uint64_t i = from; i > to; i--) {
    double score = rows[i].row.score;
    rows[i] = rows[i - 1];
    rows[i].row.score = score;
    notes[i] = notes[i - 1];
  }
  row.row.score = rows[to].row.score;
  rows[to] = row;
  notes[to] = one;
}

static ty_status no_memory(ty_error *err) { return ty_fail(err, TY_NO_MEMORY, "not enough memory to compare hits"); }

ty_status ty_ask_run_newer(ty_ask_run *x, ty_error *err) {
  uint64_t n = x->count < HITS_MOST ? x->count : HITS_MOST, earliest = UINT64_MAX, latest = 0;
  uint64_t updated[HITS_MOST];
  if ((x->a->what & (TY_WITH_ALL | TY_WITH_NEWER)) == TY_WITH_ALL || x->has_turns) return TY_OK;
  for (uint64_t i = 0; i < n; i++) {
    ty_ref ref = ty_ask_run_row(x, &x->fused[i]).ref;
    updated[i] = ty_row_times(ref.segment, ref.at).updated;
    if (updated[i] < earliest) earliest = updated[i];
    if (updated[i] > latest) latest = updated[i];
  }
  if (n < 2 || latest < earliest + APART_MS) return TY_OK;
  note *notes = malloc((HITS_MOST + 1) * sizeof *notes), *changes = notes + HITS_MOST;
  if (notes == NULL) return no_memory(err);
  read_words(x->env->kernel, (ty_slice){(const uint8_t *)CHANGES, sizeof CHANGES - 1}, changes);
  ty_text_reader r = {.most = TY_LONG_TEXT_BYTES};
  for (uint64_t i = 0; i < n; i++) {
    notes[i].updated = updated[i];
    read_note(x, ty_ask_run_row(x, &x->fused[i]).ref, changes, &r, &notes[i]);
  }
  const bool failed = r.text.failed;
  ty_buffer_free(&r.text);
  for (uint64_t i = 0; i < n && !failed; i++)
    for (uint64_t j = i + 1; j < n; j++)
      if (replaces(&notes[j], &notes[i])) move_up(x->fused, notes, j, i);
  free(notes);
  return failed ? no_memory(err) : TY_OK;
}

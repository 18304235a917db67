/* A text to pieces: characters as NFKC has them, words at white space, and each word as the pieces whose probabilities
 * have the largest product (a unigram model, as in Kudo, 2018).
 *
 * NFKC is close, not complete: marks are not put into their canonical order, and letters of Hangul are not composed.
 * That changes no piece of a character that the vocabulary lacks, and it has no Hangul. */
#include "encode/encode.h"

/* A longer word is cut. */
#define WORD_MOST  512u
#define SPACE_MARK 0x2581u /* a word's first character, in place of the space */

#define UNKNOWN_SCORE (-20 * (1 << 24))
#define UNREACHED     INT64_MIN

typedef struct word {
  uint32_t count, letters;
  uint32_t is_gated; /* it begins early enough to count for the gate */
  uint32_t chars[WORD_MOST];
} word;

/* One more than the character's place; 0 for one of no piece. */
static uint32_t class_of(const encoder_model *m, uint32_t c) {
  uint32_t low = 0, high = m->char_count;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (m->chars[middle] < c) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < m->char_count && m->chars[low] == c ? low + 1 : 0;
}

static const encoder_form *form_of(const encoder_model *m, uint32_t c) {
  if (c < 0xa0) return NULL;
  uint32_t low = 0, high = m->form_count;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (m->forms[middle].character < c) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < m->form_count && m->forms[low].character == c ? &m->forms[low] : NULL;
}

/* 0 if the two stay two. All characters that join the one before them are above U+02FF. */
static uint32_t composed_of(const encoder_model *m, uint32_t first, uint32_t second) {
  if (second < 0x300) return 0;
  uint32_t low = 0, high = m->pair_count;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    const encoder_pair *p = &m->pairs[middle];
    if (p->first < first || (p->first == first && p->second < second)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == m->pair_count || m->pairs[low].first != first || m->pairs[low].second != second) return 0;
  return m->pairs[low].composed;
}

/* White space that NFKC leaves as it is. */
static int is_space(uint32_t c) {
  return (c >= 9 && c <= 13) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0x1680 || c == 0x2028 || c == 0x2029;
}

typedef struct step {
  int64_t score;
  uint16_t from, piece;
} step;

static void reach(step *to, int64_t score, uint32_t from, uint32_t piece) {
  if (score < to->score) return; /* of two equal ones the one with the shorter last piece */
  to->score = score;
  to->from = (uint16_t)from;
  to->piece = (uint16_t)piece;
}

/* Finds the best way to each place in a word. Every place that is reached reaches a later one. */
static void find_pieces(const encoder_model *m, const uint8_t *classes, uint32_t count, step *steps) {
  steps[0] = (step){0, 0, 0};
  for (uint32_t i = 1; i <= count; i++) steps[i] = (step){UNREACHED, 0, 0};
  for (uint32_t i = 0; i < count; i++) {
    if (steps[i].score == UNREACHED) continue;
    uint32_t node = 0, found = 0;
    for (uint32_t j = i; j < count && classes[j]; j++) {
      node = m->nodes[node].base + classes[j];
      if (m->nodes[node].label != classes[j]) break;
      const uint32_t piece = m->nodes[node].piece;
      if (piece == 0) continue;
      found = 1;
      reach(&steps[j + 1], steps[i].score + m->scores[piece], i, piece);
    }
    if (!found) reach(&steps[i + 1], steps[i].score + UNKNOWN_SCORE, i, 0);
  }
}

/* Adds a word's pieces, of unknown ones in a row only the first. */
static void add_word(const encoder_model *m, word *w, encoder_tokens *out) {
  uint8_t classes[WORD_MOST];
  step steps[WORD_MOST + 1];
  uint16_t pieces[WORD_MOST];
  uint32_t first = WORD_MOST;
  for (uint32_t i = 0; i < w->count; i++) classes[i] = (uint8_t)class_of(m, w->chars[i]);
  find_pieces(m, classes, w->count, steps);
  for (uint32_t at = w->count; at > 0; at = steps[at].from) pieces[--first] = steps[at].piece;
  for (; first < WORD_MOST && out->count < ENCODER_TOKENS; first++) {
    if (pieces[first] == 0 && out->count > 0 && out->ids[out->count - 1] == 0) continue;
    out->ids[out->count++] = pieces[first];
    out->pieces += w->is_gated;
    out->unknown += w->is_gated && pieces[first] == 0;
  }
  if (w->is_gated) out->letters += w->letters;
  w->count = w->letters = 0;
}

static void add_char(const encoder_model *m, word *w, uint32_t c, uint32_t chars_before, encoder_tokens *out) {
  if (is_space(c)) {
    if (w->count) add_word(m, w, out);
    return;
  }
  if (w->count == 0) {
    w->is_gated = chars_before < ENCODER_GATE_CHARS;
    w->chars[w->count++] = SPACE_MARK;
  }
  uint32_t composed = w->count > 1 ? composed_of(m, w->chars[w->count - 1], c) : 0;
  if (composed) {
    w->chars[w->count - 1] = composed;
    return;
  }
  if (w->count == WORD_MOST) add_word(m, w, out); /* goes on without another mark */
  w->chars[w->count++] = c;
}

void encoder_tokenize(const encoder_model *m, const uint8_t *text, size_t bytes, encoder_tokens *out) {
  word w;
  w.count = w.letters = w.is_gated = 0;
  out->count = out->letters = out->pieces = out->unknown = 0;
  if (bytes > ENCODER_TEXT_MOST) bytes = ENCODER_TEXT_MOST;
  uint32_t chars = 0;
  for (size_t at = 0; at < bytes && out->count < ENCODER_TOKENS; chars++) {
    const uint32_t c = text_next(text, bytes, &at);
    const encoder_form *form = form_of(m, c);
    const uint32_t *now = form ? m->form_chars + form->at : &c;
    for (uint32_t i = 0; i < (form ? form->count : 1u); i++) add_char(m, &w, now[i], chars, out);
    const char_kind kind = text_kind(c);
    if (w.count > 0 && (kind == CHAR_LETTER || kind == CHAR_UNSPACED)) w.letters++;
  }
  if (w.count) add_word(m, &w, out);
}

#include "lexical/passage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "os/plant.h"

/* A sentence goes on until it has so many characters, and is cut where it has many: so a passage has at most some eight
 * sentences, whatever the text is. */
#define SENTENCE_LEAST 80u
#define SENTENCE_MOST  240u
/* Bytes of a character, at most. */
#define CHAR_BYTES 4u

typedef struct ty_passage_term {
  double weight, information;
  uint32_t tf; /* in the passage that is being scored */
} ty_passage_term;

typedef struct sentence {
  uint64_t from, to;
  uint32_t chars, tokens;
  uint32_t first, end; /* its matches */
} sentence;

static bool is_char_start(uint8_t byte) { return (byte & 0xc0) != 0x80; }

/* Counts 64 bytes at a time without an early exit, which compilers vectorise: a fused search asks it of a hundred
 * texts. */
bool ty_is_long_text(ty_slice text) {
  uint64_t chars = 0, at = 0;
  if (text.bytes <= TY_LONG_TEXT_CHARS) return false;
  for (; text.bytes - at >= 64 && chars <= TY_LONG_TEXT_CHARS; at += 64) {
    uint8_t some = 0;
    for (uint32_t i = 0; i < 64; i++) some += is_char_start(text.data[at + i]);
    chars += some;
  }
  for (; at < text.bytes && chars <= TY_LONG_TEXT_CHARS; at++) chars += is_char_start(text.data[at]);
  return chars > TY_LONG_TEXT_CHARS;
}

static bool is_ascii(const uint8_t *text, uint64_t bytes) {
  uint8_t all = 0;
  for (uint64_t i = 0; i < bytes; i++) all |= text[i];
  return all < 0x80;
}

bool ty_is_plain_text(ty_slice text) {
  if (!is_ascii(text.data, text.bytes)) return false;
  for (uint64_t at = 0; text.bytes - at >= SENTENCE_MOST;) {
    const uint8_t *space = memchr(text.data + at, ' ', SENTENCE_MOST);
    if (space == NULL) return false;
    at = (uint64_t)(space - text.data) + 1;
  }
  return true;
}

/* A score is a sum of parts that were each rounded to a whole number of 2^-scale, at least 1, from operations in f32.
 */
double ty_passage_bound(const question *q, ty_ref row, double score) {
  const double rounding = 1 + 0x1p-16;
  if (q->count == 0) return 0;
  if (TY_PLANTED(PASSAGE_OF_ROW)) return score;
  const uint32_t *lengths = row.segment->is_base ? q->x->image.lengths : q->x->delta_lengths;
  const ame_bm25 *part = &q->terms[0].part;
  const double fixed = (double)part->fixed, norm = fixed + (double)part->slope * (lengths[row.at] & INT32_MAX);
  return (score + ldexp(q->count, -q->scale)) * (1 + norm) / (1 + fixed) * rounding;
}

static bool is_blank(uint8_t byte) { return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r'; }

/* Whether a sentence or line ends before `at`: a line break, a full stop and a blank, or the full stop of a script
 * without spaces (U+3002, U+FF01, U+FF1F). */
static bool ends_before(ty_slice text, uint64_t at) {
  const uint8_t *d = text.data;
  uint8_t last = d[at - 1];
  if (last == '\n') return true;
  if (last == '.' || last == '!' || last == '?') return at < text.bytes && is_blank(d[at]);
  if (at < 3) return false;
  if (d[at - 3] == 0xe3) return d[at - 2] == 0x80 && last == 0x82;
  return d[at - 3] == 0xef && d[at - 2] == 0xbc && (last == 0x81 || last == 0x9f);
}

/* False only if none of STOPS_TOGETHER bytes can end a sentence; true for fewer bytes. Without a branch for each. */
#define STOPS_TOGETHER 32u
static bool may_have_stop(const uint8_t *text, uint64_t bytes) {
  uint8_t any = 0;
  if (bytes < STOPS_TOGETHER) return true;
  for (uint32_t i = 0; i < STOPS_TOGETHER; i++)
    any |= (uint8_t)((text[i] == '\n') | (text[i] == '.') | (text[i] == '!') | (text[i] == '?'));
  return any != 0;
}

/* The end of the sentence that begins at `from`. The characters up to `end` are ASCII: the end of the text, or one
 * character beyond the longest sentence. */
static uint64_t ascii_end(ty_slice text, uint64_t from, uint64_t end) {
  const uint64_t most = from + SENTENCE_MOST, last = end < most ? end : most;
  for (uint64_t at = from + SENTENCE_LEAST; at < last;) {
    const uint64_t next = at + STOPS_TOGETHER < last ? at + STOPS_TOGETHER : last;
    if (may_have_stop(text.data + at - 1, next - at))
      for (uint64_t i = at; i < next; i++)
        if (ends_before(text, i)) return i;
    at = next;
  }
  if (end <= most) return end;
  for (uint64_t at = most; at > from; at--)
    if (text.data[at - 1] == ' ') return at;
  return most;
}

/* The end of the sentence that begins at `from`, and its characters; of bytes that are not UTF-8 one in four counts. */
static uint64_t sentence_end(ty_slice text, uint64_t from, uint32_t *chars) {
  const uint64_t ahead = text.bytes - from < SENTENCE_MOST + 1 ? text.bytes - from : SENTENCE_MOST + 1;
  if (is_ascii(text.data + from, ahead)) {
    const uint64_t end = ascii_end(text, from, from + ahead);
    *chars = (uint32_t)(end - from);
    return end;
  }
  uint64_t at = from, space = 0;
  uint32_t n = 0, before_space = 0;
  while (at < text.bytes && at - from < CHAR_BYTES * SENTENCE_MOST) {
    if (is_char_start(text.data[at])) {
      if (n == SENTENCE_MOST) {
        *chars = space > from ? before_space : n;
        return space > from ? space : at;
      }
      if (n >= SENTENCE_LEAST && ends_before(text, at)) break;
      n++;
    }
    at++;
    if (text.data[at - 1] == ' ') {
      space = at;
      before_space = n;
    }
  }
  uint32_t least = (uint32_t)((at - from) / CHAR_BYTES);
  *chars = n > least ? n : least;
  return at;
}

static void take_hash(void *context, uint32_t hash) {
  ty_passage_finder *p = context;
  if ((p->filter[hash >> 6 & 15] >> (hash & 63) & 1) == 0) return;
  uint32_t term = ty_bag_find(&p->terms, hash);
  if (term != TY_NO_TERM) ty_buffer_append(&p->matches, &term, sizeof term);
}

ty_status ty_passage_open(ty_passage_finder *p, const question *q, ty_error *err) {
  const ame_kernel *k = q->c->env->kernel;
  *p = (ty_passage_finder){.q = q};
  p->weights = calloc((size_t)q->count + 1, sizeof *p->weights);
  bool good = p->weights != NULL;
  for (uint32_t i = 0; i < q->count && good; i++) {
    const query_term *t = &q->terms[i];
    uint32_t number = ty_bag_add(&p->terms, t->hash);
    good = number != TY_NO_TERM;
    if (!good) break;
    p->weights[number].weight += ldexp((double)t->part.weight, -q->scale);
    if (t->information > p->weights[number].information) p->weights[number].information = t->information;
    p->filter[t->hash >> 6 & 15] |= UINT64_C(1) << (t->hash & 63);
    k->want_term(&p->wanted, q->text.data + t->text, t->text_bytes);
  }
  return good ? TY_OK : ty_fail(err, TY_NO_MEMORY, "not enough memory for the passages of a query");
}

/* Cuts the text into sentences and looks the question's words up in them. */
static bool read_text(ty_passage_finder *p, ty_slice text) {
  const ame_kernel *k = p->q->c->env->kernel;
  p->sentences.bytes = p->matches.bytes = 0;
  for (uint64_t from = 0; from < text.bytes;) {
    sentence s = {.from = from, .first = (uint32_t)(p->matches.bytes / sizeof(uint32_t))};
    from = s.to = sentence_end(text, from, &s.chars);
    s.tokens = (uint32_t)k->wanted_hashes(&p->wanted, text.data + s.from, (size_t)(s.to - s.from), take_hash, p);
    s.end = (uint32_t)(p->matches.bytes / sizeof(uint32_t));
    ty_buffer_append(&p->sentences, &s, sizeof s);
  }
  return !p->sentences.failed && !p->matches.failed;
}

/* BM25 of sentences `first` .. `end`, as of a row. */
static double rate(ty_passage_finder *p, const sentence *s, uint64_t first, uint64_t end) {
  const uint32_t *matches = (const uint32_t *)(const void *)p->matches.data;
  ame_bm25 norm = p->q->count > 0 ? p->q->terms[0].part : (ame_bm25){0};
  double tokens = 0, score = 0;
  for (uint64_t i = first; i < end; i++) {
    tokens += s[i].tokens;
    for (uint32_t m = s[i].first; m < s[i].end; m++) p->weights[matches[m]].tf++;
  }
  double length = (double)norm.fixed + (double)norm.slope * tokens;
  for (uint32_t m = s[first].first; m < s[end - 1].end; m++) {
    ty_passage_term *t = &p->weights[matches[m]];
    if (t->tf == 0) continue; /* counted; with k1 = 0 it would be 0 / 0 */
    score += t->weight * t->tf / (t->tf + length);
    t->tf = 0;
  }
  return score;
}

typedef struct locating {
  ty_passage_finder *p;
  double most;
  uint64_t from, to; /* of the heaviest word, in the sentence; of one in a run without spaces those of the run */
} locating;

static uint32_t locate(void *context, const ame_word *w) {
  locating *l = context;
  uint32_t term = ty_bag_find(&l->p->terms, w->hash);
  if (term == TY_NO_TERM || l->p->weights[term].weight <= l->most) return 0;
  *l = (locating){l->p, l->p->weights[term].weight, w->from, w->to};
  return 0;
}

static void add_weight(void *context, uint32_t hash) {
  locating *l = context;
  uint32_t term = ty_bag_find(&l->p->terms, hash);
  if (term != TY_NO_TERM) l->most += l->p->weights[term].weight;
}

/* Bytes of a run that are looked at together: five characters of three bytes. */
#define RUN_BYTES 15u

/* Where the heaviest part of a run begins: the tokens of a script without spaces have no places of their own. */
static uint64_t locate_in_run(const locating *l, ty_slice run) {
  double most = 0;
  uint64_t best = 0;
  for (uint64_t at = 0; at < run.bytes; at++) {
    if (!is_char_start(run.data[at])) continue;
    uint64_t end = at + RUN_BYTES < run.bytes ? at + RUN_BYTES : run.bytes;
    while (end < run.bytes && !is_char_start(run.data[end])) end++;
    locating part = {.p = l->p};
    l->p->q->c->env->kernel->token_hashes(NULL, run.data + at, (size_t)(end - at), add_weight, &part);
    if (part.most <= most) continue;
    most = part.most;
    best = at;
  }
  return best;
}

/* The sentence of a passage that has the most of the question's words, words that other sentences have as well counting
 * less; and its heaviest word. */
static void find_best_sentence(ty_passage_finder *p, const sentence *s, uint64_t first, uint64_t end, ty_slice text,
                               ty_passage *out) {
  const uint32_t *matches = (const uint32_t *)(const void *)p->matches.data;
  const sentence *best = &s[first];
  double most = -1;
  for (uint32_t m = s[first].first; m < s[end - 1].end; m++) p->weights[matches[m]].tf++;
  for (uint64_t i = first; i < end; i++) {
    double weight = 0;
    for (uint32_t m = s[i].first; m < s[i].end; m++) {
      const ty_passage_term *t = &p->weights[matches[m]];
      weight += t->weight / t->tf;
    }
    if (weight <= most) continue;
    most = weight;
    best = &s[i];
  }
  for (uint32_t m = s[first].first; m < s[end - 1].end; m++) p->weights[matches[m]].tf = 0;
  locating l = {.p = p, .most = -1};
  ty_slice bytes = {text.data + best->from, best->to - best->from};
  p->q->c->env->kernel->token_words(bytes.data, (size_t)bytes.bytes, locate, &l);
  if (l.to - l.from > 2 * RUN_BYTES) l.from += locate_in_run(&l, (ty_slice){bytes.data + l.from, l.to - l.from});
  out->best = best->from;
  out->word = best->from + l.from;
}

/* The share of the question's information that the text which was read has. */
static double question_share(ty_passage_finder *p) {
  const uint32_t *matches = (const uint32_t *)(const void *)p->matches.data;
  uint64_t n = p->matches.bytes / sizeof *matches;
  double information = 0;
  for (uint64_t i = 0; i < n; i++)
    if (p->weights[matches[i]].tf++ == 0) information += p->weights[matches[i]].information;
  for (uint64_t i = 0; i < n; i++) p->weights[matches[i]].tf = 0;
  if (p->q->information <= 0) return 1; /* nothing is asked for */
  return information < p->q->information ? information / p->q->information : 1;
}

ty_status ty_passage_best(ty_passage_finder *p, ty_slice text, bool with_details, ty_passage *out, ty_error *err) {
  *out = (ty_passage){0};
  if (!read_text(p, text)) return ty_fail(err, TY_NO_MEMORY, "not enough memory for the passages of a text");
  const sentence *s = (const sentence *)(const void *)p->sentences.data;
  if (with_details) out->question_share = question_share(p);
  uint64_t n = p->sentences.bytes / sizeof *s, best = 0, best_end = 0, end = 0;
  uint32_t chars = 0;
  for (uint64_t i = 0; i < n; i++) {
    for (; end < n && (end == i || chars + s[end].chars <= TY_PASSAGE_CHARS); end++) chars += s[end].chars;
    chars -= s[i].chars;
    if (s[i].first == s[i].end) continue;
    double score = rate(p, s, i, end);
    if (score <= out->score) continue;
    out->score = score;
    best = i;
    best_end = end;
  }
  if (best_end == 0) return TY_OK;
  out->from = s[best].from;
  out->to = s[best_end - 1].to;
  if (with_details) find_best_sentence(p, s, best, best_end, text, out);
  return TY_OK;
}

void ty_passage_close(ty_passage_finder *p) {
  ty_bag_free(&p->terms);
  free(p->weights);
  ty_buffer_free(&p->sentences);
  ty_buffer_free(&p->matches);
}

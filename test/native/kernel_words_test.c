/* Words: the tokens of a text with the words that they are made of, tokens of some terms only, and the words one edit
 * from a word. */
#include "kernel_common.h"

#include <stdio.h>

/* ---- token_words ---- */

typedef struct token {
  uint32_t hash;
  uint8_t term[64];
  size_t bytes;
} token;

typedef struct tokens {
  token *items;
  size_t count, at, most, words;
  const uint8_t *text;
  size_t text_bytes, before;
  int wrong;
} tokens;

#define TOKENS_MOST 8192u

static void note(void *ctx, uint32_t hash, ame_form form, const uint8_t *term, size_t bytes) {
  (void)form;
  tokens *t = ctx;
  if (t->count == TOKENS_MOST || bytes > 64) abort();
  token *one = &t->items[t->count++];
  *one = (token){.hash = hash, .bytes = bytes};
  memcpy(one->term, term, bytes);
}

static uint32_t compare(void *ctx, const ame_word *w) {
  tokens *t = ctx;
  const token *one = &t->items[t->at++];
  t->wrong |= t->at > t->count || one->hash != w->hash || one->bytes != w->term_bytes ||
              memcmp(one->term, w->term, w->term_bytes) != 0;
  t->wrong |= w->from >= w->to || w->to > t->text_bytes || w->from < t->before || w->word_bytes == 0;
  t->before = w->from;
  return t->at == t->most;
}

/* ---- wanted_hashes ---- */

typedef struct some_tokens {
  const tokens *all;
  uint8_t wanted[TOKENS_MOST]; /* of each of them */
  size_t at;
  int missed;
} some_tokens;

static void skip_to(some_tokens *s, uint32_t hash) {
  while (s->at < s->all->count && s->all->items[s->at].hash != hash) s->missed |= s->wanted[s->at++];
}

static void compare_some(void *ctx, uint32_t hash) {
  some_tokens *s = ctx;
  skip_to(s, hash);
  s->missed |= s->at++ >= s->all->count;
}

/* Looks for some terms of a text: `fn` gets each of their tokens, in order, and all tokens are counted. */
static void check_some(const tokens *all) {
  static some_tokens s;
  ame_wanted wanted = {{0}};
  s.all = all, s.at = 0, s.missed = 0;
  memset(s.wanted, 0, all->count);
  for (size_t i = 0; i < all->count; i++) {
    const token *one = &all->items[i];
    if (random_u64() % 4 > 0) continue;
    kernel->want_term(&wanted, one->term, one->bytes);
    for (size_t j = 0; j < all->count; j++) s.wanted[j] |= all->items[j].hash == one->hash;
  }
  const size_t count = kernel->wanted_hashes(&wanted, all->text, all->text_bytes, compare_some, &s);
  for (; s.at < all->count; s.at++) s.missed |= s.wanted[s.at];
  CHECK_MESSAGE(!s.missed && count == all->count, "some tokens of \"%.*s\"", (int)all->text_bytes,
                (const char *)all->text);
}

/* Stems that are short, or whose end the stemmer has changed. */
static void test_wanted(void) {
  static const char *const begins[] = {"a", "o", "y", "ay", "oy", "ey", "sk", "at", "bl", "iz", "e", "fl", "hop", "yy"};
  static const char *const ends[] = {"",    "s",    "ys",    "ies",  "ing",  "ed",    "eed",   "y",
                                     "yed", "ying", "ation", "ator", "izer", "ement", "iviti", "ll"};
  token *memory = malloc(TOKENS_MOST * sizeof *memory);
  for (int round = 0; round < 400; round++) {
    char text[400] = "";
    for (int i = 0; i < 12; i++) {
      strcat(text, begins[random_u64() % (sizeof begins / sizeof *begins)]);
      if (random_u64() % 2) strcat(text, begins[random_u64() % (sizeof begins / sizeof *begins)]);
      strcat(text, ends[random_u64() % (sizeof ends / sizeof *ends)]);
      strcat(text, " ");
    }
    tokens t = {.items = memory, .text = (const uint8_t *)text, .text_bytes = strlen(text)};
    ame_tokenize(t.text, t.text_bytes, note, &t);
    check_some(&t);
  }
  free(memory);
}

static void check_words(const uint8_t *text, size_t bytes, token *memory) {
  tokens t = {.items = memory, .text = text, .text_bytes = bytes, .most = SIZE_MAX};
  ame_tokenize(text, bytes, note, &t);
  kernel->token_words(text, bytes, compare, &t);
  CHECK_MESSAGE(!t.wrong && t.at == t.count, "words of \"%.*s\"", (int)bytes, (const char *)text);
  if (t.count < 1000) check_some(&t);
  if (t.count < 2) return;
  t.at = t.before = 0, t.most = t.count / 2;
  kernel->token_words(text, bytes, compare, &t);
  CHECK(!t.wrong && t.at == t.most); /* it stops */
}

typedef struct written {
  const char *text;
  char out[512];
  size_t n;
} written;

static uint32_t write_down(void *ctx, const ame_word *w) {
  written *x = ctx;
  x->n += (size_t)snprintf(x->out + x->n, sizeof x->out - x->n, "%s%.*s=%.*s=%.*s%s", x->n > 0 ? " " : "",
                           (int)w->term_bytes, (const char *)w->term, (int)w->word_bytes, (const char *)w->word,
                           (int)(w->to - w->from), x->text + w->from, w->part ? "*" : "");
  return 0;
}

static void test_words(void) {
  static const struct {
    const char *text, *words;
  } cases[] = {
      {"", ""},
      {"The Connections, of", "the=the=The connect=connections=Connections of=of=of"},
      {"Caf\u00e9\u2019s user's rock'n", "cafe=cafe=Caf\u00e9 user=user=user rock=rock=rock n=n=n"},
      {"readFiles", "read=read=readFiles* file=files=readFiles* readfil=readfiles=readFiles"},
      {"_x _ab's", "x=x=x ab=ab=ab"},
      {"Ph\u1edf", "ph\u1edf=ph\u1edf=Ph\u1edf pho=pho=Ph\u1edf*"},
      {"\u041f\u0435\u0440\u0435\u043c\u0435\u043d\u043d\u0430\u044f",
       "\u043f\u0435\u0440\u0435\u043c\u0435=\u043f\u0435\u0440\u0435\u043c\u0435\u043d\u043d\u0430\u044f="
       "\u041f\u0435\u0440\u0435\u043c\u0435\u043d\u043d\u0430\u044f"},
      {"\u4e2d\u6587", "\u4e2d=\u4e2d=\u4e2d\u6587* \u4e2d\u6587=\u4e2d\u6587=\u4e2d\u6587* "
                       "\u6587=\u6587=\u4e2d\u6587*"},
      {"\U0001f600", "\U0001f600=\U0001f600=\U0001f600"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    written x = {.text = cases[i].text};
    kernel->token_words((const uint8_t *)x.text, strlen(x.text), write_down, &x);
    CHECK_MESSAGE(strcmp(x.out, cases[i].words) == 0, "\"%s\", not \"%s\"", x.out, cases[i].words);
  }
  token *items = memory(TOKENS_MOST * sizeof *items);
  static const char *const pieces[] = {
      "a",        "Zq",         "word",   "'s",     "\u2019s", "_",      "9",      " ",      "HTTP",   "\u00e9",
      "\u0301",   "\u4e2d",     "\u6587", "\u0e01", "\uac00",  "\u0416", "\u0436", "\u0627", "\u0644", "\xff",
      "\xe4\xb8", "\U0001f600", "-",      "\u212a", "\u01a1",  "\u1ed9", "\u0323", "\u0302", "o"};
  for (int round = 0; round < 4000; round++) {
    uint8_t text[400];
    size_t n = 0;
    for (uint64_t i = random_u64() % 60; i > 0; i--) {
      const char *piece = pieces[random_u64() % (sizeof pieces / sizeof *pieces)];
      memcpy(text + n, piece, strlen(piece));
      n += strlen(piece);
    }
    uint8_t *exact = memory(n);
    memcpy(exact, text, n);
    check_words(exact, n, items);
    free(exact);
  }
  free(items);
}

/* ---- term_edits ---- */

#define EDITS_MOST 4096u
typedef struct edited {
  char words[EDITS_MOST][80];
  uint32_t count;
  int wrong;
} edited;

typedef struct term {
  uint32_t hash, count;
  uint8_t bytes[64];
  size_t n;
} term;

static void only(void *ctx, uint32_t hash, ame_form form, const uint8_t *bytes, size_t n) {
  (void)form;
  term *t = ctx;
  t->hash = hash, t->n = n, t->count++;
  memcpy(t->bytes, bytes, n);
}

static void take(void *ctx, uint32_t hash, const uint8_t *bytes, size_t n, const uint8_t *word, size_t word_bytes) {
  edited *e = ctx;
  if (e->count == EDITS_MOST || word_bytes >= 80) abort();
  memcpy(e->words[e->count], word, word_bytes);
  e->words[e->count++][word_bytes] = 0;
  term t = {.count = 0};
  ame_tokenize(word, word_bytes, only, &t);
  e->wrong |= t.count != 1 || t.hash != hash || t.n != n || memcmp(t.bytes, bytes, n) != 0;
}

static size_t letters_of(const char *word, uint32_t *out) {
  size_t n = 0;
  for (const uint8_t *p = (const uint8_t *)word; *p; n++) {
    uint32_t c = *p < 0x80 ? *p : *p < 0xe0 ? *p & 0x1fu : *p & 0x0fu;
    for (p++; (*p & 0xc0) == 0x80; p++) c = c << 6 | (*p & 0x3fu);
    out[n] = c;
  }
  return n;
}

/* Optimal string alignment, by the recurrence. */
static uint32_t distance(const uint32_t *a, size_t n, const uint32_t *b, size_t m) {
  uint32_t d[32][32];
  for (size_t i = 0; i <= n; i++) {
    for (size_t j = 0; j <= m; j++) {
      uint32_t best = i == 0 ? (uint32_t)j : j == 0 ? (uint32_t)i : d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
      if (i > 0 && j > 0) {
        best = d[i - 1][j] + 1 < best ? d[i - 1][j] + 1 : best;
        best = d[i][j - 1] + 1 < best ? d[i][j - 1] + 1 : best;
      }
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && d[i - 2][j - 2] + 1 < best)
        best = d[i - 2][j - 2] + 1;
      d[i][j] = best;
    }
  }
  return d[n][m];
}

static int by_bytes(const void *a, const void *b) { return strcmp(a, b); }

static uint32_t edits_of(const char *word, edited *e) {
  e->count = 0, e->wrong = 0;
  size_t n = strlen(word);
  uint8_t *exact = memory(n);
  memcpy(exact, word, n);
  uint32_t got = kernel->term_edits(exact, n, take, e);
  free(exact);
  CHECK(got == e->count && !e->wrong);
  return got;
}

/* All edits are different and one edit away, and there are as many as there can be with an alphabet of `a` letters. */
static void check_edits(const char *word, uint32_t a, edited *e) {
  uint32_t letters[32], other[32], runs = 0, swaps = 0;
  size_t n = letters_of(word, letters);
  for (size_t i = 0; i < n; i++) runs += i == 0 || letters[i] != letters[i - 1];
  for (size_t i = 0; i + 1 < n; i++) swaps += letters[i] != letters[i + 1];
  uint32_t want = runs + swaps + (uint32_t)n * (a - 1) + (uint32_t)(n + 1) * a - (uint32_t)n;
  CHECK_MESSAGE(edits_of(word, e) == want, "%s: %u edits, not %u", word, e->count, want);
  for (uint32_t i = 0; i < e->count; i++)
    CHECK_MESSAGE(distance(letters, n, other, letters_of(e->words[i], other)) == 1, "%s: %s", word, e->words[i]);
  qsort(e->words, e->count, sizeof *e->words, by_bytes);
  for (uint32_t i = 1; i < e->count; i++) CHECK_MESSAGE(strcmp(e->words[i - 1], e->words[i]) != 0, "%s twice", word);
}

static void test_edits(void) {
  edited *e = memory(sizeof *e);
  check_edits("postgres", 26, e);
  check_edits("aaaa", 26, e);
  check_edits("ababbbca", 26, e);
  check_edits("abcdefghijklmnopqrst", 26, e);
  check_edits("\u043f\u0435\u0440\u0435\u043c\u0435\u043d", 40, e);
  check_edits("\u03b4\u03b9\u03ba\u03c4\u03c5\u03bf", 24, e);
  check_edits("\u05e9\u05dc\u05d5\u05dd", 27, e);
  static const char *const first[] = {"ostgres", "pstgres", "potgres", "posgres",  "postres",
                                      "postges", "postgrs", "postgre", "opstgres", "psotgres"};
  edits_of("postgres", e);
  for (size_t i = 0; i < sizeof first / sizeof *first; i++) CHECK(strcmp(e->words[i], first[i]) == 0);
  CHECK(strcmp(e->words[15], "aostgres") == 0 && strcmp(e->words[8 + 7 + 200], "apostgres") == 0);
  static const char *const none[] = {"",
                                     "abc",
                                     "abcdefghijklmnopqrstu",
                                     "abc1",
                                     "ab\u0436\u0436",
                                     "\u4e2d\u6587\u4e2d\u6587",
                                     "\u0e01\u0e02\u0e03\u0e04",
                                     "\uac00\uac01\uac02\uac03",
                                     "\u1200\u1201\u1202\u1203",
                                     "abcd\xff",
                                     "abc def",
                                     "\u0436\u0436\u0436"};
  for (size_t i = 0; i < sizeof none / sizeof *none; i++)
    CHECK_MESSAGE(edits_of(none[i], e) == 0, "%s has %u edits", none[i], e->count);
  /* Any letters, in any number. */
  static const uint32_t starts[] = {'a', 0x430, 0x3b1, 0x5d0, 0x621, 0x905, 0xb95, 0x10d0, 0x561, 0x1ea0, 0xe0, 0xd85};
  for (int round = 0; round < 600; round++) {
    char word[128];
    size_t n = 0;
    uint32_t letters[32], other[32], base = starts[random_u64() % (sizeof starts / sizeof *starts)];
    for (uint64_t i = random_u64() % 24; i > 0; i--) {
      uint32_t c = base + (uint32_t)(random_u64() % 20);
      if (c < 0x80) word[n++] = (char)c;
      else if (c < 0x800) word[n++] = (char)(0xc0 | c >> 6), word[n++] = (char)(0x80 | (c & 0x3f));
      else
        word[n++] = (char)(0xe0 | c >> 12), word[n++] = (char)(0x80 | (c >> 6 & 0x3f)),
        word[n++] = (char)(0x80 | (c & 0x3f));
    }
    word[n] = 0;
    size_t count = letters_of(word, letters);
    e->wrong = 0, e->count = 0;
    uint32_t got = kernel->term_edits((const uint8_t *)word, n, take, e);
    CHECK(got == e->count && (got == 0 || (count >= 4 && count <= 20)));
    for (uint32_t i = 0; i < got; i += 7) CHECK(distance(letters, count, other, letters_of(e->words[i], other)) == 1);
  }
  free(e);
}

int main(void) {
  kernel = ame_kernel_table();
  test_words();
  test_wanted();
  test_edits();
  return check_report();
}

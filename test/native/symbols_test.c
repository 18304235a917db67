/* Symbols of texts: coded as a slow search would, read back, and any bytes as a table or a coded text. */
#include <stdlib.h>
#include <string.h>

#include "../../ffi/ty_runtime/rows/symbols.h"
#include "check.h"

#define TEXTS 300u

static const char *const WORDS[] = {
    "the ",    "deploy ",  "of ",      "payments ", "was ",    "moved ",   "to ",
    "Friday ", "because ", "Anna ",    "and ",      "a ",      "staging ", "cluster ",
    "has ",    "Bücher, ", "日本語の", "42 ",       "build. ", "retry\n",  "\xf0\x9f\x9a\xb2"};

static uint64_t state;

static uint64_t draw(uint64_t n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (state >> 33) % n;
}

/* Words, or in one of eight texts any bytes. */
static ty_slice make_text(uint64_t words) {
  ty_buffer b = {0};
  const bool any = draw(8) == 0;
  for (uint64_t i = 0; i < words; i++) {
    const char *word = WORDS[draw(sizeof WORDS / sizeof *WORDS)];
    uint8_t byte = (uint8_t)draw(256);
    if (any) ty_buffer_append(&b, &byte, 1);
    else ty_buffer_append(&b, word, strlen(word));
  }
  /* Without room after it, so that a sanitizer sees what reads beyond the end. */
  uint8_t *exact = malloc((size_t)b.bytes);
  if (b.bytes > 0) memcpy(exact, b.data, (size_t)b.bytes);
  ty_slice out = {exact, b.bytes};
  ty_buffer_free(&b);
  return out;
}

static void drop(ty_slice s) { free((void *)(uintptr_t)s.data); }

/* ---- The truth: every symbol is tried at every place ---- */

static void encode_slowly(const ty_symbols *s, ty_slice text, ty_buffer *out) {
  for (uint64_t at = 0; at < text.bytes;) {
    uint32_t best = TY_SYMBOL_ESCAPE, bytes = 0;
    for (uint32_t i = 0; i < s->head.count; i++) {
      if (s->lengths[i] <= bytes || s->lengths[i] > text.bytes - at) continue;
      if (memcmp(&s->symbols[i], text.data + at, s->lengths[i]) == 0) best = i, bytes = s->lengths[i];
    }
    uint8_t code = (uint8_t)best;
    ty_buffer_append(out, &code, 1);
    if (bytes == 0) ty_buffer_append(out, text.data + at, 1);
    at += bytes == 0 ? 1 : bytes;
  }
}

static bool decode_slowly(const ty_symbols *s, ty_slice coded, ty_buffer *out) {
  for (uint64_t at = 0; at < coded.bytes; at++) {
    uint8_t code = coded.data[at];
    if (code < s->head.count) ty_buffer_append(out, &s->symbols[code], s->lengths[code]);
    else if (code != TY_SYMBOL_ESCAPE || ++at == coded.bytes) return false;
    else ty_buffer_append(out, coded.data + at, 1);
  }
  return true;
}

static bool same(const ty_buffer *a, const uint8_t *data, uint64_t bytes) {
  return a->bytes == bytes && (bytes == 0 || memcmp(a->data, data, (size_t)bytes) == 0);
}

static void test_texts(const ty_symbols *s) {
  ty_symbol_coder *c = ty_symbol_coder_new(s);
  for (uint32_t i = 0; i < TEXTS; i++) {
    ty_slice text = make_text(i % 50 == 0 ? 4000 : draw(40));
    ty_buffer coded = {0}, wanted = {0}, back = {0}, part = {0};
    ty_symbols_encode(c, text, &coded);
    encode_slowly(s, text, &wanted);
    CHECK(same(&coded, wanted.data, wanted.bytes));
    CHECK(coded.bytes <= 2 * text.bytes);
    const ty_slice form = {coded.data, coded.bytes};
    CHECK(ty_symbols_decode(s, form, UINT64_MAX, &back) && same(&back, text.data, text.bytes));
    CHECK(ty_symbols_length(s, form) == text.bytes);
    const uint64_t most = draw(text.bytes + 2);
    CHECK(ty_symbols_decode(s, form, most, &part));
    CHECK(part.bytes >= (most < text.bytes ? most : text.bytes) && part.bytes <= text.bytes);
    CHECK(part.bytes == 0 || memcmp(part.data, text.data, (size_t)part.bytes) == 0);
    /* What is appended to stays. */
    const uint64_t before = back.bytes;
    CHECK(ty_symbols_decode(s, form, UINT64_MAX, &back) && back.bytes == 2 * before);
    ty_buffer_free(&coded);
    ty_buffer_free(&wanted);
    ty_buffer_free(&back);
    ty_buffer_free(&part);
    drop(text);
  }
  free(c);
}

/* Any bytes decode as they would slowly, or are malformed for both. */
static void test_decode_any(const ty_symbols *s) {
  for (uint32_t i = 0; i < 3000; i++) {
    const uint64_t bytes = draw(i % 100 == 0 ? 9000 : 20);
    uint8_t *data = malloc((size_t)bytes);
    for (uint64_t k = 0; k < bytes; k++) data[k] = draw(20) == 0 ? 255 : (uint8_t)draw(draw(2) ? 256 : s->head.count);
    ty_buffer out = {0}, wanted = {0};
    const ty_slice coded = {data, bytes};
    const bool good = decode_slowly(s, coded, &wanted);
    CHECK(ty_symbols_decode(s, coded, UINT64_MAX, &out) == good);
    CHECK(ty_symbols_length(s, coded) == (good ? wanted.bytes : UINT64_MAX));
    CHECK(!good || same(&out, wanted.data, wanted.bytes));
    ty_buffer_free(&out);
    ty_buffer_free(&wanted);
    free(data);
  }
}

/* A stored table is read back; one that is changed is refused, or is a table that codes and decodes. */
static void test_stored(const ty_symbols *s) {
  ty_buffer stored = {0}, again = {0};
  ty_symbols read;
  uint32_t refused = 0;
  ty_symbols_put(s, &stored);
  CHECK(stored.bytes <= TY_SYMBOLS_SECTION);
  CHECK(ty_symbols_read((ty_slice){stored.data, stored.bytes}, &read) && memcmp(&read, s, sizeof read) == 0);
  ty_symbols_put(&read, &again);
  CHECK(same(&again, stored.data, stored.bytes));
  for (uint64_t cut = 0; cut < stored.bytes; cut++) {
    uint8_t *data = malloc((size_t)cut);
    if (cut > 0) memcpy(data, stored.data, (size_t)cut);
    CHECK(!ty_symbols_read((ty_slice){data, cut}, &read));
    free(data);
  }
  for (uint32_t i = 0; i < 4000; i++) {
    const uint64_t bytes = stored.bytes + (i % 7 == 0 ? 1 : 0);
    uint8_t *data = malloc((size_t)bytes);
    memset(data, 0, (size_t)bytes);
    memcpy(data, stored.data, (size_t)stored.bytes);
    for (uint64_t n = draw(3) + 1; n > 0; n--)
      data[draw(draw(2) || bytes < 300 ? bytes : 300)] = (uint8_t)draw(draw(2) ? 10 : 256);
    if (ty_symbols_read((ty_slice){data, bytes}, &read)) {
      ty_symbol_coder *c = ty_symbol_coder_new(&read);
      ty_slice text = make_text(30);
      ty_buffer coded = {0}, back = {0};
      ty_symbols_encode(c, text, &coded);
      CHECK(ty_symbols_decode(&read, (ty_slice){coded.data, coded.bytes}, UINT64_MAX, &back));
      CHECK(same(&back, text.data, text.bytes));
      ty_buffer_free(&coded);
      ty_buffer_free(&back);
      free(c);
      drop(text);
    } else {
      refused++;
    }
    free(data);
  }
  CHECK_MESSAGE(refused > 1000, "%d tables were refused", (int)refused);
  ty_buffer_free(&stored);
  ty_buffer_free(&again);
}

static uint64_t hash_of(const ty_symbols *s) {
  ty_buffer stored = {0};
  uint64_t hash = 0xcbf29ce484222325u;
  ty_symbols_put(s, &stored);
  for (uint64_t i = 0; i < stored.bytes; i++) hash = (hash ^ stored.data[i]) * 0x100000001b3u;
  ty_buffer_free(&stored);
  return hash;
}

static void make_sample(uint64_t bytes, ty_buffer *out) {
  while (out->bytes < bytes) {
    ty_slice text = make_text(30);
    ty_buffer_append(out, text.data, text.bytes);
    drop(text);
  }
}

static void test_all(const ty_symbols *s) {
  if (s->head.count == 0) return;
  test_texts(s);
  test_decode_any(s);
  test_stored(s);
}

/* Random symbols, among them some that begin with others, and zero bytes. */
static void make_symbols(ty_symbols *out) {
  ty_buffer stored = {0};
  do {
    ty_symbols s = {0};
    s.head.count = 1 + (uint32_t)draw(TY_SYMBOLS_MOST);
    uint64_t symbol = 0;
    for (uint32_t i = 0; i < s.head.count; i++) {
      /* Ascending: the next one is greater in its first bytes, or longer. */
      symbol += 1 + draw(1u << 20);
      s.lengths[i] = (uint8_t)(4 + draw(5));
      const uint64_t first = __builtin_bswap64(symbol << 32);
      memcpy(&s.symbols[i], &first, 4);
      for (uint32_t k = 4; k < s.lengths[i]; k++) s.symbols[i] |= draw(3) << 8 * k;
    }
    stored.bytes = 0;
    ty_symbols_put(&s, &stored);
  } while (!ty_symbols_read((ty_slice){stored.data, stored.bytes}, out));
  ty_buffer_free(&stored);
}

int main(void) {
  ty_symbols s, again;
  ty_buffer sample = {0}, coded = {0};
  state = 7;
  make_sample(50000, &sample);
  const ty_slice all = {sample.data, sample.bytes};
  CHECK(ty_symbols_train(all, &s) && ty_symbols_train(all, &again) && memcmp(&s, &again, sizeof s) == 0);
  /* Equal rows are to have equal bases, on every platform. */
  CHECK_MESSAGE(hash_of(&s) == 0x1e44ac7365611d50u, "%llx", (unsigned long long)hash_of(&s));
  ty_symbol_coder *c = ty_symbol_coder_new(&s);
  ty_symbols_encode(c, all, &coded);
  CHECK_MESSAGE(coded.bytes * 2 < sample.bytes, "%d of %d bytes", (int)coded.bytes, (int)sample.bytes);
  free(c);
  test_all(&s);
  for (uint64_t bytes = 0; bytes < 40; bytes++) {
    CHECK(ty_symbols_train((ty_slice){sample.data, bytes * bytes}, &s));
    if (bytes % 8 == 7) test_all(&s);
  }
  for (uint32_t i = 0; i < 5; i++) {
    make_symbols(&s);
    test_all(&s);
  }
  /* A byte that repeats becomes symbols of 1 to 8 bytes; nothing of no bytes. */
  memset(sample.data, 'x', 1000);
  CHECK(ty_symbols_train((ty_slice){sample.data, 1000}, &s) && s.head.count >= 1);
  test_all(&s);
  CHECK(ty_symbols_train((ty_slice){NULL, 0}, &s) && s.head.count == 0);
  ty_buffer_free(&sample);
  ty_buffer_free(&coded);
  return check_report();
}

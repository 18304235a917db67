/* Texts of all lengths and hostile ones, encoded on each CPU path. */
#pragma once

#include "encode_model.h"
#include "kernel_common.h"
#include "kernel_guard.h"

/* Texts have these numbers of words, and so pieces about the widths at which loops have remainders or windows end. */
static const size_t text_words[] = {0,  1,  2,  3,  4,  5,  6,   7,   8,   9,   11,  13,  15,
                                    16, 17, 31, 33, 50, 96, 127, 128, 129, 143, 145, 250, 300};
#define TEXTS     (sizeof text_words / sizeof text_words[0])
#define TEXT_SIZE 4096u

#define TRUTHS_CRC32C 0xa4f12616u

static ame_encoding truths[TEXTS];

/* Words of which each is a piece, and some of several. */
static size_t make_text(size_t words, char *out) {
  static const char *const some[] = {"the",     "people",   "house",       "never", "water",   "and",
                                     "found",   "of",       "good",        "year",  "decided", "because",
                                     "printer", "quixotic", "replication", "(see",  "above).", "caf\xc3\xa9"};
  size_t size = 0;
  for (size_t i = 0; i < words; i++) {
    const char *word = some[(i * 7 + words * 3 + i / 11) % (sizeof some / sizeof some[0])];
    size += (size_t)snprintf(out + size, TEXT_SIZE - size, "%s ", word);
  }
  return size;
}

/* Encodes each stride-th text. The text and the scratch end at pages that cannot be touched. The first path makes the
 * truths: the scalar one, except with `few`. */
static void test_encodings(const uint8_t *model, const char *path, int is_first, size_t stride) {
  char text[TEXT_SIZE];
  const guarded scratch = guarded_memory(ame_encoder_scratch(), GUARD_BEHIND);
  memset(scratch.at, 0xff, ame_encoder_scratch()); /* what is not written is not a number */
  for (size_t i = 0; i < TEXTS; i += stride) {
    const size_t size = make_text(text_words[i], text);
    const guarded copy = guarded_memory(size, GUARD_BEHIND);
    memcpy(copy.at, text, size);
    ame_encoding found;
    CHECK(ame_encode(model, AME_ENCODE_ALWAYS, copy.at, size, scratch.at, NULL, &found) == 0);
    CHECK(found.scale > 0);
    if (is_first) truths[i] = found;
    CHECK_MESSAGE(memcmp(&found, &truths[i], sizeof found) == 0, "%s: a text of %zu words differs", path,
                  text_words[i]);
    guarded_free(copy);
  }
  /* The same on every machine. Another model or another method has another sum. */
  const uint32_t sum = kernel->crc32c(0, truths, sizeof truths);
  CHECK_MESSAGE(sum == TRUTHS_CRC32C, "the encodings have the sum 0x%08x", sum);
  guarded_free(scratch);
}

static void test_stop(const uint8_t *model) {
  char text[TEXT_SIZE];
  const size_t size = make_text(50, text);
  void *scratch = encode_scratch();
  ame_encoding found;
  uint32_t stop = 1;
  CHECK(ame_encode(model, AME_ENCODE_ALWAYS, (const uint8_t *)text, size, scratch, &stop, &found) == 1);
  stop = 0;
  CHECK(ame_encode(model, AME_ENCODE_ALWAYS, (const uint8_t *)text, size, scratch, &stop, &found) == 0);
  free(scratch);
}

#define HOSTILE_SIZE (16u << 20)

/* Repeats a pattern up to the end of the memory, where it may be cut. The gate is 0 except for letters. */
static void encode_repeated(const uint8_t *model, const char *pattern, size_t length, uint8_t *text, size_t size) {
  ame_encoding found;
  void *scratch = encode_scratch();
  for (size_t i = 0; i < size; i++) text[i] = (uint8_t)pattern[i % length];
  for (uint32_t role = AME_ENCODE_ROW; role <= AME_ENCODE_ALWAYS; role++) {
    CHECK(ame_encode(model, role, text, size, scratch, NULL, &found) == 0);
    CHECK_MESSAGE(found.gate == 0 || pattern[0] == 'q' || pattern[0] == 'e', "a gate of %u for many of %.*s",
                  found.gate, (int)length, pattern);
    CHECK((found.scale > 0) == (found.gate > 0 || role == AME_ENCODE_ALWAYS));
  }
  free(scratch);
}

static void test_hostile(const uint8_t *model) {
  static const struct {
    const char *pattern;
    size_t length;
  } rows[] = {{"q", 1},
              {"\xf0\x9f\x98\x80", 4},
              {"\0", 1},
              {"\xed\xa0\x80", 3},
              {"\xff", 1},
              {"x ", 2},
              {" ", 1},
              {"e\xcc\x81", 3},
              {"\xef\xb7\xba", 3},
              {"\xe2\x96\x81", 3},
              {"\xe2\x96\x81 ", 4},
              {"\xcc\x81", 2},
              {"1", 1}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const guarded text = guarded_memory(i < 3 ? HOSTILE_SIZE : 200000, GUARD_BEHIND);
    encode_repeated(model, rows[i].pattern, rows[i].length, text.at, i < 3 ? HOSTILE_SIZE : 200000);
    guarded_free(text);
  }
  void *scratch = encode_scratch();
  for (int i = 0; i < 300; i++) { /* any bytes; the first ones are often those of characters that NFKC replaces */
    const size_t size = random_u64() % 700;
    const guarded text = guarded_memory(size, GUARD_BEHIND);
    uint8_t *at = text.at;
    for (size_t j = 0; j < size; j++) at[j] = (uint8_t)(random_u64() % 3 ? random_u64() : 0xe2 + random_u64() % 14);
    ame_encoding found;
    CHECK(ame_encode(model, AME_ENCODE_ROW, at, size, scratch, NULL, &found) == 0);
    guarded_free(text);
  }
  free(scratch);
}

/* Letters of Vietnamese with their tones, composed or not. In other languages accents are folded: texts and questions
 * leave them out. In Vietnamese they tell words apart (ma, má, mà, mả, mã, mạ are six), and few leave them out. */
#pragma once

#include "text/text.h"

/* Letters by their sound, then by their tone: none, grave, acute, hook above, tilde, dot below. */
#define TONE_VOWELS 12
#define TONES       6
static const uint16_t tone_letters[TONE_VOWELS][TONES] = {
    {'a', 0xe0, 0xe1, 0x1ea3, 0xe3, 0x1ea1},         {0x103, 0x1eb1, 0x1eaf, 0x1eb3, 0x1eb5, 0x1eb7},
    {0xe2, 0x1ea7, 0x1ea5, 0x1ea9, 0x1eab, 0x1ead},  {'e', 0xe8, 0xe9, 0x1ebb, 0x1ebd, 0x1eb9},
    {0xea, 0x1ec1, 0x1ebf, 0x1ec3, 0x1ec5, 0x1ec7},  {'i', 0xec, 0xed, 0x1ec9, 0x129, 0x1ecb},
    {'o', 0xf2, 0xf3, 0x1ecf, 0xf5, 0x1ecd},         {0xf4, 0x1ed3, 0x1ed1, 0x1ed5, 0x1ed7, 0x1ed9},
    {0x1a1, 0x1edd, 0x1edb, 0x1edf, 0x1ee1, 0x1ee3}, {'u', 0xf9, 0xfa, 0x1ee7, 0x169, 0x1ee5},
    {0x1b0, 0x1eeb, 0x1ee9, 0x1eed, 0x1eef, 0x1ef1}, {'y', 0x1ef3, 0xfd, 0x1ef7, 0x1ef9, 0x1ef5},
};
enum {
  TONE_A,
  TONE_A_BREVE,
  TONE_A_HAT,
  TONE_E,
  TONE_E_HAT,
  TONE_I,
  TONE_O,
  TONE_O_HAT,
  TONE_O_HORN,
  TONE_U,
  TONE_U_HORN
};

/* Letters that make a word Vietnamese: with a horn, with two marks, with a hook above or a dot below. A word with
 * others alone, as là or có, has its accents folded: so has one of French or Romanian (their sets lose .015 otherwise).
 */
static inline int tone_is_own(uint32_t c) { return (c >= 0x1ea0 && c <= 0x1ef9) || c - 0x1a0u < 2 || c - 0x1afu < 2; }

/* Whether a combining mark may make such a letter of the one before it. */
static inline int tone_is_mark(uint32_t c) {
  return c == 0x301 || c == 0x300 || c == 0x303 || c == 0x309 || c == 0x31b || c == 0x323 || c == 0x302 || c == 0x306;
}

static inline uint32_t tone_small(uint32_t c) {
  if (c < 0x80) return c - 'A' < 26u ? c | 0x20 : c;
  if (c >= 0xc0 && c <= 0xde) return c | 0x20;
  if (c >= 0x1ea0 && c <= 0x1ef9) return c | 1;
  switch (c) {
  case 0x102:
  case 0x110:
  case 0x128:
  case 0x168:
  case 0x1a0:
  case 0x1af: return c + 1;
  default: return c;
  }
}

/* Puts a combining mark on a letter; 0 if it takes none such. */
static inline int tone_combine(uint32_t mark, int *vowel, int *tone) {
  switch (mark) {
  case 0x300: return *tone = 1;
  case 0x301: return *tone = 2;
  case 0x309: return *tone = 3;
  case 0x303: return *tone = 4;
  case 0x323: return *tone = 5;
  case 0x302:
    if (*vowel != TONE_A && *vowel != TONE_E && *vowel != TONE_O) return 0;
    *vowel += *vowel == TONE_A ? 2 : 1;
    return 1;
  case 0x306:
    if (*vowel != TONE_A) return 0;
    *vowel = TONE_A_BREVE;
    return 1;
  case 0x31b:
    if (*vowel != TONE_O && *vowel != TONE_U) return 0;
    *vowel = *vowel == TONE_O ? TONE_O_HORN : TONE_U_HORN;
    return 1;
  default: return 0;
  }
}

/* Reads the character at *at < bytes with the marks that follow it, in lower case. *is_letter: a vowel of the table or
 * đ, which keep their marks. */
static inline uint32_t tone_next(const uint8_t *text, size_t bytes, size_t *at, int *is_letter) {
  uint32_t c = tone_small(text_next(text, bytes, at));
  *is_letter = c == 0x111;
  for (int vowel = 0; vowel < TONE_VOWELS; vowel++) {
    for (int tone = 0; tone < TONES; tone++) {
      if (tone_letters[vowel][tone] != c) continue;
      *is_letter = 1;
      for (size_t next = *at; next < bytes; *at = next) {
        if (!tone_combine(text_next(text, bytes, &next), &vowel, &tone)) break;
      }
      return tone_letters[vowel][tone];
    }
  }
  return c;
}

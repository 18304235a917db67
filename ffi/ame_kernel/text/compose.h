/* Composes characters that may be stored as one or as several: kana with marks of sound, and the letters of Hangul.
 * Some systems store file names decomposed, and the same word must be the same term. Reads at most two characters
 * ahead. */
#pragma once

#include "text/text.h"

static inline const uint8_t *peek_three(const uint8_t *text, size_t bytes, size_t at) {
  return at + 3 <= bytes ? text + at : (const uint8_t *)"\0\0";
}

/* The voiced (1) or half voiced (2) mark of sound at `at`, combining or of half width; 0 if there is none. */
static inline uint32_t sound_at(const uint8_t *text, size_t bytes, size_t at) {
  const uint8_t *p = peek_three(text, bytes, at);
  if (p[0] == 0xe3 && p[1] == 0x82 && (p[2] == 0x99 || p[2] == 0x9a)) return p[2] - 0x98u;
  if (p[0] == 0xef && p[1] == 0xbe && (p[2] == 0x9e || p[2] == 0x9f)) return p[2] - 0x9du;
  return 0;
}

static inline uint32_t compose_sound(uint32_t c, uint32_t sound) {
  if (c >= 0x306f && c <= 0x307b) return c % 3 == 0 ? c + sound : c; /* は ひ ふ へ ほ take both */
  if (sound == 2) return c;
  if ((c >= 0x304b && c <= 0x3061 && c % 2) || c == 0x3064 || c == 0x3066 || c == 0x3068) return c + 1;
  if (c == 0x309d || c == 0x30fd) return c + 1;
  if (c == 0x3046) return 0x3094;
  return c >= 0x308f && c <= 0x3092 ? c - 0x308f + 0x30f7 : c; /* ヷ has no hiragana */
}

/* The index of the letter of Hangul at `at` among the `count` from `first` on (U+1100 to U+11FF); `count` if it is not
 * one of them. */
static inline uint32_t jamo_at(const uint8_t *text, size_t bytes, size_t at, uint32_t first, uint32_t count) {
  const uint8_t *p = peek_three(text, bytes, at);
  if (p[0] != 0xe1 || p[1] < 0x84 || p[1] > 0x87 || (p[2] & 0xc0) != 0x80) return count;
  uint32_t index = (0x1000u | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu)) - first;
  return index < count ? index : count;
}

/* Composes a folded character of an unspaced script with those that follow at *at < bytes, as か with ゛ or the letters
 * of a syllable of Hangul. Moves *at past the characters taken. */
static inline uint32_t compose(uint32_t c, const uint8_t *text, size_t bytes, size_t *at) {
  if (c >= 0x3041 && c <= 0x30ff) {
    uint32_t sound = sound_at(text, bytes, *at);
    uint32_t composed = sound ? compose_sound(c, sound) : c;
    if (composed != c) *at += 3;
    return composed;
  }
  if (text[*at] != 0xe1) return c;
  if (c - 0x1100 < 19) {
    uint32_t vowel = jamo_at(text, bytes, *at, 0x1161, 21);
    if (vowel == 21) return c;
    *at += 3;
    c = 0xac00 + ((c - 0x1100) * 21 + vowel) * 28;
  }
  if (c - 0xac00 < 11172 && (c - 0xac00) % 28 == 0) {
    uint32_t last = jamo_at(text, bytes, *at, 0x11a8, 27);
    if (last < 27) {
      *at += 3;
      c += last + 1;
    }
  }
  return c;
}

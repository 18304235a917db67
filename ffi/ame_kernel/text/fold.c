/* Unicode: decoding, the kind of a character, case and accent folding. */
#include "text/text.h"

#include "text/fold_forms.h"
#include "text/fold_table.h"

/* Bounds of the second byte follow table 3-7 of the Unicode standard: no overlong forms, no surrogates, nothing beyond
 * U+10FFFF. A broken sequence gives one U+FFFD; decoding goes on at the first byte that did not fit. */
uint32_t text_next(const uint8_t *text, size_t bytes, size_t *at) {
  uint8_t b = text[(*at)++];
  if (b < 0x80) return b;
  uint32_t c;
  int more;
  uint8_t low = 0x80, high = 0xbf;
  if (b >= 0xc2 && b <= 0xdf) {
    more = 1;
    c = b & 0x1fu;
  } else if (b >= 0xe0 && b <= 0xef) {
    more = 2;
    c = b & 0x0fu;
    if (b == 0xe0) low = 0xa0;
    if (b == 0xed) high = 0x9f;
  } else if (b >= 0xf0 && b <= 0xf4) {
    more = 3;
    c = b & 0x07u;
    if (b == 0xf0) low = 0x90;
    if (b == 0xf4) high = 0x8f;
  } else {
    return 0xfffd;
  }
  for (; more; more--) {
    if (*at >= bytes || text[*at] < low || text[*at] > high) return 0xfffd;
    c = (c << 6) | (text[(*at)++] & 0x3fu);
    low = 0x80;
    high = 0xbf;
  }
  return c;
}

char_kind text_kind(uint32_t c) {
  if (c < 0x80) {
    if ((c | 0x20) - 'a' < 26u) return CHAR_LETTER;
    return c - '0' < 10u ? CHAR_DIGIT : CHAR_SEPARATOR;
  }
  if (c >= 0x4e00 && c <= 0x9fff) return CHAR_UNSPACED;
  if (c >= 0xc0 && c <= 0x24f) return c == 0xd7 || c == 0xf7 ? CHAR_SEPARATOR : CHAR_LETTER;
  /* The most frequent ranges, without the table: its binary search takes nine steps, each mispredicted half the
   * time. */
  if (c >= 0x388 && c <= 0x481) return c == 0x3f6 ? CHAR_SEPARATOR : CHAR_LETTER;         /* Greek, Cyrillic */
  if (c >= 0x2010 && c <= 0x2029) return CHAR_SEPARATOR;                                  /* dashes, quotation marks */
  if (c >= 0xac00 && c <= 0xd7ff) return CHAR_UNSPACED;                                   /* Hangul */
  if ((c >= 0x3041 && c <= 0x3098) || (c >= 0x30a1 && c <= 0x30fa)) return CHAR_UNSPACED; /* kana */
  size_t low = 0, high = sizeof char_ranges / sizeof char_ranges[0];
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (c > char_ranges[middle].last) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == sizeof char_ranges / sizeof char_ranges[0] || c < char_ranges[low].first) return CHAR_SEPARATOR;
  return (char_kind)char_ranges[low].kind;
}

/* Only what the camelCase rule needs: Latin, Greek, Cyrillic and Armenian capitals. */
int text_is_upper(uint32_t c) {
  if (c < 0x100) return (c - 'A' < 26u) || (c >= 0xc0 && c <= 0xde && c != 0xd7);
  if (c < 0x580) return upper_east[(c - 0x100) / 32] >> c % 32 & 1;
  if (c >= 0x1e00 && c < 0x2000) return upper_extended[(c - 0x1e00) / 32] >> c % 32 & 1;
  return c - 0xff21 < 26u || c == 0x2126 || c - 0x212a < 2u; /* full width; Ohm, Kelvin, Angstrom */
}

/* Decimal digits of all scripts become ASCII: each run of the table starts at a zero. */
static uint32_t fold_digit(uint32_t c) {
  for (size_t i = 0; i < sizeof char_ranges / sizeof char_ranges[0]; i++) {
    if (c >= char_ranges[i].first && c <= char_ranges[i].last) return '0' + (c - char_ranges[i].first) % 10;
  }
  return c;
}

/* Letters of Arabic script that are written interchangeably: alef with its seats, yeh, teh marbuta, keheh. */
static uint32_t fold_arabic(uint32_t c) {
  switch (c) {
  case 0x622:
  case 0x623:
  case 0x625:
  case 0x671: return 0x627;
  case 0x624: return 0x648;
  case 0x626:
  case 0x649:
  case 0x6cc: return 0x64a;
  case 0x629: return 0x647;
  case 0x6a9: return 0x643;
  case 0x6c0: return 0x6d5;
  case 0x6c2: return 0x6c1;
  case 0x6d3: return 0x6d2;
  default: return c;
  }
}

static int form_of(const uint16_t *form, uint32_t *out) {
  int n = 0;
  while (n < FORM_MOST && form[n]) {
    out[n] = form[n];
    n++;
  }
  return n;
}

static int fold_split(uint32_t c, uint32_t *out) {
  size_t low = 0, high = sizeof form_split / sizeof form_split[0];
  while (low + 1 < high) {
    size_t middle = (low + high) / 2;
    if (form_split[middle][0] <= c) {
      low = middle;
    } else {
      high = middle;
    }
  }
  int n = 0;
  while (n + 1 < FORM_MOST && form_split[low][n + 1]) {
    out[n] = form_split[low][n + 1];
    n++;
  }
  return n;
}

/* Mathematical letters: thirteen alphabets of Latin, five of Greek with a few of its letters' variants. Digits are in
 * char_ranges. */
static uint32_t fold_math(uint32_t c) {
  static const uint16_t variant[6] = {0x3b5, 0x3b8, 0x3ba, 0x3c6, 0x3c1, 0x3c0};
  if (c < 0x1d6a4) return 'a' + (c - 0x1d400) % 26;
  if (c < 0x1d6a6) return c == 0x1d6a4 ? 'i' : 0x237; /* without their dots */
  if (c < 0x1d6a8) return c;
  if (c >= 0x1d7ca) return c < 0x1d7cc ? 0x3dd : c;
  uint32_t letter = (c - 0x1d6a8) % 58;
  if (letter >= 52) return variant[letter - 52];
  if (letter >= 26) return letter == 26 + 17 ? 0x3c3 : 0x3b1 + letter - 26; /* final sigma */
  return letter == 17 ? 0x3b8 : 0x3b1 + letter;                             /* theta once more */
}

/* Other spellings of letters that fold_table.h knows; -1 if c is not one. */
static int fold_form(uint32_t c, uint32_t *out) {
  if (c < 0x1c00) return form_is_split[(c - 0x900) / 32] >> c % 32 & 1 ? fold_split(c, out) : -1;
  if (c < 0xf900) {
    if (c >= 0x2070 && c <= 0x209f) return form_of(form_script[c - 0x2070], out);
    if (c >= 0x2100 && c <= 0x214f) return form_of(form_letterlike[c - 0x2100], out);
    if (c >= 0x2160 && c <= 0x217f) return form_of(form_roman[c - 0x2160], out);
    if (c >= 0x2460 && c <= 0x249b) return form_of(form_circled[c - 0x2460], out);
    return -1;
  }
  out[0] = c;
  if (c <= 0xfad9) {
    out[0] = form_han[c - 0xf900];
  } else if (c >= 0xfb00 && c <= 0xfdfb) {
    return form_of(form_presentation[c - 0xfb00], out);
  } else if (c >= 0xfe70 && c <= 0xfefc) {
    return form_of(form_presentation_b[c - 0xfe70], out);
  } else if (c >= 0xff66 && c <= 0xff9d) {
    out[0] = form_kana[c - 0xff66];
  } else if (c == 0xff9e || c == 0xff9f) {
    return 0; /* marks of sound without a kana */
  } else if (c >= 0x1d400 && c <= 0x1d7cd) {
    out[0] = fold_math(c);
  } else {
    return -1;
  }
  return 1;
}

int text_fold(uint32_t c, uint32_t out[TEXT_FOLD_MOST]) {
  if (c >= 0xff01 && c <= 0xff5e) c -= 0xfee0; /* full width */
  uint32_t f = c;
  if (c < 0x80) {
    out[0] = c - 'A' < 26u ? c | 0x20 : c;
    return 1;
  }
  if (c >= 0xc0 && c <= 0x24f) {
    f = fold_latin[c - 0xc0];
  } else if (c >= 0x370 && c <= 0x58f) {
    f = fold_east[c - 0x370];
  } else if (c >= 0x600 && c <= 0x6ef) {
    f = fold_arabic(c);
  } else if (c >= 0x1e00 && c <= 0x1fff) {
    f = fold_extended[c - 0x1e00];
  } else if (c >= 0x10a0 && c <= 0x10c5) {
    f = c - 0x10a0 + 0x10d0; /* Georgian capitals of the old script */
  } else if (c >= 0x1c90 && c <= 0x1cba) {
    f = c - 0x1c90 + 0x10d0;
  } else if (c >= 0x30a1 && c <= 0x30f6) {
    f = c - 0x60; /* katakana as hiragana: the same word is written both ways */
  } else if (c == 0xb2 || c == 0xb3) {
    f = c - 0xb2 + '2';
  } else if (c == 0xb9) {
    f = '1';
  } else if (c == 0xaa || c == 0xba) {
    f = c == 0xaa ? 'a' : 'o';
  } else if (c == 0xb5) {
    f = 0x3bc; /* the micro sign */
  } else if (c >= 0x900) {
    int count = fold_form(c, out);
    if (count >= 0) return count;
  }
  if (c < 0x4e00 && f >= 0x8000) {
    out[0] = (f >> 7) & 0x7f;
    out[1] = f & 0x7f;
    return 2;
  }
  out[0] = f == c && text_kind(c) == CHAR_DIGIT ? fold_digit(c) : f;
  return 1;
}

int text_encode(uint32_t c, uint8_t out[4]) {
  if (c < 0x80) {
    out[0] = (uint8_t)c;
    return 1;
  }
  if (c < 0x800) {
    out[0] = (uint8_t)(0xc0 | (c >> 6));
    out[1] = (uint8_t)(0x80 | (c & 0x3f));
    return 2;
  }
  if (c < 0x10000) {
    out[0] = (uint8_t)(0xe0 | (c >> 12));
    out[1] = (uint8_t)(0x80 | ((c >> 6) & 0x3f));
    out[2] = (uint8_t)(0x80 | (c & 0x3f));
    return 3;
  }
  out[0] = (uint8_t)(0xf0 | (c >> 18));
  out[1] = (uint8_t)(0x80 | ((c >> 12) & 0x3f));
  out[2] = (uint8_t)(0x80 | ((c >> 6) & 0x3f));
  out[3] = (uint8_t)(0x80 | (c & 0x3f));
  return 4;
}

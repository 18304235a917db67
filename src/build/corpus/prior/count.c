/* In how many pieces of text does each term occur?
 *
 *   count < PIECES    the number of pieces, then a line "pieces TAB term" for each term; a piece is its length in bytes
 * as four bytes, low one first, and its text count stem < WORDS    the stem of each line
 *
 * Linked with the kernel's own scan.c, stem.c and fold.c: counted is what the embedder will look up. */
#include "text/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct entry {
  struct entry *next;
  uint32_t pieces, last; /* `last` is the piece that was counted last: a term counts once in each */
  uint32_t length;
  uint8_t term[];
} entry;

#define SLOTS (1u << 20)

static entry *slots[SLOTS];
static uint32_t piece;

static void *allocate(size_t bytes) {
  void *p = malloc(bytes);
  if (!p) {
    fputs("count: out of memory\n", stderr);
    exit(1);
  }
  return p;
}

static void count(const uint8_t *term, size_t n) {
  uint64_t h = 0xcbf29ce484222325ull;
  for (size_t i = 0; i < n; i++) h = (h ^ term[i]) * 0x100000001b3ull;
  entry **at = &slots[(h ^ h >> 32) % SLOTS];
  while (*at && ((*at)->length != n || memcmp((*at)->term, term, n) != 0)) at = &(*at)->next;
  if (!*at) {
    *at = allocate(sizeof(entry) + n);
    **at = (entry){.length = (uint32_t)n};
    memcpy((*at)->term, term, n);
  }
  if ((*at)->last == piece) return;
  (*at)->last = piece;
  (*at)->pieces++;
}

/* The whole of an identifier is left out: it is a name, and its pieces are counted. */
static void take(void *ctx, term_kind kind, const uint8_t *term, size_t n) {
  (void)ctx;
  if (kind == TERM_WHOLE) return;
  uint8_t stem[TERM_MAX];
  memcpy(stem, term, n);
  count(stem, text_is_stemmed(kind) ? text_stem(stem, n) : n);
}

static int count_pieces(void) {
  uint8_t head[4], *text = NULL;
  size_t room = 0;
  while (fread(head, 1, 4, stdin) == 4) {
    size_t n = (size_t)head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16 | (size_t)head[3] << 24;
    if (n > room) {
      free(text);
      text = allocate(room = n);
    }
    if (fread(text, 1, n, stdin) != n) {
      fputs("count: the last piece is cut off\n", stderr);
      return 1;
    }
    piece++;
    text_scan(text, n, take, NULL);
  }
  free(text);
  printf("%u\n", piece);
  for (uint32_t i = 0; i < SLOTS; i++) {
    for (entry *e = slots[i]; e; e = e->next) printf("%u\t%.*s\n", e->pieces, (int)e->length, (const char *)e->term);
  }
  return 0;
}

static int stem_lines(void) {
  char line[256];
  while (fgets(line, sizeof line, stdin)) {
    size_t n = strcspn(line, "\n");
    printf("%.*s\n", (int)text_stem((uint8_t *)line, n), line);
  }
  return 0;
}

int main(int argc, char **argv) { return argc > 1 && strcmp(argv[1], "stem") == 0 ? stem_lines() : count_pieces(); }

/* Conversations: rows whose metadata have a `session`, a text or a number, are turns of it. Their numbers
 * `turn` order them; of two turns of which one has no number, the one that was inserted first comes first.
 *
 * Neither sessions nor turns have an index: turns of a session are inserted one after the other, so that the turns
 * beside a row are looked for among the live rows that were inserted right before and after it (ty_order). A compaction
 * keeps their order, and so what is found. */
#pragma once

#include "scan/filter.h"

/* A turn is looked for among so many rows before and after another one. */
#define TY_TURN_REACH 32u
#define TY_NO_TURN    0xffffffffu

typedef struct ty_turn {
  uint64_t birth;
  ty_ref ref;
  uint32_t session; /* offset of its session in `sessions` + 1; 0: none */
  uint32_t session_bytes;
  double number; /* NaN: none */
  bool read;     /* the three before are known */
} ty_turn;

/* The rows that may be turns beside some rows. */
typedef struct ty_turns {
  ty_turn *rows; /* live ones, by birth */
  uint64_t count, capacity;
  ty_buffer sessions;
  ty_unpack *metas; /* the caller's, for ty_turns_step */
} ty_turns;

/* Finds the rows that were inserted near n rows. What the filter excludes is not a turn. TY_NO_MEMORY. */
ty_status ty_turns_open(ty_turns *t, const ty_collection *c, const ty_filter *filter, const ty_ref *rows, uint64_t n,
                        ty_unpack *metas, ty_error *err);
/* The number of a row in t->rows by its birth; TY_NO_TURN where it is not there. */
uint32_t ty_turns_find(const ty_turns *t, uint64_t birth);
/* The turn right before (-1) or after (1) a row of t->rows; TY_NO_TURN where there is none. False: out of memory. */
bool ty_turns_step(ty_turns *t, uint32_t row, int direction, uint32_t *out);
void ty_turns_close(ty_turns *t);
/* Whether the metadata of a row have a session. */
bool ty_is_turn(const ty_segment *s, uint64_t at, ty_unpack *metas);

/* Aimed damage: one bit of each kind of field of each file, one at a time. Whatever is asked afterwards has the right
 * answer, or says that it has not; and ty_verify finds it. */
#pragma once

#include "../native/store_files.h"
#include "kill.h"

#define FLIP_ANSWERS 7
#define FLIP_ROOM    (64u << 10)

static struct {
  uint64_t flips, refused, flagged;
} flip_counts;

/* An answer as it was before the damage; `told`: it is an error, or says what it did without. */
typedef struct flip_answer {
  bool told;
  uint64_t bytes;
  uint8_t data[FLIP_ROOM] __attribute__((aligned(8)));
} flip_answer;

/* TY_TROUBLE_IVF, TY_TROUBLE_CODES, TY_TROUBLE_FILTER: the answer is complete all the same. */
#define COMPLETE (2u | 4u | 16u)

static void flip_ask(ty_collection *c, uint64_t by, bool filter, flip_answer *out) {
  static float query[DIM];
  ty_error e;
  model_query(query);
  ty_ask_args ask = {.by = by,
                     .vector = query,
                     TEXT_OF("words of version 17"),
                     .top_k = 12,
                     .column = filter ? 1 : TY_NO_FILTER,
                     .key = (const uint8_t *)"k1",
                     .key_bytes = filter ? 2 : 0,
                     .target_recall = 1,
                     .what = TY_WITH_META | TY_WITH_TEXT | TY_WITH_TIMES,
                     .out = out->data,
                     .out_capacity = FLIP_ROOM};
  out->told = ty_ask(c, &ask, &e) != TY_OK || (ask.trouble & ~(uint64_t)COMPLETE) != 0;
  out->bytes = out->told ? 0 : ask.out_bytes;
}

/* A row of the history that is damaged is answered as one that is not there. */
static void flip_tell(ty_collection *c, flip_answer *out) {
  ty_error e;
  ty_saves_args saves = {.out = answer, .out_capacity = sizeof answer};
  ty_changes_args args = {.to = UINT64_MAX,
                          .what = TY_WITH_META | TY_WITH_TEXT | TY_WITH_VECTOR | TY_WITH_TIMES,
                          .out = out->data,
                          .out_capacity = FLIP_ROOM - 4096};
  out->told = ty_changes(c, &args, &e) != TY_OK || ty_saves(c, &saves, &e) != TY_OK || saves.out_bytes > 4096;
  for (uint64_t at = 0; at < args.out_bytes && !out->told;) {
    const ty_change_record *change = (const ty_change_record *)(const void *)(out->data + at);
    const ty_record *r = (const ty_record *)(const void *)(change + 1);
    out->told |= change->kind != TY_CHANGE_ADDED && !r->found;
    at += sizeof *change + sizeof *r + padded(r->id_bytes) + (r->meta_bytes == TY_ABSENT ? 0 : padded(r->meta_bytes)) +
          (r->text_bytes == TY_ABSENT ? 0 : padded(r->text_bytes)) + padded(r->vector_bytes) + r->extra_bytes;
  }
  out->bytes = out->told ? 0 : args.out_bytes + saves.out_bytes;
  if (!out->told) memcpy(out->data + args.out_bytes, answer, saves.out_bytes);
}

static void flip_answer_get(ty_collection *c, int which, flip_answer *out) {
  ty_error e;
  switch (which) {
  case 0: flip_ask(c, TY_BY_VECTOR, false, out); return;
  case 1: flip_ask(c, TY_BY_WORDS, false, out); return;
  case 2: flip_ask(c, TY_BY_BOTH, false, out); return;
  case 3: flip_ask(c, TY_BY_VECTOR, true, out); return;
  case 4: {
    ty_ids_args ids = {.column = TY_NO_FILTER,
                       .what = TY_WITH_META | TY_WITH_TEXT | TY_WITH_VECTOR | TY_WITH_TIMES,
                       .out = out->data,
                       .out_capacity = FLIP_ROOM};
    out->told = ty_ids(c, &ids, &e) != TY_OK;
    out->bytes = out->told ? 0 : ids.out_bytes;
    return;
  }
  case 5: flip_tell(c, out); return;
  default: {
    ty_manifest_args text = {.out = out->data, .out_capacity = FLIP_ROOM};
    out->told = ty_manifest(c, &text, &e) != TY_OK;
    out->bytes = out->told ? 0 : text.out_bytes;
  }
  }
}

static flip_answer flip_before[FLIP_ANSWERS], flip_now;

/* One bit of a file, with nothing mended. */
static void flip_once(ty_env *judge, const char *dir, const file *f, size_t at, const char *what) {
  ty_error e;
  ty_collection *c = NULL;
  f->data[at] ^= (uint8_t)(1u << (at % 8));
  write_file(dir, f->name, f->data, f->bytes);
  flip_counts.flips++;
  if (ty_collection_open(judge, dir, &c, &e) != TY_OK) {
    flip_counts.refused++;
    CHECK(true);
  } else {
    for (int i = 0; i < FLIP_ANSWERS; i++) {
      flip_answer_get(c, i, &flip_now);
      flip_counts.flagged += flip_now.told;
      /* The blocks' checksums follow from the rest: their damage costs no answer. */
      check_at(!flip_now.told || strcmp(what, "section 31") != 0, "flip.h", __LINE__, "%s, %s at %zu: no answer %d",
               f->name, what, at, i);
      check_at(flip_now.told || (flip_now.bytes == flip_before[i].bytes &&
                                 memcmp(flip_now.data, flip_before[i].data, flip_now.bytes) == 0),
               "flip.h", __LINE__, "%s, %s at %zu: answer %d is silently wrong", f->name, what, at, i);
    }
    check_at(ty_verify(c, NULL, &e) != TY_OK, "flip.h", __LINE__, "%s, %s at %zu: ty_verify finds nothing", f->name,
             what, at);
  }
  ty_collection_close(c);
  f->data[at] ^= (uint8_t)(1u << (at % 8));
  write_file(dir, f->name, f->data, f->bytes);
}

/* Places in so many bytes: all of few, else some. */
static void flip_some(ty_env *judge, const char *dir, const file *f, size_t from, size_t bytes, size_t most,
                      const char *what) {
  size_t step = bytes > most ? bytes / most : 1;
  for (size_t at = from + rng() % step; at < from + bytes && !enough(); at += step) flip_once(judge, dir, f, at, what);
}

static void flip_slab(ty_env *judge, const char *dir, const file *f, size_t most) {
  ty_slab_header h;
  memcpy(&h, f->data, sizeof h);
  flip_some(judge, dir, f, 0, sizeof h, most * 4, "the header");
  flip_some(judge, dir, f, sizeof h, h.sections * sizeof(ty_slab_section), most * 4, "the section table");
  for (uint32_t i = 0; i < h.sections; i++) {
    ty_slab_section s;
    char what[32];
    memcpy(&s, f->data + sizeof h + i * sizeof s, sizeof s);
    snprintf(what, sizeof what, "section %u", s.id);
    if (s.bytes > 0) flip_some(judge, dir, f, s.offset, s.bytes, most, what);
  }
}

static void flip_blocks(ty_env *judge, const char *dir, const file *f, size_t most) {
  flip_some(judge, dir, f, 0, sizeof(ty_slab_header), most * 4, "the header");
  for (size_t at = sizeof(ty_slab_header); at + sizeof(ty_block_header) <= f->bytes;) {
    ty_block_header b;
    memcpy(&b, f->data + at, sizeof b);
    flip_some(judge, dir, f, at, sizeof b, most * 2, "a block's header");
    at += sizeof b;
    flip_some(judge, dir, f, at, b.payload_bytes, most * 2, "a block");
    at += b.payload_bytes;
  }
}

/* A collection with every kind of file and section, of rows by themselves or dimension by dimension. */
static void flip_collection(ty_env *judge, bool vertical, char dir[320], size_t most) {
  static const uint8_t made[] = {OP_UPSERT, OP_ADD,     OP_ADD, OP_ADD,    OP_NOTE,  OP_DELETE,
                                 OP_UPDATE, OP_LEXICAL, OP_IVF, OP_UPSERT, OP_DELETE};
  content now = nothing, next;
  ty_error e;
  fresh_dir(dir);
  set_vertical(judge, vertical);
  model_codes = vertical ? ALL_CODES : NO_CODES;
  ty_collection *c = open_new(judge, dir);
  for (size_t i = 0; i < sizeof made; i++) {
    CHECK_MESSAGE(operate(judge, c, dir, "", made[i], &now, &next, &e) == TY_OK, "%s", e.message);
    now = next;
  }
  for (int i = 0; i < FLIP_ANSWERS; i++) {
    flip_answer_get(c, i, &flip_before[i]);
    CHECK(!flip_before[i].told && flip_before[i].bytes > 0);
  }
  close_checked(c);
  read_files(dir);
  for (int i = 0; i < file_count; i++) {
    const file *f = &files[i];
    if (strncmp(f->name, "delta-", 6) == 0 || strncmp(f->name, "meaning-", 8) == 0) flip_blocks(judge, dir, f, most);
    else if (strstr(f->name, ".slab") != NULL) flip_slab(judge, dir, f, most);
    else flip_some(judge, dir, f, 0, f->bytes, most * 8, "bytes");
  }
  for (int i = 0; i < file_count; i++) free(files[i].data);
  set_vertical(judge, false);
  model_codes = NO_CODES;
}

static void test_flips(ty_env *judge, uint64_t seed, size_t most) {
  char dir[320];
  rng_state = seed;
  model_damaged = true;
  for (int vertical = 0; vertical < 2; vertical++) flip_collection(judge, vertical, dir, most);
  model_damaged = false;
}

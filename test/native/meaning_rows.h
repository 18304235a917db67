/* Collections of which the test knows all rows, with vectors of meaning. */
#pragma once

#include "../../ffi/ty_runtime/ivf/builder.h"
#include "../../ffi/ty_runtime/state/state.h"
#include "meaning_texts.h"

#define ROWS_MOST 4600u
#define ALL_KEYS  UINT32_MAX

/* Gates of rows: nearly all are the highest; any; few are not 0; all 0. */
typedef enum gates { PROSE, MIXED, FOREIGN, NO_PROSE } gates;

typedef struct text_row {
  char text[160];
  size_t bytes;
  terms terms;
  float vector[DIM];
  uint32_t part, kind; /* its filter values are p<part> and k<kind> */
  uint32_t turn;       /* of a conversation; 0: none */
  bool live;
  uint64_t birth;
} text_row;

typedef struct library {
  char dir[320];
  ty_collection *c;
  uint32_t count;
  gates gates;
  text_row rows[ROWS_MOST];
  ty_meaning_vector vectors[ROWS_MOST]; /* 0 where the row has none */
} library;

static void draw_row(library *l, uint32_t i) {
  text_row *r = &l->rows[i];
  uint8_t gate = 255;
  if (rng() % 8 == 0 && i > 0) *r = l->rows[rng() % i]; /* two rows with one text and one vector tie */
  else {
    if (l->gates == MIXED) gate = rng() % 3 == 0 ? 0 : (uint8_t)rng();
    else if (rng() % 10 != 0 || l->gates == NO_PROSE) gate = l->gates == PROSE ? 255 : 0;
    else if (l->gates == PROSE) gate = 0;
    r->bytes = write_words(2 + (uint32_t)(rng() % 8), 0, r->text);
    r->bytes += write_gate(gate, r->text + r->bytes);
    r->terms = terms_of(r->text, r->bytes);
    for (uint32_t d = 0; d < DIM; d++) r->vector[d] = (float)(rng() % 2001) / 1000 - 1;
  }
  r->part = (uint32_t)(rng() % 3);
  r->kind = (uint32_t)(rng() % 2);
}

static uint64_t append_text(ty_buffer *b, const char *prefix, uint32_t number) {
  char text[48];
  ty_buffer_append(b, text, (uint64_t)snprintf(text, sizeof text, "%s%u", prefix, number));
  return b->bytes;
}

/* Puts rows first .. first + n - 1 between ty_begin and ty_save; those that are live are replaced. */
static void put_rows(library *l, uint32_t first, uint32_t n, uint64_t flags) {
  ty_buffer ids = {0}, texts = {0}, keys = {0}, metas = {0};
  uint64_t *ends = calloc(5 * (size_t)n, sizeof *ends), *key_ends = ends + 3 * (size_t)n;
  float *vectors = malloc(n * sizeof l->rows[0].vector);
  for (uint32_t i = 0; i < n; i++) {
    text_row *r = &l->rows[first + i];
    r->live = true;
    ends[i] = append_text(&ids, "", first + i);
    ty_buffer_append(&texts, r->text, r->bytes);
    ends[n + i] = texts.bytes;
    if (r->turn > 0) {
      append_text(&metas, "{\"session\":\"s\",\"turn\":", r->turn);
      ty_buffer_append(&metas, "}", 1);
    }
    ends[2 * (size_t)n + i] = metas.bytes;
    key_ends[2 * i] = append_text(&keys, "p", r->part);
    key_ends[2 * i + 1] = append_text(&keys, "k", r->kind);
    memcpy(vectors + (size_t)i * DIM, r->vector, sizeof r->vector);
  }
  ty_put_args put = {.n = n, .mode = TY_UPSERT, .flags = flags, .vectors = vectors, .metas = metas.data};
  put.ids = ids.data, put.id_ends = ends;
  put.texts = texts.data, put.text_ends = ends + n;
  put.meta_ends = ends + 2 * (size_t)n;
  put.keys = keys.data, put.key_ends = key_ends;
  CHECK_MESSAGE(ty_put(l->c, &put, NULL, &err) == TY_OK, "put: %s", err.message);
  free(vectors);
  free(ends);
  ty_buffer_free(&ids);
  ty_buffer_free(&texts);
  ty_buffer_free(&metas);
  ty_buffer_free(&keys);
}

static void draw_rows(library *l, uint32_t first, uint32_t n, uint64_t flags) {
  CHECK(ty_begin(l->c, &err) == TY_OK);
  for (uint32_t i = 0; i < n; i++) draw_row(l, first + i);
  put_rows(l, first, n, flags);
  CHECK(ty_save(l->c, &err) == TY_OK);
  if (l->count < first + n) l->count = first + n;
}

static library *library_of(uint32_t n, gates gates) {
  library *l = calloc(1, sizeof *l);
  if (l == NULL) abort();
  fresh_dir(l->dir);
  l->c = open_new(env, l->dir);
  l->gates = gates;
  draw_rows(l, 0, n, 0);
  return l;
}

static void library_close(library *l) {
  CHECK_MESSAGE(whole(l->c), "the collection is not valid");
  close_checked(l->c);
  free(l);
}

static void delete_row(library *l, uint32_t i) {
  ty_buffer id = {0};
  uint64_t end = append_text(&id, "", i);
  ty_delete_args gone = {.n = 1, .ids = id.data, .id_ends = &end};
  CHECK(ty_begin(l->c, &err) == TY_OK && ty_delete(l->c, &gone, &err) == TY_OK && ty_save(l->c, &err) == TY_OK);
  CHECK(gone.removed == l->rows[i].live);
  l->rows[i].live = false;
  ty_buffer_free(&id);
}

/* Encodes up to `most` rows, and saves the vectors of all but one in `but` of them; 0: of all. */
static void fill_rows(ty_collection *c, uint64_t most, uint64_t but, bool background) {
  static ty_meaning_record records[ROWS_MOST];
  ty_meaning_encode_args encode = {.most = most, .background = background, .out = records};
  CHECK_MESSAGE(ty_meaning_encode(c, &encode, NULL, &err) == TY_OK, "encode: %s", err.message);
  ty_meaning_put_args put = {.records = records, .base = encode.base};
  for (uint64_t i = 0; i < encode.out_count; i++)
    if (but == 0 || rng() % but != 0) records[put.n++] = records[i];
  CHECK(ty_begin(c, &err) == TY_OK && ty_meaning_put(c, &put, &err) == TY_OK && ty_save(c, &err) == TY_OK);
  CHECK_MESSAGE(put.put == put.n, "%llu of %llu vectors were put", (unsigned long long)put.put,
                (unsigned long long)put.n);
}

/* Reads the births and vectors of the rows. Each vector has to be that of its row's text. */
static void read_rows(library *l) {
  static uint64_t ends[ROWS_MOST];
  uint8_t scratch[64];
  uint64_t live = 0, at = 0;
  ty_buffer ids = {0};
  for (uint32_t i = 0; i < l->count; i++) ends[i] = append_text(&ids, "", i), live += l->rows[i].live;
  ty_meaning_copy_args get = {.n = l->count, .ids = ids.data, .id_ends = ends, .vectors = l->vectors};
  CHECK_MESSAGE(ty_meaning_get(l->c, &get, &err) == TY_OK, "vectors: %s", err.message);
  for (uint32_t i = 0; i < l->count; i++) {
    const text_row *r = &l->rows[i];
    ame_encoding want;
    if (l->vectors[i].encoder == 0) continue;
    marked_encode(meaning_models[0], AME_ENCODE_ROW, (const uint8_t *)r->text, r->bytes, scratch, NULL, &want);
    CHECK_MESSAGE(r->live && memcmp(&l->vectors[i].encoding, &want, sizeof want) == 0, "the vector of row %u", i);
  }
  ty_ids_args list = {.column = TY_NO_FILTER, ANSWER_IN(answer)};
  CHECK(ty_ids(l->c, &list, &err) == TY_OK && list.out_count == live);
  for (uint64_t i = 0; i < list.out_count; i++) {
    ty_record r;
    memcpy(&r, answer + at, sizeof r);
    uint64_t id = strtoull((const char *)answer + at + sizeof r, NULL, 10);
    if (CHECK(id < l->count && l->rows[id].live)) l->rows[id].birth = r.birth;
    at += sizeof r + padded(r.id_bytes);
  }
  ty_buffer_free(&ids);
}

/* Every kind of call that reads. */
#pragma once

#include "store_model.h"

/* Makes every kind of call; answers are not checked. */
static inline void ask_all(ty_collection *c) {
  ty_error err;
  static _Thread_local uint8_t out[1 << 20] __attribute__((aligned(8))); /* several threads ask */
  float query[DIM], sample[IDS * DIM];
  content_vector(5, query);
  ty_ask_args exact = {.by = TY_BY_VECTOR, .vector = query, .top_k = 10, EXACTLY, .what = 7, ANSWER_IN(out)};
  ty_ask(c, &exact, &err);
  ty_ask_args probed = {.by = TY_BY_VECTOR,
                        .vector = query,
                        .top_k = 10,
                        .column = 0,
                        .key = (const uint8_t *)"p1",
                        .key_bytes = 2,
                        .target_recall = 0.5,
                        .what = 7,
                        ANSWER_IN(out)};
  ty_ask(c, &probed, &err);
  ty_ask_args filtered = exact;
  filtered.column = 1;
  filtered.key = (const uint8_t *)"k1";
  filtered.key_bytes = 2;
  ty_ask(c, &filtered, &err);
  filtered.key = (const uint8_t *)"k0";
  ty_ask(c, &filtered, &err);
  probed.weighted = exact.weighted = 1;
  ty_ask(c, &exact, &err);
  ty_ask(c, &probed, &err);
  ty_ask_args words = {.by = TY_BY_WORDS,
                       TEXT_OF("text version words"),
                       .top_k = 10,
                       .column = TY_NO_FILTER,
                       .what = 15,
                       .labels = (const uint8_t *)"L\0l1\0",
                       .label_bytes = 5,
                       .label_share = 1.5,
                       ANSWER_IN(out)};
  ty_ask(c, &words, &err);
  ty_ask_args both = words;
  both.by = TY_BY_BOTH;
  both.vector = query;
  both.dense_weight = 0.3;
  both.what = 31;
  both.under = (const uint8_t *)"k1";
  both.under_bytes = 2;
  both.under_column = 1;
  ty_ask(c, &both, &err);
  uint64_t ends[3] = {2, 4, 7};
  ty_neighbours_args neighbours = {
      .n = 3, .ids = (const uint8_t *)"k0k1k22", .id_ends = ends, .what = 7, .text_most = 9, ANSWER_IN(out)};
  ty_neighbours(c, &neighbours, &err);
  ty_passage_place places[3];
  ty_passages_args passages = {TEXT_OF("text k"),       .column = TY_NO_FILTER, .n = 3,
                               .texts = neighbours.ids, .text_ends = ends,      .places = places};
  ty_passages(c, &passages, &err);
  ty_ids_args ids = {.column = TY_NO_FILTER, .what = 7, .out = out, .out_capacity = sizeof out};
  ty_ids(c, &ids, &err);
  ty_sample_args some = {.n = IDS, .seed = 1, .out = sample};
  ty_sample(c, &some, &err);
  ty_stats_args stats;
  ty_stats(c, &stats, &err);
  ty_saves_args saves = {.out = out, .out_capacity = sizeof out};
  ty_saves(c, &saves, &err);
  ty_changes_args changes = {.to = UINT64_MAX, .what = 7 | TY_WITH_TIMES, .out = out, .out_capacity = sizeof out};
  ty_changes(c, &changes, &err);
  changes.id = (const uint8_t *)"k1";
  changes.id_bytes = 2;
  changes.from = 3;
  ty_changes(c, &changes, &err);
  ty_partitions_args partitions = {.out = out, .out_capacity = sizeof out};
  ty_partitions(c, &partitions, &err);
  do partitions.column++;
  while (ty_partitions(c, &partitions, &err) == TY_OK);
}

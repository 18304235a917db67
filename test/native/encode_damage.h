/* Damaged models: the check refuses them, or what it accepts reads nothing outside of the model. */
#pragma once

#include "encode_model.h"
#include "kernel_common.h"
#include "kernel_guard.h"

#define HEADER  64u
#define ID_FROM 16u
#define ID_TO   24u
/* The vocabulary is in the last part of a model; everything before it is numbers, whose values lead to no address. */
#define VOCABULARY 400000u
#define COUNTS_TO  44u
#define DAMAGES    400

static void encode_a_lot(const encoder_model *parts) {
  static const char text[] = "We found the quixotic cafe\xcc\x81 (\xef\xac\x81rst \xc2\xbd) \xef\xbc\xa8\xef\xbc\xa9 "
                             "unbelievably internationalization :30 \xd9\x8e";
  encoder_tokens tokens;
  encoder_tokenize(parts, (const uint8_t *)text, sizeof text - 1, &tokens);
  for (uint32_t i = 0; i < tokens.count; i++) {
    if (!CHECK(tokens.ids[i] < ENCODER_PIECES)) break;
  }
}

/* Only the pieces: numbers of the network do not lead anywhere, and encoding takes long on the slowest path. */
static void test_damage(const uint8_t *model, size_t bytes) {
  const guarded copy = guarded_memory(bytes, GUARD_BEHIND);
  uint8_t *damaged = copy.at;
  if (!CHECK(bytes % HEADER == 0)) return;
  memcpy(damaged, model, bytes);
  CHECK(ame_encoder_check(NULL, bytes) == 1);
  CHECK(ame_encoder_check(damaged + 1, bytes - 1) == 1);
  for (size_t cut = 0; cut < bytes; cut += cut < 2 * HEADER ? 1 : 100003) {
    if (!CHECK_MESSAGE(ame_encoder_check(damaged, cut) == 1, "a model cut to %zu bytes is accepted", cut)) break;
  }
  encoder_model parts;
  for (size_t at = 0; at < HEADER; at++) {
    for (uint32_t bit = 0; bit < 8; bit++) {
      damaged[at] ^= (uint8_t)(1u << bit);
      const int32_t refused = ame_encoder_check(damaged, bytes);
      const int is_id = at >= ID_FROM && at < ID_TO, is_count = at >= ID_TO && at < COUNTS_TO;
      /* Of a section that is padded, there may be some more or fewer. */
      CHECK_MESSAGE(is_count || refused == !is_id, "bit %u of byte %zu of the header", bit, at);
      if (!refused) {
        encoder_open(damaged, &parts);
        encode_a_lot(&parts);
      }
      damaged[at] ^= (uint8_t)(1u << bit);
    }
  }
  uint32_t accepted = 0;
  for (int i = 0; i < DAMAGES; i++) {
    const size_t from = bytes - VOCABULARY + random_u64() % VOCABULARY, n = 1 + random_u64() % 64;
    for (size_t j = from; j < from + n && j < bytes; j++) damaged[j] = (uint8_t)(i % 3 ? random_u64() : damaged[j] ^ 1);
    if (ame_encoder_check(damaged, bytes) == 0) {
      accepted++;
      encoder_open(damaged, &parts);
      encode_a_lot(&parts);
    }
    memcpy(damaged + from, model + from, n < bytes - from ? n : bytes - from);
  }
  CHECK(accepted > 0);
  CHECK(ame_encoder_check(damaged, bytes) == 0);
  guarded_free(copy);
}

/* encode: a text to a vector of what it means, by a small sentence encoder. encode.c has the call and its gates,
 * model.c finds the parts of a model, tokens.c cuts a text into pieces of the model's vocabulary, network.c makes 512
 * numbers of up to 128 pieces. Uses text/ and isa/. The build makes the model: src/build/meaning, which writes what
 * model.c reads.
 *
 * A change of any bit of any vector needs another ENCODER_METHOD. */
#pragma once

#include "isa/isa.h"
#include "text/text.h"

#define ENCODER_METHOD 1u

#define ENCODER_PIECES  8000u /* of the vocabulary; piece 0 stands for what is unknown */
#define ENCODER_WINDOW  ISA_WINDOW
#define ENCODER_WINDOWS 2u
#define ENCODER_TOKENS  (ENCODER_WINDOW * ENCODER_WINDOWS)
#define ENCODER_INPUT   256u /* numbers of a piece */
#define ENCODER_WIDTH   512u
#define ENCODER_WIDEST  1536u
#define ENCODER_LAYERS  2u

/* A node of the tree of pieces; the child for a class is node `base + class` where that has its class as `label`. */
typedef struct encoder_node {
  uint32_t base;
  uint16_t piece; /* that ends here; 0 if none does */
  uint8_t label, unused;
} encoder_node;

/* What NFKC makes of a character that has an effect on pieces. */
typedef struct encoder_form {
  uint32_t character;
  uint16_t at, count; /* in form_chars */
} encoder_form;

/* Two characters that NFKC makes one of. */
typedef struct encoder_pair {
  uint32_t first, second, composed;
} encoder_pair;

typedef struct encoder_layer {
  const float *gain[2], *bias[2]; /* before the attention, before the two dense layers */
  isa_linear qkv, out, dense[2];
  isa_linear skip; /* of the first layer: makes the input as wide as the output */
} encoder_layer;

/* Where the parts of a model are. */
typedef struct encoder_model {
  const int8_t *embeddings;
  const float *embedding_scales, *timing;
  encoder_layer layers[ENCODER_LAYERS];
  isa_linear hidden, projection;
  const int32_t *scores; /* 2^24 times the logarithm of a piece's probability */
  const uint32_t *chars; /* of all pieces, ascending; a character's class is one more than its place */
  const encoder_node *nodes;
  const encoder_form *forms; /* ascending */
  const uint32_t *form_chars;
  const encoder_pair *pairs; /* ascending by both */
  uint32_t char_count, node_count, form_count, form_char_count, pair_count;
} encoder_model;

/* Finds the parts of a model that ame_encoder_check has accepted. */
void encoder_open(const uint8_t *model, encoder_model *out);

typedef struct encoder_tokens {
  uint16_t ids[ENCODER_TOKENS];
  uint32_t count;
  /* Of the words that begin within the first ENCODER_GATE_CHARS characters. */
  uint32_t letters, pieces, unknown;
} encoder_tokens;
#define ENCODER_GATE_CHARS 600u

/* Cuts a text into pieces until there are ENCODER_TOKENS; at most its first ENCODER_TEXT_MOST bytes are read. */
#define ENCODER_TEXT_MOST 32768u
void encoder_tokenize(const encoder_model *m, const uint8_t *text, size_t bytes, encoder_tokens *out);

/* All that one call needs in addition to its stack. */
typedef struct encoder_scratch {
  float a[ENCODER_WINDOW * ENCODER_WIDTH], b[ENCODER_WINDOW * ENCODER_WIDTH], widest[ENCODER_WINDOW * ENCODER_WIDEST];
  float heads[2 * ENCODER_WINDOW * ENCODER_WIDTH / ISA_HEADS];
  uint8_t codes[ENCODER_WINDOW * ENCODER_WIDEST * ISA_CODE_MOST];
  isa_token info[ENCODER_WINDOW];
} encoder_scratch;

/* The encoding of 1 to ENCODER_WINDOW pieces, of unit length. Returns 1 if *stop became nonzero. */
int32_t encoder_window(const encoder_model *m, const uint16_t *ids, size_t count, encoder_scratch *s,
                       const uint32_t *stop, float out[ENCODER_WIDTH]);

/* A model's bytes: a header, and sections that each begin at a multiple of 64, in the order in which `place` finds
 * them. Numbers are little-endian. src/build/meaning/blob.ts writes the same. */
#include "encode/encode.h"

#define MODEL_VERSION 1u
#define MODEL_ALIGN   64u

typedef struct model_header {
  uint8_t magic[8];
  uint32_t version, bytes;
  uint64_t id; /* of the bytes after the header */
  uint32_t chars, nodes, forms, form_chars, pairs;
  uint8_t reserved[20];
} model_header;
_Static_assert(sizeof(model_header) == MODEL_ALIGN, "a header is 64 bytes");
_Static_assert(sizeof(encoder_node) == 8 && sizeof(encoder_form) == 8 && sizeof(encoder_pair) == 12, "as in files");

static const uint8_t model_magic[8] = {'A', 'M', 'E', 'S', 'E', 'N', 'T', '1'};

/* Labels are bytes, so that a child lies at most this far after the base of its node. */
#define CLASSES 256u
/* Bounds that keep the sum of all sections far below 2^32. */
#define COUNT_MOST (1u << 20)
#define SCORE_MOST (1 << 30)

static const void *place(const uint8_t *model, uint64_t *at, uint64_t bytes) {
  const void *section = model + *at;
  *at += (bytes + MODEL_ALIGN - 1) / MODEL_ALIGN * MODEL_ALIGN;
  return section;
}

static const float *place_floats(const uint8_t *model, uint64_t *at, uint64_t count) {
  return place(model, at, count * sizeof(float));
}

static isa_linear place_linear(const uint8_t *model, uint64_t *at, size_t in, size_t out) {
  isa_linear l = {0};
  l.in = in;
  l.out = out;
  l.weights = place(model, at, (uint64_t)in * out);
  l.scales = place_floats(model, at, out);
  l.bias = place_floats(model, at, out);
  return l;
}

static void place_layer(const uint8_t *model, uint64_t *at, size_t in, encoder_layer *layer) {
  layer->gain[0] = place_floats(model, at, in);
  layer->bias[0] = place_floats(model, at, in);
  layer->gain[1] = place_floats(model, at, ENCODER_WIDTH);
  layer->bias[1] = place_floats(model, at, ENCODER_WIDTH);
  layer->qkv = place_linear(model, at, in, 3 * in);
  layer->out = place_linear(model, at, in, ENCODER_WIDTH);
  layer->dense[0] = place_linear(model, at, ENCODER_WIDTH, ENCODER_WIDEST);
  layer->dense[1] = place_linear(model, at, ENCODER_WIDEST, ENCODER_WIDTH);
  if (in != ENCODER_WIDTH) layer->skip = place_linear(model, at, in, ENCODER_WIDTH);
}

/* Reads nothing but the header. Returns how many bytes the model has. */
static uint64_t find_parts(const uint8_t *model, const model_header *h, encoder_model *m) {
  uint64_t at = sizeof *h;
  m->embeddings = place(model, &at, (uint64_t)ENCODER_PIECES * ENCODER_INPUT);
  m->embedding_scales = place_floats(model, &at, ENCODER_PIECES);
  m->timing = place_floats(model, &at, (uint64_t)ENCODER_WINDOW * ENCODER_INPUT);
  place_layer(model, &at, ENCODER_INPUT, &m->layers[0]);
  place_layer(model, &at, ENCODER_WIDTH, &m->layers[1]);
  m->hidden = place_linear(model, &at, ENCODER_WIDTH, ENCODER_WIDTH);
  m->projection = place_linear(model, &at, ENCODER_WIDTH, AME_ENCODING_DIM);
  m->scores = place(model, &at, ENCODER_PIECES * sizeof *m->scores);
  m->chars = place(model, &at, (uint64_t)h->chars * sizeof *m->chars);
  m->nodes = place(model, &at, (uint64_t)h->nodes * sizeof *m->nodes);
  m->forms = place(model, &at, (uint64_t)h->forms * sizeof *m->forms);
  m->form_chars = place(model, &at, (uint64_t)h->form_chars * sizeof *m->form_chars);
  m->pairs = place(model, &at, (uint64_t)h->pairs * sizeof *m->pairs);
  m->char_count = h->chars;
  m->node_count = h->nodes;
  m->form_count = h->forms;
  m->form_char_count = h->form_chars;
  m->pair_count = h->pairs;
  return at;
}

void encoder_open(const uint8_t *model, encoder_model *out) {
  model_header h;
  memcpy(&h, model, sizeof h);
  *out = (encoder_model){0};
  find_parts(model, &h, out);
}

uint64_t ame_encoder_id(const uint8_t *model) {
  model_header h;
  memcpy(&h, model, sizeof h);
  return isa_mix(h.id + ISA_GOLDEN * ENCODER_METHOD);
}

/* All indices that a text can lead to; floats may be anything, since none becomes an index. */
static int indices_are_bounded(const encoder_model *m) {
  for (uint32_t i = 0; i < ENCODER_PIECES; i++) {
    if (m->scores[i] > SCORE_MOST || m->scores[i] < -SCORE_MOST) return 0;
  }
  for (uint32_t i = 0; i < m->node_count; i++) {
    if (m->nodes[i].base > m->node_count - CLASSES || m->nodes[i].piece >= ENCODER_PIECES) return 0;
  }
  for (uint32_t i = 0; i < m->form_count; i++) {
    if (m->forms[i].at > m->form_char_count || m->forms[i].count > m->form_char_count - m->forms[i].at) return 0;
  }
  return 1;
}

int32_t ame_encoder_check(const uint8_t *model, size_t bytes) {
  model_header h;
  encoder_model m = {0};
  if (!model || (uintptr_t)model % MODEL_ALIGN || bytes < sizeof h) return 1;
  memcpy(&h, model, sizeof h);
  if (memcmp(h.magic, model_magic, sizeof h.magic) != 0 || h.version != MODEL_VERSION || h.bytes != bytes) return 1;
  for (size_t i = 0; i < sizeof h.reserved; i++) {
    if (h.reserved[i]) return 1;
  }
  if (h.chars == 0 || h.chars >= CLASSES || h.nodes < CLASSES || h.nodes > COUNT_MOST) return 1;
  if (h.forms > UINT16_MAX || h.form_chars > UINT16_MAX || h.pairs > COUNT_MOST) return 1;
  if (find_parts(model, &h, &m) != bytes) return 1;
  return indices_are_bounded(&m) ? 0 : 1;
}

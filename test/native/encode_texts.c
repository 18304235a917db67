/* Encodes texts for encode.test.ts: encode_texts MODEL [pieces]. A text on stdin is its length (u32) and its bytes.
 * What stdout gets for each is how many pieces it has (u32), the CRC-32 of their ids (u32), its codes, and its gate
 * (u8). With "pieces" the network does not run, and codes and gate are 0. */
#include "encode_model.h"

static uint32_t crc32_of(const void *data, size_t bytes) {
  const uint8_t *p = data;
  uint32_t crc = UINT32_MAX;
  for (size_t i = 0; i < bytes; i++) {
    crc ^= p[i];
    for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ (crc & 1 ? 0xedb88320u : 0);
  }
  return ~crc;
}

int main(int count, char **arguments) {
  size_t bytes;
  uint8_t *model = model_read(count > 1 ? arguments[1] : NULL, &bytes);
  if (!model || ame_encoder_check(model, bytes)) return 1;
  void *scratch = encode_scratch();
  encoder_model parts;
  encoder_open(model, &parts);
  uint32_t length;
  while (fread(&length, sizeof length, 1, stdin) == 1) {
    uint8_t *text = malloc(length + 1u);
    if (!text || fread(text, 1, length, stdin) != length) abort();
    encoder_tokens tokens;
    ame_encoding encoding = {0};
    encoder_tokenize(&parts, text, length, &tokens);
    if (count == 2 && ame_encode(model, AME_ENCODE_ALWAYS, text, length, scratch, NULL, &encoding)) abort();
    const uint32_t head[2] = {tokens.count, crc32_of(tokens.ids, tokens.count * sizeof tokens.ids[0])};
    fwrite(head, sizeof head, 1, stdout);
    fwrite(encoding.codes, sizeof encoding.codes, 1, stdout);
    fwrite(&encoding.gate, 1, 1, stdout);
    free(text);
  }
  free(scratch);
  free(model);
  return 0;
}

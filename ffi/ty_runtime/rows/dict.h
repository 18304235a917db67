/* A filter column's encoded values by code. Code 0 is the empty key, which never matches. */
#pragma once

#include "ame_kernel.h"
#include "os/buffer.h"

typedef struct ty_dict {
  ty_buffer bytes; /* values, concatenated */
  uint64_t *ends;  /* by code */
  uint32_t count;  /* codes in use, at least 1 */
  uint32_t capacity;
  uint32_t *table; /* open addressing: code + 1, 0 empty; power of two */
  uint32_t table_size;
  uint64_t *live; /* by code: live rows that have it */
  uint32_t held;  /* codes that live rows have */
} ty_dict;
#define TY_NO_CODE 0xffffffffu
uint32_t ty_dict_find(const ty_dict *d, const ame_kernel *k, ty_slice value); /* TY_NO_CODE when absent */
uint32_t ty_dict_intern(ty_dict *d, const ame_kernel *k, ty_slice value);     /* TY_NO_CODE when memory ran out */
ty_slice ty_dict_value(const ty_dict *d, uint32_t code);
void ty_dict_count(ty_dict *d, uint32_t code, uint64_t rows); /* `rows` more live rows have the code */
void ty_dict_uncount(ty_dict *d, uint32_t code);              /* one fewer */
void ty_dict_free(ty_dict *d);

/* LEB128: numbers in as many bytes as they need, seven bits in each. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

uint64_t ty_leb_put(uint8_t *out, uint64_t value); /* up to 10 bytes; returns how many */
bool ty_leb_get(const uint8_t **at, const uint8_t *end, uint64_t *value);

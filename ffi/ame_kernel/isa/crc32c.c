/* CRC-32C by the active path: the instruction where the CPU has one, tables elsewhere. */
#include "isa/isa.h"

uint32_t kernel_crc32c(uint32_t crc, const void *data, size_t bytes) { return isa_active()->crc32c(crc, data, bytes); }

/* The end of a process that a signal is to stop, while its threads are at something that cannot be interrupted. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The longest message. */
#define TY_STOP_BYTES 1024u

/* As ty_stop_after_signal, whose arguments were checked. 0, or -errno. */
int ty_stop_set(uint64_t milliseconds, uint8_t code, const uint8_t *message, size_t bytes);

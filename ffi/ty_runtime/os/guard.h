/* Mapped files that another process truncates.
 *
 * Reading a page of a mapping after the file's new end raises SIGBUS, which ends the process; so does a page that the
 * medium cannot give. The handler maps zero pages over such a page and all that follow it in the mapping, and marks the
 * mapping as lost, before the read that raised it goes on: the reader gets zeros, and asks before it uses what
 * it has read. A copy of what is opened would need no handler, and as much memory as the files have bytes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A watched mapping. */
typedef struct ty_guard ty_guard;

/* Watches a mapping until it is dropped, which has to be before it is unmapped. NULL: out of memory. The first one of a
 * process takes over SIGBUS; faults elsewhere go to the handler before. */
ty_guard *ty_guard_take(const void *address, size_t bytes);
void ty_guard_drop(ty_guard *guard);
/* Whether a part of it could not be read. */
bool ty_guard_lost(const ty_guard *guard);

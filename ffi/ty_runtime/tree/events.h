/* What a walk reports: packed ty_tree_event records in the caller's buffer. */
#pragma once

#include "os/env.h"

/* Bytes of the longest event: a path of an entry of a folder at TY_TREE_PATH_MAX. */
#define TY_EVENT_MAX      (sizeof(ty_tree_event) + TY_TREE_PATH_MAX + 264)
#define TY_EVENT_PATH_MAX (TY_TREE_PATH_MAX + 256)

typedef struct ty_events {
  uint8_t *out;
  uint64_t capacity, bytes, count;
} ty_events;

/* Whether any event fits. */
static inline bool ty_events_have_room(const ty_events *events) {
  return events->capacity - events->bytes >= TY_EVENT_MAX;
}
/* Appends an event with a path. There is room. */
void ty_events_add(ty_events *events, const ty_tree_event *event, const char *path, uint32_t path_bytes);

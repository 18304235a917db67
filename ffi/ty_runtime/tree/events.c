#include "tree/events.h"

#include <string.h>

#include "os/assert.h"

void ty_events_add(ty_events *events, const ty_tree_event *event, const char *path, uint32_t path_bytes) {
  TY_ASSERT(ty_events_have_room(events) && path_bytes <= TY_EVENT_PATH_MAX);
  uint32_t padded = (path_bytes + 7) & ~7u;
  uint8_t *to = events->out + events->bytes;
  ty_tree_event head = *event;
  head.path_bytes = path_bytes;
  head.record_bytes = (uint32_t)sizeof head + padded;
  memcpy(to, &head, sizeof head);
  memcpy(to + sizeof head, path, path_bytes);
  memset(to + sizeof head + path_bytes, 0, padded - path_bytes);
  events->bytes += head.record_bytes;
  events->count++;
}

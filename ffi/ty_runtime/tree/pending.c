#include "tree/pending.h"

#include <stdlib.h>

#include "os/assert.h"
#include "tree/paths.h"

#define FIRST_CAPACITY 64u

static uint8_t phase_by_parent(const ty_node *node, const char *after, uint32_t after_bytes) {
  const ty_node *parent = node->parent;
  if (parent->phase != TY_PHASE_ABOVE) return parent->phase;
  /* The parent is the component of `after` before this one, so that only the names are compared. */
  uint32_t at = 0;
  for (uint32_t level = 0; level < parent->levels; level++) at += ty_path_component(after, after_bytes, at) + 1;
  if (at >= after_bytes) return TY_PHASE_BEHIND;
  uint32_t bytes = ty_path_component(after, after_bytes, at);
  int order = ty_path_compare_names(node->name, node->name_bytes, after + at, bytes);
  return order == 0 ? TY_PHASE_ABOVE : order > 0 ? TY_PHASE_BEHIND : TY_PHASE_REST;
}

uint8_t ty_pending_phase(const ty_node *start, const char *after, uint32_t after_bytes) {
  char path[TY_TREE_PATH_MAX + 1];
  uint32_t bytes = ty_path_of(start, path);
  for (uint32_t at = 0; at < bytes;) {
    uint32_t mine = ty_path_component(path, bytes, at), other = ty_path_component(after, after_bytes, at);
    if (at >= after_bytes) return TY_PHASE_BEHIND;
    int order = ty_path_compare_names(path + at, mine, after + at, other);
    if (order != 0) return order > 0 ? TY_PHASE_BEHIND : TY_PHASE_REST;
    at += mine + 1;
  }
  return TY_PHASE_ABOVE;
}

static bool is_before(const ty_node *a, const ty_node *b) {
  return a->phase != b->phase ? a->phase < b->phase : ty_path_compare(a, b) < 0;
}

bool ty_pending_add_first(ty_pending *pending, ty_node *node) {
  TY_ASSERT(!node->is_pending);
  if (pending->count == pending->capacity) {
    uint64_t capacity = pending->capacity == 0 ? FIRST_CAPACITY : pending->capacity * 2, bytes;
    if (!ty_mul(capacity, sizeof(ty_node *), &bytes) || bytes > SIZE_MAX / 2) return false;
    ty_node **nodes = realloc(pending->nodes, (size_t)bytes);
    if (nodes == NULL) return false;
    pending->nodes = nodes;
    pending->capacity = capacity;
  }
  uint64_t at = pending->count++;
  for (; at > 0 && is_before(node, pending->nodes[(at - 1) / 2]); at = (at - 1) / 2)
    pending->nodes[at] = pending->nodes[(at - 1) / 2];
  pending->nodes[at] = node;
  node->is_pending = true;
  return true;
}

bool ty_pending_add(ty_pending *pending, ty_node *node, const char *after, uint32_t after_bytes) {
  node->phase = phase_by_parent(node, after, after_bytes);
  return ty_pending_add_first(pending, node);
}

ty_node *ty_pending_take(ty_pending *pending) {
  if (pending->count == 0) return NULL;
  ty_node *first = pending->nodes[0], *last = pending->nodes[--pending->count];
  uint64_t at = 0;
  for (uint64_t child; (child = at * 2 + 1) < pending->count; at = child) {
    if (child + 1 < pending->count && is_before(pending->nodes[child + 1], pending->nodes[child])) child++;
    if (!is_before(pending->nodes[child], last)) break;
    pending->nodes[at] = pending->nodes[child];
  }
  pending->nodes[at] = last;
  first->is_pending = false;
  return first;
}

void ty_pending_clear(ty_pending *pending) {
  for (uint64_t i = 0; i < pending->count; i++) pending->nodes[i]->is_pending = false;
  pending->count = 0;
}

void ty_pending_free(ty_pending *pending) {
  free(pending->nodes);
  *pending = (ty_pending){0};
}

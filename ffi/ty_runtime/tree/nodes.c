#include "tree/nodes.h"

#include <stdlib.h>

#include "os/assert.h"

#define FIRST_SIZE 256u

/* The folder's address is the seed: names of one repository cannot be chosen so that they collide. */
static uint32_t hash_of(const ty_nodes *nodes, const ty_node *parent, const char *name, uint32_t bytes) {
  return (uint32_t)nodes->kernel->hash64(name, bytes, (uint64_t)(uintptr_t)parent);
}

static ty_node *node_new(ty_node *parent, const char *name, uint32_t bytes) {
  ty_node *node = calloc(1, sizeof *node + bytes + 1);
  if (node == NULL) return NULL;
  node->parent = parent;
  node->levels = parent == NULL ? 0 : (uint8_t)(parent->levels + 1);
  node->name_bytes = (uint8_t)bytes;
  memcpy(node->name, name, bytes);
  return node;
}

bool ty_nodes_open(ty_nodes *nodes, const ame_kernel *kernel) {
  *nodes = (ty_nodes){.kernel = kernel, .root = node_new(NULL, "", 0)};
  if (nodes->root == NULL) return false;
  nodes->root->verdict = TY_TREE_ENTER;
  nodes->root->kind = TY_KIND_FOLDER;
  return true;
}

void ty_nodes_close(ty_nodes *nodes) {
  for (uint64_t i = 0; i < nodes->size; i++) free(nodes->slots[i]);
  ty_nodes_free_dropped(nodes);
  free(nodes->slots);
  free(nodes->root);
  *nodes = (ty_nodes){0};
}

ty_node *ty_nodes_find(const ty_nodes *nodes, const ty_node *parent, const char *name, uint32_t bytes) {
  if (nodes->size == 0) return NULL;
  uint32_t hash = hash_of(nodes, parent, name, bytes);
  uint64_t mask = nodes->size - 1;
  for (uint64_t at = hash & mask;; at = (at + 1) & mask) {
    ty_node *node = nodes->slots[at];
    if (node == NULL) return NULL;
    if (node->hash == hash && node->parent == parent && ty_node_is(node, name, bytes)) return node;
  }
}

static void place(ty_node **slots, uint64_t mask, ty_node *node) {
  uint64_t at = node->hash & mask;
  while (slots[at] != NULL) at = (at + 1) & mask;
  slots[at] = node;
}

/* At most half of the table is used. */
static bool make_room(ty_nodes *nodes) {
  if (nodes->count >= TY_NODES_MOST) return false;
  if ((nodes->count + 1) * 2 <= nodes->size) return true;
  uint64_t size = nodes->size == 0 ? FIRST_SIZE : nodes->size * 2, bytes;
  if (!ty_mul(size, sizeof(ty_node *), &bytes) || bytes > SIZE_MAX / 2) return false;
  ty_node **slots = calloc((size_t)size, sizeof *slots);
  if (slots == NULL) return false;
  for (uint64_t i = 0; i < nodes->size; i++) {
    if (nodes->slots[i] != NULL) place(slots, size - 1, nodes->slots[i]);
  }
  free(nodes->slots);
  nodes->slots = slots;
  nodes->size = size;
  return true;
}

ty_node *ty_nodes_add(ty_nodes *nodes, ty_node *parent, ty_node *before, const char *name, uint32_t bytes) {
  TY_ASSERT(bytes > 0 && bytes <= 255 && parent->levels < TY_TREE_LEVELS_MAX);
  TY_ASSERT(ty_nodes_find(nodes, parent, name, bytes) == NULL);
  if (!make_room(nodes)) return NULL;
  ty_node *node = node_new(parent, name, bytes);
  if (node == NULL) return NULL;
  node->hash = hash_of(nodes, parent, name, bytes);
  ty_node **at = before == NULL ? &parent->first : &before->next;
  node->next = *at;
  *at = node;
  place(nodes->slots, nodes->size - 1, node);
  nodes->count++;
  return node;
}

/* Frees the slot and closes the gap: a later entry of the same run moves into it where it may. */
static void unplace(ty_nodes *nodes, const ty_node *node) {
  uint64_t mask = nodes->size - 1, gap = node->hash & mask;
  while (nodes->slots[gap] != node) gap = (gap + 1) & mask;
  for (uint64_t at = (gap + 1) & mask; nodes->slots[at] != NULL; at = (at + 1) & mask) {
    uint64_t home = nodes->slots[at]->hash & mask;
    if (((at - home) & mask) < ((at - gap) & mask)) continue;
    nodes->slots[gap] = nodes->slots[at];
    gap = at;
  }
  nodes->slots[gap] = NULL;
}

void ty_nodes_drop(ty_nodes *nodes, ty_node **at) {
  ty_node *node = *at;
  TY_ASSERT(node->first == NULL && !node->is_dropped);
  *at = node->next;
  unplace(nodes, node);
  nodes->count--;
  node->is_dropped = true;
  node->next = nodes->dropped;
  nodes->dropped = node;
}

void ty_nodes_drop_below(ty_nodes *nodes, ty_node *folder) {
  for (ty_node *at = folder;;) {
    if (at->first != NULL) {
      at = at->first;
    } else if (at == folder) {
      return;
    } else {
      at = at->parent;
      ty_nodes_drop(nodes, &at->first);
    }
  }
}

void ty_nodes_free_dropped(ty_nodes *nodes) {
  while (nodes->dropped != NULL) {
    ty_node *node = nodes->dropped;
    nodes->dropped = node->next;
    free(node);
  }
}

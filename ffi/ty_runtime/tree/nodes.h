/* The entries that are known, by their folder and name. */
#pragma once

#include <string.h>
#include "os/env.h"

/* An entry; allocated together with its name. */
typedef struct ty_node ty_node;
struct ty_node {
  ty_node *parent; /* NULL: the root */
  ty_node *next;   /* of the same folder; of a dropped one, the next dropped one */
  ty_node *first;  /* of the entries of a folder */
  double mark;     /* as reported last; 0: none was */
  uint64_t device; /* of a folder */
  uint32_t hash;
  uint32_t seen, read; /* the last walks that saw it, and that visited it as a folder */
  uint8_t verdict;     /* TY_TREE_NONE ... */
  uint8_t kind;        /* ty_kind; unknown where it was never seen */
  uint8_t levels;      /* components of its path */
  uint8_t phase;       /* of a pending folder, see pending.h */
  bool has_device, is_pending, is_dropped;
  uint8_t name_bytes;
  char name[]; /* NUL-terminated */
};

typedef struct ty_nodes {
  const ame_kernel *kernel;
  ty_node *root;
  ty_node **slots; /* open addressing; NULL: free */
  uint64_t size;   /* a power of two, or 0 */
  uint64_t count;
  ty_node *dropped; /* not freed yet: a walk may still name them */
} ty_nodes;

#define TY_NODES_MOST (UINT64_C(1) << 31)

bool ty_nodes_open(ty_nodes *nodes, const ame_kernel *kernel); /* false: out of memory */
void ty_nodes_close(ty_nodes *nodes);
static inline bool ty_node_is(const ty_node *node, const char *name, uint32_t bytes) {
  return node->name_bytes == bytes && memcmp(node->name, name, bytes) == 0;
}
/* NULL: not known. */
ty_node *ty_nodes_find(const ty_nodes *nodes, const ty_node *parent, const char *name, uint32_t bytes);
/* A new entry without a verdict, after `before` in its folder's list, or NULL: the first; the parent has none of that
 * name. 1 to 255 bytes, below TY_TREE_LEVELS_MAX levels. NULL: out of memory, or there are too many. */
ty_node *ty_nodes_add(ty_nodes *nodes, ty_node *parent, ty_node *before, const char *name, uint32_t bytes);
/* Drops an entry that has none below it; `at` points to it in its folder's list. */
void ty_nodes_drop(ty_nodes *nodes, ty_node **at);
/* Drops all below a folder. */
void ty_nodes_drop_below(ty_nodes *nodes, ty_node *folder);
/* Frees what was dropped. */
void ty_nodes_free_dropped(ty_nodes *nodes);

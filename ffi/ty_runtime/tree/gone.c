/* Entries that are gone. What is below a folder is reported before it, so that each call goes on where the last one
 * ended: what was reported is no longer there. */
#include "os/assert.h"
#include "tree/tree.h"

/* Drops the entry at `at`, which has none below it, after reporting it. */
static bool drop(ty_tree *tree, ty_walk_call *call, ty_node **at) {
  ty_node *node = *at;
  if (node->verdict == TY_TREE_WATCH || node->verdict == TY_TREE_ENTER) {
    char path[TY_TREE_PATH_MAX + 1];
    if (!ty_events_have_room(&call->events)) return false;
    ty_tree_event event = {.kind = TY_TREE_GONE, .type = node->kind};
    ty_events_add(&call->events, &event, path, ty_path_of(node, path));
  }
  TY_ASSERT(!node->is_pending && node != tree->current);
  ty_nodes_drop(&tree->nodes, at);
  return true;
}

bool ty_gone_below(ty_tree *tree, ty_walk_call *call, ty_node *folder) {
  for (ty_node *at = folder;;) {
    if (at->first != NULL) {
      at = at->first;
    } else if (at == folder) {
      return true;
    } else {
      at = at->parent;
      if (!drop(tree, call, &at->first)) return false;
    }
  }
}

bool ty_gone_entry(ty_tree *tree, ty_walk_call *call, ty_node *node) {
  if (!ty_gone_below(tree, call, node)) return false;
  ty_node **at = &node->parent->first;
  while (*at != node) at = &(*at)->next;
  return drop(tree, call, at);
}

bool ty_gone_unseen(ty_tree *tree, ty_walk_call *call, ty_node *folder) {
  for (ty_node **at = &folder->first; *at != NULL;) {
    if ((*at)->seen == tree->walk) at = &(*at)->next;
    else if (!ty_gone_below(tree, call, *at) || !drop(tree, call, at)) return false;
  }
  return true;
}

/* Paths relative to the root: components between slashes. In their order a slash is lower than any other byte. */
#pragma once

#include "tree/nodes.h"

/* Whether bytes are UTF-8 as Unicode has it: shortest forms, no surrogates, nothing above U+10FFFF; and no NUL. */
bool ty_path_is_utf8(const char *bytes, uint64_t count);
/* NULL, or what is wrong with a path that a caller gives; an empty one is right. */
const char *ty_path_wrong(const uint8_t *path, uint64_t bytes);
/* The bytes of the component that begins at `at`. */
uint32_t ty_path_component(const char *path, uint32_t bytes, uint32_t at);
/* An entry's path, NUL-terminated; its bytes. */
uint32_t ty_path_of(const ty_node *node, char out[TY_TREE_PATH_MAX + 1]);
/* Below 0, 0 or above 0. */
int ty_path_compare_names(const char *a, uint32_t a_bytes, const char *b, uint32_t b_bytes);
int ty_path_compare(const ty_node *a, const ty_node *b);
/* The entry at a path; made where it is not known, without a verdict, as are the folders above it. NULL: out of memory.
 */
ty_node *ty_path_entry(ty_nodes *nodes, const char *path, uint32_t bytes);

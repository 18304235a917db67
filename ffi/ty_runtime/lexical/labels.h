/* Labels: hidden terms of a row, for names and the like. Bytes as they are, neither split nor folded; a row has each
 * once, and its length does not count them. */
#pragma once

#include "os/buffer.h"
#include "ty_runtime.h"

/* The next of a run of NUL-ended labels, taken off its front; false at the end. The run is checked. */
bool ty_label_next(ty_slice *run, ty_slice *label);
/* The hash that a label has among the terms. One in 2^32 has that of a given term and then counts as that term. */
uint32_t ty_label_hash(ty_slice label);
/* TY_INVALID for a run that does not end with NUL, a label of no byte or above TY_LABEL_MAX, or more than
 * TY_LABELS_MAX. */
ty_status ty_labels_check(ty_slice run, ty_error *err);
/* The hashes of a run, in the upper half of each item, ascending, each once; *items is the caller's to free, NULL where
 * there is none. False: out of memory. */
bool ty_labels_sorted(ty_slice run, uint64_t **items, uint64_t *count);

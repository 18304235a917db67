/* The weight of a term without a collection: an estimate of its inverse document frequency. */
#pragma once

#include "text/text.h"

/* Part of the models, unlike kernel_hash64, and the order of prior_table.h: it must not change within a version. */
uint64_t text_hash(const uint8_t *bytes, size_t n);

/* The weight, in (0, 1], of a term whose stem (or itself, if it has none) hashes to `stem`. Words that are not in the
 * table are weighed by their `characters`: short words are common. */
float text_prior(uint64_t stem, int word, size_t characters);

/* term_worth of the kernel's table. */
float kernel_term_worth(const uint8_t *term, size_t bytes);

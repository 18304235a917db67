/* What a term is worth before anything is known of the collection: a stand-in for its inverse document frequency. */
#ifndef AME_PRIOR_H
#define AME_PRIOR_H

#include "text/text.h"

/* Part of the models, unlike kernel_hash64, and prior_table.h is laid out by it: never to change within a version. */
uint64_t text_hash(const uint8_t *bytes, size_t n);

/* The weight, in (0, 1], of a term whose stem hashes to `stem` (of what has no stem: itself). Terms that stand in no
 * table are weighed by their `characters` where they are words: short words are common words. */
float text_prior(uint64_t stem, int word, size_t characters);

/* term_worth of the kernel's table. */
float kernel_term_worth(const uint8_t *term, size_t bytes);

#endif

/* Partners of terms: other words of a like meaning, words of another language. Looked up for words of a question that
 * the searched rows lack.
 *
 * A table is bytes as src/build/tables/partners-table.ts writes them: terms in order in blocks of sixteen, the first of
 * a block written whole, the others with what they have in common with the term before. */
#pragma once

#include "ame_kernel.h"

/* term_partners of the kernel's table. */
uint32_t kernel_term_partners(uint32_t kind, const uint8_t *term, size_t term_bytes, ame_partner_fn fn, void *ctx);

/* The same for any table. Bytes that are not a table, or a cut one, give fewer partners or none: nothing outside of
 * `table` is read, and no more than AME_PARTNERS_MOST partners are given. */
uint32_t text_partners(const uint8_t *table, size_t table_bytes, const uint8_t *term, size_t term_bytes,
                       ame_partner_fn fn, void *ctx);

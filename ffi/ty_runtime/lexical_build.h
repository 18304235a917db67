/* Writing the inverted index over a rewrite's rows in their final order. */
#ifndef TY_LEXICAL_BUILD_H
#define TY_LEXICAL_BUILD_H

#include "lexical_format.h"

/* Takes the bytes as they come, front to back, some 64 KiB at a time. False: it failed and has told so itself; the
 * build then ends with TY_IO and says nothing more. */
typedef struct ty_lexical_sink {
  bool (*put)(void *ctx, const void *data, uint64_t bytes);
  void *ctx;
} ty_lexical_sink;
ty_status ty_lexical_encode(const ty_rebase *r, const ty_lexical_sink *sink, ty_error *err);

#endif

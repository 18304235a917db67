/* Vectors of meaning of rows that are put. */
#pragma once

#include "calls/encode.h"

/* Stages the vectors of a put's rows after ty_encode: those of the rows that they are like, and with TY_PUT_MEANING
 * those of short texts. Nothing that queries read is changed. The caller cuts the staged records off on a failure. */
ty_status ty_meaning_stage_put(const ty_encoding *e, ty_progress *progress, ty_error *err);

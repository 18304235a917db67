/* What happened to the rows since a mark, so that it can be undone. */
#ifndef TY_UNDO_H
#define TY_UNDO_H

#include "state/state.h"

void ty_mark(ty_collection *c); /* from here ty_undo_locked goes back */
ty_status ty_kill_reserve(ty_collection *c, uint64_t more, ty_error *err);
void ty_kill(ty_collection *c, ty_place place); /* a live row; room was reserved */
void ty_undo_locked(ty_collection *c);          /* under the exclusive lock */
void ty_note_lexical(ty_collection *c);         /* the lexical index counts the delta anew */

#endif

/* Marking rows dead, and undoing what happened since a mark. */
#pragma once

#include "state/state.h"

void ty_mark(ty_collection *c); /* ty_undo_locked goes back to here */
ty_status ty_kill_reserve(ty_collection *c, uint64_t more, ty_error *err);
void ty_kill(ty_collection *c, ty_place place); /* a live row; room was reserved */
void ty_undo_locked(ty_collection *c);          /* under the exclusive lock */
void ty_note_lexical(ty_collection *c);         /* the lexical index counts the delta again */

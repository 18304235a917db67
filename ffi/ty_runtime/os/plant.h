/* Faults that tests plant, each a bug that a suite has to find: test/fault/plants.h has what finds those of the disk,
 * test/native/lines_parts.h those of scans, test/native/passages_first.h those of passages. Nothing of it is compiled
 * into the libraries. */
#pragma once

#include <stdbool.h>

typedef enum ty_plant {
  TY_PLANT_NONE,
  TY_PLANT_NO_DIRECTORY_SYNC, /* after the manifest's rename */
  TY_PLANT_NO_PARENT_SYNC,    /* of a first save */
  TY_PLANT_NO_NAME_SYNC,      /* of a fresh delta */
  TY_PLANT_NO_MARKER_SYNC,
  TY_PLANT_NO_MARKER,     /* of a first save */
  TY_PLANT_EARLY_MARKER,  /* it is removed before the manifest is there */
  TY_PLANT_NO_WAIT,       /* the rename does not wait for the delta's sync */
  TY_PLANT_IN_PLACE,      /* the manifest is written under its own name */
  TY_PLANT_EARLY_CLEANUP, /* the base before is removed before the commit */
  TY_PLANT_IGNORED_RENAME,
  TY_PLANT_NO_SYNC_OF_NAMES, /* that a rewrite beside writers gives its files */
  TY_PLANT_SURE_ERROR,       /* a failure after the commit is said to have changed nothing */
  TY_PLANT_IGNORED_SYNC,     /* of a delta */
  TY_PLANT_REUSED_DELTA,     /* after a failed sync of it */
  TY_PLANT_NO_RETRY,         /* of an opening whose files were replaced meanwhile */
  TY_PLANT_LATE_STAMP,       /* the manifest is looked at after it was read */
  TY_PLANT_NO_FOLLOW,        /* a change begins with the rows that the handle has */
  TY_PLANT_NO_UNDO,          /* of a failed change */
  TY_PLANT_NO_HISTORY_NAME,  /* no sync of the name of one that is taken */
  TY_PLANT_EARLY_HISTORY,    /* the history before is removed before the commit */
  TY_PLANT_FORGOTTEN_SAVE,   /* the newest, by a rewrite */
  TY_PLANT_SAME_ORIGIN,      /* one of the length of the one before is left out */
  TY_PLANT_KEPT_PURGED,
  TY_PLANT_NO_ROW_SUM, /* of a row of the history */
  TY_PLANT_NO_MANIFEST_SUM,
  TY_PLANT_NO_HEADER_SUM,
  TY_PLANT_NO_TABLE_SUM,
  TY_PLANT_NO_SECTION_SUM,
  TY_PLANT_NO_BLOCK_SUM,
  TY_PLANT_NO_SUMS_SUM,
  TY_PLANT_NO_DELTA_SUM,
  TY_PLANT_NO_ID_MAP_SUM,
  /* The bound of rows by a part of a query's dimensions. */
  TY_PLANT_PART_NO_REST,       /* the other dimensions are left out of it */
  TY_PLANT_PART_NO_LAST,       /* the smallest of these is */
  TY_PLANT_PART_NO_READ,       /* what the codes of the part miss is */
  TY_PLANT_PART_NARROW_SUM,    /* it is narrower by a thousandth, by widths */
  TY_PLANT_PART_NARROW_LENGTH, /* the same by norms */
  TY_PLANT_PART_UNREAD,        /* the products in the other dimensions are not added */
  TY_PLANT_TWICE_EXPECTED,     /* expected rows are scanned too */
  /* Passages that a search leaves out. */
  TY_PLANT_PASSAGE_OF_ROW,    /* a row's score is taken for the bound of its passages */
  TY_PLANT_PASSAGE_NOT_APART, /* a passage is taken to be no better than its row */
  TY_PLANT_PASSAGE_NO_GAIN,   /* embedding is assumed to raise no row */
  TY_PLANT_PASSAGE_LEFT_OUT   /* passages stay out although turns need the scores of their rows */
} ty_plant;
extern ty_plant ty_planted; /* the one that a test has planted */

#ifdef TY_ASSERTS
#define TY_PLANTED(which) (ty_planted == TY_PLANT_##which)
#else
#define TY_PLANTED(which) false
#endif

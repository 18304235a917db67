/* A calibration's inside: the questions that are asked of a new index (calibrate_ask.c), and what is concluded from
 * them (calibrate.c). */
#ifndef TY_CALIBRATE_H
#define TY_CALIBRATE_H

#include "ivf/builder.h"

#define NEIGHBOURS 10u
/* Questions that share a pass over the rows. */
#define ASKED_TOGETHER 16u
/* Kinds of questions: see calibrate_ask.c. */
enum { RAW, CUT, REST, QUESTION_KINDS };

typedef struct answer {
  double kth;     /* the value of the last neighbour */
  uint32_t count; /* neighbours found */
  double needs[NEIGHBOURS], alone[NEIGHBOURS];
  double lists, rows; /* read at the reach chosen */
  uint64_t scored;    /* rows scored for the exact answer */
} answer;

typedef struct calibration {
  ty_rebase *r;
  const ty_segment *base;
  ty_ivf_part *part; /* whose questions these are; NULL for those of the whole base */
  ty_crew crew;
  ty_filter filter;
  const uint64_t *held; /* rows asked, by position */
  answer *answers; /* of held row i as it is, then of every other one cut, then of every other one less its centroid */
  uint64_t first[QUESTION_KINDS], asked[QUESTION_KINDS];
  uint64_t asking_from, asking; /* what calibrate_ask is run for: the first question, and how many */
  uint32_t most_lists;          /* of a part */
  uint64_t base_asked;
  bool wide; /* some part is */
  struct need *needs;
  uint32_t *found;
  float *query[TY_CREW_MAX], *row[TY_CREW_MAX]; /* ASKED_TOGETHER questions, one row */
  ty_ivf_outlook *outlook[TY_CREW_MAX];         /* ASKED_TOGETHER times most_lists */
} calibration;

/* Tasks of a crew. Asks up to ASKED_TOGETHER questions and finds what their neighbours need. */
ty_status calibrate_ask(void *context, uint64_t task, uint32_t worker, ty_error *err);
/* Counts what question `task` would read by the reaches found. */
ty_status calibrate_count(void *context, uint64_t task, uint32_t worker, ty_error *err);
/* The part that holds a position; NULL for a row outside of the index. */
const ty_ivf_part *calibrate_part_of(const calibration *m, uint64_t at);

#endif

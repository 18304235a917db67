/* libty_runtime: a collection on disk and in memory. The whole ABI, with its contracts.
 *
 *  - The caller owns all memory, also that of answers. Only handles need closing, each by its own call.
 *  - Every function that can fail returns a ty_status and fills `err` (never NULL) with a message.
 *  - A handle may be used from several threads: queries share it, changes exclude everything else.
 *  - Changes are made between ty_begin and ty_save. ty_begin takes the collection's writer lock, across all processes,
 *    and never waits: on TY_BUSY the caller tries again later.
 *  - Argument structs have only 8-byte fields, in this order: another language can fill an array of 64-bit words.
 *    Fields marked "out" are written before the function returns, also on failure where stated.
 *  - Pointers to zero bytes may be NULL.
 *  - Memory for an answer (`out`) that is records begins at a multiple of 8.
 */
#pragma once

#include "ame_kernel.h"

#if defined(__GNUC__)
#define TY_API __attribute__((visibility("default")))
#else
#define TY_API
#endif

#define TY_ABI_VERSION 26u
/* BM25's parameters until ty_build_lexical sets others. src/texts/ranking.ts has them too, with their measurements. */
#define TY_LEXICAL_K1 1.2
#define TY_LEXICAL_B  0.6
TY_API uint32_t ty_abi_version(void);

typedef enum ty_status {
  TY_OK = 0,
  TY_INVALID = 1,    /* an argument outside its domain */
  TY_KEY_EXISTS = 2, /* TY_ADD of an id that is live or repeated in the call */
  TY_NOT_FOUND = 3,  /* no such collection, or an id that TY_UPDATE needs */
  TY_STATE = 4,      /* a change outside begin and save, a walk that was not begun */
  TY_IO = 5,         /* a system call failed with `sys_errno`; the saved state stands */
  TY_BUSY = 6,       /* another writer holds the lock: sys_errno is EWOULDBLOCK, and ty_holder says who; or, with 0,
                        saves come too fast to follow */
  TY_CANCELLED = 7,  /* progress->cancel was seen; the saved state stands */
  TY_CORRUPT = 8,    /* bytes on disk do not match their checksum or their format; the message names file and offset */
  TY_NO_MEMORY = 9,
  TY_BUFFER = 10,  /* out_capacity is too small: call again with out_bytes */
  TY_ABI = 11,     /* the kernel table is of another version */
  TY_LARGE = 12,   /* the query would read more than most_bytes; nothing was ranked */
  TY_VERSION = 13, /* a file is of another version of the format: the message names it and both versions */
  TY_INDEX = 14,   /* the lexical index is damaged: rewriting the base makes it again; the rows and other calls are
                      intact */
  TY_UNSURE = 15,  /* a system call failed with `sys_errno` when the change may have been saved: a retry may meet it */
  TY_NO_LEXICAL = 16, /* the schema of the collection has lexical: false */
  TY_UNBUILT = 17, /* the lexical index was not built, or for another way of tokenising: ty_build_lexical builds it */
  TY_FULL = 18,    /* the disk is full (`sys_errno`), and the change goes on: ty_save_staged */
  TY_REFUSED = 19  /* the coordinator refused the save, see ty_decide; the saved state stands, and after ty_save_staged
                      the change goes on */
} ty_status;

typedef struct ty_error {
  int32_t status;
  int32_t sys_errno;
  char message[1016]; /* UTF-8, NUL-terminated; names files relative to the collection's directory */
} ty_error;

/* Shared with other threads while a long call runs; all fields relaxed atomics. NULL: no progress, no cancel. */
typedef struct ty_progress {
  uint64_t done;
  uint64_t total;
  uint64_t cancel; /* set to 1 by the caller to stop */
} ty_progress;

/* Called on a thread of the library. */
typedef void (*ty_done_fn)(uint32_t token, int32_t status);

typedef struct ty_env ty_env;               /* one per process: kernel table, threads, system calls */
typedef struct ty_collection ty_collection; /* one open collection */
typedef struct ty_ahead ty_ahead;           /* texts that were encoded before their put */

/* `threads` workers for ty_submit, at least 1, which are started when they are needed. */
TY_API ty_status ty_env_open(const ame_kernel *kernel, uint32_t threads, ty_env **out, ty_error *err);
/* Waits for submitted work. Every collection must be closed before. */
TY_API void ty_env_close(ty_env *env);
/* Gives the environment the model of the sentence encoder, which stays mapped until the environment is closed. Without
 * one no text gets a vector of meaning. TY_INVALID where it is not a model of this kernel's version; TY_STATE where the
 * environment has another one. */
TY_API ty_status ty_env_model(ty_env *env, const uint8_t *model, uint64_t bytes, ty_error *err);
/* What this process is, a command of two words: it stands in the lock file of a collection while this process changes
 * it, for the messages of other processes. At most 39 bytes of printable ASCII; further ones and others are left out.
 * Before the first collection is opened. */
TY_API void ty_env_label(ty_env *env, const char *label);
/* From the next SIGINT or SIGTERM on the process has so many milliseconds (1 to 60,000) to end by itself. Then it ends
 * with exit status `code` (0 to 255), whatever its threads are at, with `message` (at most 1,024 bytes) on stderr: as
 * by a kill, the last save of every collection stands. The handlers that the process has are called as before; a signal
 * without one keeps its effect. Takes over SIGALRM and the process's real timer. Only the first call of a process that
 * succeeds has an effect. From one thread at a time. */
TY_API ty_status ty_stop_after_signal(uint64_t milliseconds, uint64_t code, const uint8_t *message, uint64_t bytes,
                                      ty_error *err);

/* The terms of n texts, UTF-8, as a lexical index has them: their hashes, in the order of each text, in `out` side by
 * side. */
typedef struct ty_terms_args {
  uint64_t n;
  const uint8_t *texts;
  const uint64_t *text_ends;
  uint32_t *out;
  uint64_t out_capacity; /* hashes */
  uint64_t *out_ends;    /* n, out: where those of each text end */
  uint64_t out_count;    /* out: hashes, also with TY_BUFFER */
} ty_terms_args;
TY_API ty_status ty_terms(ty_env *env, ty_terms_args *args, ty_error *err);

/* Where n texts hold one of m strings, of at least three bytes each. TY_BUFFER if there are more places than `out` has
 * room for. A megabyte takes a third of a millisecond. */
#define TY_OCCURRENCES_MOST 255u
typedef struct ty_occurrences_args {
  uint64_t n;
  const uint8_t *texts;
  const uint64_t *text_ends;
  uint64_t m; /* at most TY_OCCURRENCES_MOST */
  const uint8_t *strings;
  const uint64_t *string_ends;
  uint32_t *out;         /* of each place the text's number, ascending, and the offset in it, in no order */
  uint64_t out_capacity; /* places */
  uint64_t out_count;
} ty_occurrences_args;
TY_API ty_status ty_occurrences(ty_occurrences_args *args, ty_error *err);

/* A new collection in memory; nothing is written before its first ty_save. `schema` is a JSON object with the keys
 * name, dim, dtype ("f32", "f16", "int8" or "int4": how vectors are stored, which is what rows then are), key_name,
 * filter_columns (the key first), telys_version, default_target_recall, applied_tuner, lexical, embedder_profile, notes
 * or not, and others that are kept (FORMAT.md). Where the profile is an object, its member distance says how rows are
 * ranked: "cosine" or "l2"; anything else is the inner product. A collection of texts, which is one with a profile
 * whose member provider is not "vectors", or with lexical: true, has a lexical index from here on. */
TY_API ty_status ty_collection_new(ty_env *env, const char *dir, const uint8_t *schema, uint64_t schema_bytes,
                                   ty_collection **out, ty_error *err);
/* Opens the saved state in `dir` and maps it. TY_NOT_FOUND without a collection.json. */
TY_API ty_status ty_collection_open(ty_env *env, const char *dir, ty_collection **out, ty_error *err);
/* A handle of the saved state in `dir` of which nothing is read yet, so that damage does not keep it from being had:
 * for ty_check. Any other call opens it first. */
TY_API ty_status ty_collection_at(ty_env *env, const char *dir, ty_collection **out, ty_error *err);
/* Drops unsaved changes and the lock, once the calls handed to ty_submit have returned. No other call of the collection
 * may be under way. */
TY_API void ty_collection_close(ty_collection *c);

/* Follows what other processes saved since (one stat when nothing changed), as every query does. Only outside begin ..
 * save. */
TY_API ty_status ty_refresh(ty_collection *c, ty_error *err);

/* ---- Changes ---- */
TY_API ty_status ty_begin(ty_collection *c, ty_error *err);
/* What the holder of the lock does: a word that stands in the lock file after the process's label, for the messages of
 * other processes. "saving" from ty_begin on; nothing without a begin. */
TY_API void ty_says(ty_collection *c, const char *what);

#define TY_HOLDER_TEXT    64u
#define TY_HOLDER_UNSEEN  0u /* the lock file names it, or pid is 0; the system does not know it as the holder */
#define TY_HOLDER_SELF    1u /* this process, by another handle */
#define TY_HOLDER_RUNS    2u
#define TY_HOLDER_STOPPED 3u /* by a signal: SIGCONT continues it */
#define TY_HOLDER_TRACED  4u /* by a debugger */
/* Who holds the writer's lock, after a TY_BUSY. The system says which process it is; the lock file, what that was doing
 * when it wrote there last. */
typedef struct ty_holder_args {
  uint8_t *text;       /* TY_HOLDER_TEXT bytes: the label and the word of ty_says */
  uint64_t text_bytes; /* out: 0: not known */
  uint64_t pid;        /* out; 0: not known */
  uint64_t state;      /* out: TY_HOLDER_... */
  uint64_t foreign;    /* out: 1: it is another user's */
} ty_holder_args;
TY_API void ty_holder(ty_collection *c, ty_holder_args *args);

/* Makes everything since ty_begin durable and releases the lock. Without a change it writes nothing. On failure the
 * unsaved changes are dropped, the collection is as last saved, and the lock is released; with TY_UNSURE as the next
 * call finds it on disk, with the changes or without. */
TY_API ty_status ty_save(ty_collection *c, ty_error *err);
/* As ty_save, but on a full disk it returns TY_FULL, and TY_REFUSED where the coordinator refused it, and the change
 * goes on: nothing is dropped and the lock stays. Save it again, or roll it back. */
TY_API ty_status ty_save_staged(ty_collection *c, ty_error *err);
/* Drops everything since ty_begin and releases the lock. Safe to call without a begin. */
TY_API void ty_rollback(ty_collection *c);

#define TY_ADD    0u /* every id must be new */
#define TY_UPSERT 1u /* new or existing; the last of a repeated id wins */
#define TY_UPDATE 2u /* every id must be live; the last of a repeated id wins */

#define TY_PUT_DROP_TEXT 1u /* the texts' tokens are kept for the lexical index, the texts are not */
#define TY_PUT_FOLLOWS   2u /* the rows are as new as those of the put before in the same change */
#define TY_PUT_CHANGES   4u /* rows get the vectors of earlier rows: see `changes` */
#define TY_PUT_MEANING   8u /* short texts get their vectors of meaning in the call, see ty_meaning_encode */

#define TY_MEANING_ROWS_MAX 8u   /* rows of a put with TY_PUT_MEANING; of a longer one none gets a vector */
#define TY_MEANING_TEXT_MAX 400u /* bytes of a text that gets its vector there */

#define TY_AHEAD_ROWS_MAX 8192u /* rows of ty_encode_ahead: each takes some 2 KB until the put */

#define TY_LABEL_MAX  256u   /* bytes of a label */
#define TY_LABELS_MAX 65536u /* labels of a row, or of a question */

/* Strings are passed as one run of bytes and n ascending ends. `metas`: JSON; an empty one: none. `texts`: NULL: none.
 * `keys`: n x columns encoded filter values, row by row, columns in the schema's order. The caller chooses the
 * encoding: equal bytes match; an empty key never does.
 *
 * `likes`: n ids, of rows with the same text and labels. A row whose `like` is live before the call gets that row's
 * vector as it is stored, to the bit, and with TY_PUT_DROP_TEXT its terms, where reading them is cheaper than making
 * them of the text; where it is empty or not live, they are given or made of its text. To read that vector and give it
 * would not do: of one row in ten the four-bit codes of decoded codes are others. TY_CORRUPT where the vector is
 * damaged.
 *
 * `changes`, with TY_PUT_CHANGES: n indices of ty_changes. Each row gets the stored vector of the row before that
 * change, to the bit; `likes` is not read then. TY_INVALID for a change without such a row.
 *
 * `labels`: each row's is a run of labels, each ended by a NUL. A label is a hidden term of the row: 1 to TY_LABEL_MAX
 * bytes that are neither split nor folded, in the row once, counted among the rows that hold it and not in the row's
 * length. A question asks for it by its bytes; no text does. Only with TY_PUT_DROP_TEXT in a collection with a lexical
 * index, TY_INVALID otherwise: the terms of stored texts are made of the texts again, and labels would be lost. */
typedef struct ty_put_args {
  uint64_t n;
  uint64_t mode;
  uint64_t flags;
  const float *vectors; /* n x dim, finite. Cosine: scaled to unit length when stored. NULL: those of the texts */
  uint64_t model;       /* AME_MODEL_... of the collection's dimension; read only without vectors */
  uint64_t embed_most;  /* bytes of each text to embed at most, cut between characters */
  const uint8_t *ids;
  const uint64_t *id_ends;
  const uint8_t *metas;
  const uint64_t *meta_ends;
  const uint8_t *texts;
  const uint64_t *text_ends;
  const uint8_t *keys;
  const uint64_t *key_ends;
  const uint8_t *labels;
  const uint64_t *label_ends; /* NULL: no row has a label */
  const uint8_t *likes;
  const uint64_t *like_ends; /* NULL: no row gets another's vector */
  const uint64_t *changes;
  uint64_t inserted;  /* out */
  uint64_t replaced;  /* out */
  uint64_t following; /* rows that later puts of this change will have at most: room is made for them as well */
  /* n times in ms since 1970, at most 2^48 - 1: when each row was put, raised to when the row that it replaces was
   * created. NULL: now. */
  const uint64_t *updated;
  /* n such times, not after `updated`: when each id became live; of a row that replaces another one, that row's counts.
   * NULL: `updated`. */
  const uint64_t *created;
  ty_ahead *ahead; /* out of ty_encode_ahead; ty_put reads and closes it, also on failure. NULL: there is none */
} ty_put_args;
/* All or nothing: on failure no row of the call is in. TY_INVALID for an element that the dtype cannot hold. Uses a
 * thread per processor, four at most, where it has more to do than some short rows. */
TY_API ty_status ty_put(ty_collection *c, ty_put_args *args, ty_progress *progress, ty_error *err);
/* Makes what ty_put needs of the call's texts, into args->ahead for a ty_put of the same texts with the same `model`,
 * `embed_most`, `labels` and flags. It needs no ty_begin: it may run while another thread saves. The put does the same
 * as without it, in less time. It does not use it if ids of the call repeat. TY_STATE where texts are not encoded
 * ahead: more than TY_AHEAD_ROWS_MAX rows, `vectors`, `likes` or `changes`, or a collection of another embedder than
 * the kernel's or of another dtype than f32. */
TY_API ty_status ty_encode_ahead(ty_collection *c, ty_put_args *args, ty_progress *progress, ty_error *err);
/* For one that no put was called with. Before the collection is closed. */
TY_API void ty_ahead_close(ty_ahead *ahead);

typedef struct ty_delete_args {
  uint64_t n;
  const uint8_t *ids;
  const uint64_t *id_ends;
  uint64_t removed; /* out: rows that were live; unknown ids are skipped */
} ty_delete_args;
TY_API ty_status ty_delete(ty_collection *c, ty_delete_args *args, ty_error *err);

/* Sets one of the manifest's changeable keys to a JSON value: default_target_recall, applied_tuner, name, which is that
 * of the directory and compared with nothing, or description, a string of at most 4096 bytes as it stands in JSON,
 * which an empty `json` removes. TY_INVALID for another key or a wrong value. */
TY_API ty_status ty_set(ty_collection *c, const char *key, const uint8_t *json, uint64_t json_bytes, ty_error *err);

#define TY_NOTE_NAME_MAX 64u            /* bytes of a note's name: letters, digits and -._: */
#define TY_NOTES_MAX     (1024u * 1024) /* bytes of all notes of a collection, as they are in the manifest */

/* Sets one of the caller's notes to a JSON value, or removes it where `json` is empty. Notes are the caller's: they are
 * kept in the manifest, and so become durable and visible with the rows of the same save, or are rolled back with
 * them. A change of nothing but notes is saved too. TY_INVALID for a wrong name or value, or too many bytes. */
TY_API ty_status ty_note(ty_collection *c, const uint8_t *name, uint64_t name_bytes, const uint8_t *json,
                         uint64_t json_bytes, ty_error *err);

/* ---- Vectors of meaning ----
 * A collection may have a vector of meaning for each live row with a text, in a file that belongs to its base. A row
 * gets one by ty_put with TY_PUT_MEANING, or later by ty_meaning_encode and ty_meaning_put. Rewrites keep them. Queries
 * use the vectors of saved rows only. The file is derived: where it is damaged or lost, the rows count as rows without
 * vectors. */
#define TY_MEANING_READ 8192u /* bytes of a text that are read, at most */
typedef struct ty_meaning_record {
  ame_encoding encoding;
  uint64_t row; /* its number */
} ty_meaning_record;

typedef struct ty_meaning_encode_args {
  uint64_t most;        /* rows of this call */
  const uint32_t *stop; /* polled; the call ends soon after it becomes nonzero. NULL: the progress's cancel is polled */
  uint64_t background;  /* 1: at a low priority, on a thread of its own */
  ty_meaning_record *out; /* `most` records */
  uint64_t out_count;     /* out, on failure and cancellation too */
  uint64_t base;          /* out: the generation of the base that the row numbers are of; 0: there is none */
  uint64_t left;          /* out: live rows with texts that have no vector and are not in `out` */
} ty_meaning_encode_args;
/* Encodes the texts of saved live rows that have no vector, the last inserted first, on one thread: 1 MiB of texts and
 * a little more at most. Each text is copied under the collection's lock, and encoded without it. Rows whose texts are
 * damaged are counted in `left` and skipped. TY_CANCELLED where it was stopped: the records so far can be used.
 * TY_STATE without a model. */
TY_API ty_status ty_meaning_encode(ty_collection *c, ty_meaning_encode_args *args, ty_progress *progress,
                                   ty_error *err);

typedef struct ty_meaning_put_args {
  const ty_meaning_record *records;
  uint64_t n;
  uint64_t base; /* from ty_meaning_encode */
  uint64_t put;  /* out: records that the next save adds; the others' rows are gone or have one. 0 where the base is
                    another one */
  uint64_t base_changed; /* out: 1: the base is another one */
} ty_meaning_put_args;
/* Between ty_begin and ty_save: the save adds these records. One with nothing else is a save too. TY_INVALID for a
 * record that no encoder makes, TY_STATE without a model. */
TY_API ty_status ty_meaning_put(ty_collection *c, ty_meaning_put_args *args, ty_error *err);
/* Between ty_begin and ty_save: the save, or rewrite of the base, leaves the collection without vectors of meaning. */
TY_API ty_status ty_meaning_drop(ty_collection *c, ty_error *err);

/* A row's vector outside of its collection. It is of one text, whose hash is compared where it is taken. */
typedef struct ty_meaning_vector {
  uint64_t encoder; /* that made it; 0: the row has none, and the rest is 0 too */
  uint64_t text;    /* the kernel's hash64 of the text, seed 0 */
  ame_encoding encoding;
} ty_meaning_vector;
typedef struct ty_meaning_copy_args {
  uint64_t n;
  const uint8_t *ids;
  const uint64_t *id_ends;
  ty_meaning_vector *vectors; /* n, one for each id */
  uint64_t copied;            /* out: vectors that were read, or that the next save adds */
} ty_meaning_copy_args;
/* Fills `vectors` with those of saved live rows. */
TY_API ty_status ty_meaning_get(ty_collection *c, ty_meaning_copy_args *args, ty_error *err);
/* Between ty_begin and ty_save: live rows, also those put since ty_begin, get `vectors`. It skips a vector of another
 * encoder than this environment's, of another text than the row's, or with codes that no encoder makes, and a row that
 * has a vector. */
TY_API ty_status ty_meaning_take(ty_collection *c, ty_meaning_copy_args *args, ty_error *err);

/* The next three rewrite the base: live rows only, in the order partition, IVF list, insertion. They write files of
 * fresh names, then the manifest, then remove the old files. Each needs a ty_begin, saves, and releases the lock, also
 * on failure. Answers do not change; queries meanwhile see the state before. */
typedef struct ty_compact_args {
  uint64_t reclaimed_rows; /* out: deleted and replaced rows that were removed from the base */
  uint64_t live_rows;      /* out */
  uint64_t keep;           /* 1: the history stays; 0: it is dropped, and those rows are gone */
  const uint8_t *ids;      /* with `keep`: the history forgets all rows of these ids, n of them */
  const uint64_t *id_ends;
  uint64_t n;
} ty_compact_args;
TY_API ty_status ty_compact(ty_collection *c, ty_compact_args *args, ty_progress *progress, ty_error *err);
/* The same while other handles and processes go on saving. It needs a handle of its own (ty_collection_at), which no
 * other call uses meanwhile; do not call ty_begin, and leave `ids` empty. It holds the writer's lock at its beginning
 * and at its end, each time for about as long as a save does; a collection of an older version is compacted under the
 * lock. TY_BUSY, and nothing is changed, if another process does the same, rewrote the base or replaced an index
 * meanwhile, or did not release the lock. The next call of the handle reads the new state. */
TY_API ty_status ty_compact_beside(ty_collection *c, ty_compact_args *args, ty_progress *progress, ty_error *err);

/* An IVF index for every partition of at least min_rows rows; none where no partition is so large. nprobe is calibrated
 * for each partition so that recall@10 on held-out rows reaches target_recall with a margin. Also sets
 * default_target_recall. Uses a thread per processor, four at most. */
typedef struct ty_ivf_args {
  uint64_t min_rows;
  double target_recall; /* in (0, 1] */
  uint64_t built;       /* out: partitions that have an index now */
} ty_ivf_args;
TY_API ty_status ty_build_ivf(ty_collection *c, ty_ivf_args *args, ty_progress *progress, ty_error *err);

/* Writes the lexical index with these parameters, and allows TY_BY_WORDS. TY_NO_LEXICAL for a collection whose
 * schema has lexical: false. */
typedef struct ty_lexical_args {
  double k1; /* >= 0 */
  double b;  /* in [0, 1] */
} ty_lexical_args;
TY_API ty_status ty_build_lexical(ty_collection *c, ty_lexical_args *args, ty_progress *progress, ty_error *err);

/* ---- Queries ---- */

/* Answers are packed records, each a ty_record followed by its id, metadata, text, vector and extra bytes, each padded
 * to 8 bytes. A record's length is ty_record's plus those padded lengths. */
#define TY_ABSENT 0xffffffffu

typedef struct ty_record {
  uint64_t row;   /* internal row number */
  uint64_t birth; /* insertion order; a replacement keeps the replaced row's */
  double score;   /* 0 where nothing was scored */
  uint32_t id_bytes;
  uint32_t meta_bytes;   /* TY_ABSENT: stored without metadata, or not requested */
  uint32_t text_bytes;   /* TY_ABSENT: no text stored, or not requested */
  uint32_t vector_bytes; /* 0 where not requested, else dim * 4: floats, decoded from the stored form */
  uint32_t extra_bytes;  /* ty_times, ty_scores and ty_term records, in this order, where requested */
  uint32_t found;        /* 0: ty_get of an id that is not live, whose record holds the id only; see ty_neighbours */
} ty_record;

/* One query term's share in a lexical score, of a label too, by its bytes; followed by term_bytes bytes of the term and
 * instead_bytes bytes of the query's word that it stands for, if it is not the query's own, padded to 8 together. */
typedef struct ty_term {
  double share;
  double idf; /* among the rows whose statistics weigh the query */
  uint32_t tf;
  uint32_t term_bytes;
  uint32_t instead_bytes; /* 0: the query has the term */
  uint32_t reserved;
} ty_term;

/* A word that was searched for in place of one that the rows searched do not have: followed by word_bytes bytes of the
 * query's word, as it is written there, and partner_bytes bytes of the other one, padded to 8 together. */
typedef struct ty_replacement {
  uint32_t word; /* number of the query's word: ascending, the same for each of its partners */
  uint32_t word_bytes;
  uint32_t partner_bytes;
  uint32_t reserved;
} ty_replacement;

/* What a distinct term of a question's text weighs, in the order of the text. */
typedef struct ty_weight {
  uint32_t hash;
  uint32_t known; /* 1: a row whose statistics weigh the query has it */
  double weight;  /* its idf, of no row where it is not known, times the kernel's term_worth */
} ty_weight;

/* A row's score in each ranking; NaN where the ranking does not list it. */
typedef struct ty_scores {
  double vector, words;
  double meaning; /* the cosine */
} ty_scores;

/* When a row was put, in milliseconds since 1970, by the clock of the process that put it. */
typedef struct ty_times {
  uint64_t created; /* when its id became live: an upsert or update keeps it */
  uint64_t updated; /* when the row was put: of all rows of a call the same, but never before `created` */
} ty_times;

#define TY_WITH_META    1u
#define TY_WITH_TEXT    2u
#define TY_WITH_VECTOR  4u
#define TY_WITH_EXPLAIN 8u   /* ty_ask by words: ty_term records in the extra bytes */
#define TY_WITH_SCORES  16u  /* ty_ask: ty_scores in the extra bytes */
#define TY_WITH_TIMES   32u  /* ty_times in the extra bytes of a row that was found */
#define TY_WITH_ALL     64u  /* ty_ask: all candidates and not only top_k of them, for a caller that ranks further */
#define TY_WITH_WEIGHTS 128u /* ty_ask by words: ty_weight records at the end of the answer */
/* ty_ask with TY_WITH_ALL, for a caller that keeps the answer: in the order of calls/ask_newer.c. */
#define TY_WITH_NEWER 256u

#define TY_NO_FILTER 0xffffffffffffffffull

#define TY_BY_VECTOR 1u
#define TY_BY_WORDS  2u
#define TY_BY_BOTH   3u

/* What of the files is damaged that an answer would have been made of. */
#define TY_TROUBLE_WORDS  1u  /* the lexical index: ranked by vector alone; by words alone, see ty_ask */
#define TY_TROUBLE_IVF    2u  /* the IVF index: the answer is exact */
#define TY_TROUBLE_CODES  4u  /* codes of rows that were scored by their stored vectors: the answer is complete */
#define TY_TROUBLE_ROWS   8u  /* vectors of rows that have texts: the ranking by vector left these rows out */
#define TY_TROUBLE_FILTER 16u /* a table of the base that follows from its rows: made again, or done without */

typedef struct ty_ask_args {
  uint64_t by;         /* TY_BY_... */
  const float *vector; /* dim floats, finite. NULL: that of the text, by `model` */
  uint64_t model;      /* AME_MODEL_... of the collection's dimension; read only without a vector */
  uint64_t embed_most; /* bytes of the text to embed at most, cut between characters */
  const uint8_t *text; /* by words, and for the vector */
  uint64_t text_bytes;
  uint64_t top_k;     /* at least 1 */
  uint64_t column;    /* index in filter_columns, or TY_NO_FILTER */
  const uint8_t *key; /* the encoded value to match */
  uint64_t key_bytes;
  /* A second condition: the encoded value in this column is `under`, or begins with `under` and a slash, as paths in a
   * folder do. No bytes: none. */
  uint64_t under_column;
  const uint8_t *under;
  uint64_t under_bytes;
  double target_recall; /* 1: exact. Below 1: IVF where one is built. 0: the collection's default */
  double dense_weight;  /* weight of the ranking by vector in a fused one, in [0, 1] */
  uint64_t weighted;    /* 1: for hashed features of texts, see below; else 0 */
  uint64_t meaning;     /* 1: a fused ranking is by meaning as well, where rows have vectors of it; else 0 */
  uint64_t what;
  /* TY_LARGE where both rankings would read more, in bytes of 8-bit codes; other work is converted by its time. A text
   * above 16 KiB is always large. 0: no bound. A thread that must not block sets it, and passes a large query, without
   * the bound, to ty_submit. */
  uint64_t most_bytes;
  /* Labels to rank by, by words or both: a run of NUL-ended ones, as of a row of ty_put. NULL: none. One that no row
   * whose statistics weigh the query holds is ignored. Any other brings its rows, and adds label_share times its idf
   * times BM25's part of a tf of 1 to each. TY_INVALID with TY_BY_VECTOR. */
  const uint8_t *labels;
  uint64_t label_bytes;
  double label_share; /* above 0, at most a million; read only with labels */
  uint8_t *out;       /* 8-byte aligned */
  uint64_t out_capacity;
  uint64_t out_bytes;     /* out, also with TY_BUFFER */
  uint64_t out_count;     /* out */
  uint64_t fused;         /* out: 1 where both rankings were made */
  uint64_t screened_rows; /* out: rows whose codes were read */
  uint64_t scored_rows;   /* out: rows scored in f32 */
  uint64_t probed_lists;  /* out: 0 for an exact search */
  uint64_t trouble;       /* out: TY_TROUBLE_... of damage that the answer did without */
  /* All 0 where the rows are not ranked by words. */
  uint64_t words;      /* out: distinct terms of the text */
  uint64_t known;      /* out: terms that were searched for: what the rows have of the text, replacements and labels */
  uint64_t replaced;   /* out: ty_replacement records after the rows' */
  uint64_t weights;    /* out: ty_weight records after those; 0 unless requested */
  uint64_t by_meaning; /* out: 1 where the rows are ranked by meaning as well */
  double meaning_weight; /* out: of that ranking in the scores, in [0, 1] */
} ty_ask_args;
/* The top_k live rows, best first, ties by earlier birth (which compaction keeps), all of one saved state.
 *
 * By vector, a score is the inner product with the stored row, the cosine (0 for a zero row), or the negative squared
 * distance. Weighted, each element of the query is first divided by the mean square of the live rows' elements there
 * (smoothed: rows/weights.c), and the query is scaled to unit length; a zero query stays. With a filter on column 0
 * they are those of the rows that have its value, and of few of them no element is divided. This suits hashed features:
 * those that most rows have separate rows least. TY_INVALID for a metric other than the inner product.
 *
 * By words, the rows that hold any of the text's terms, by BM25 over the live rows: under a filter on the partition key
 * over those of the partition, and other terms are unknown there (lexical/statistics.h). TY_NO_LEXICAL for
 * a schema with lexical: false, TY_UNBUILT before ty_build_lexical. Where the index is damaged, missing or of another
 * tokeniser, with TY_TROUBLE_WORDS: of an index that is made in memory of the rows' texts (lexical/rebuilt.h), which a
 * call with most_bytes leaves to one without. TY_INDEX (TY_UNBUILT: of another tokeniser) where it cannot be made, as
 * rows have terms and no text, or more than 64 MiB of texts.
 *
 * A word that none of the rows searched has is replaced by up to three that they have (lexical/unknown.h): those one
 * edit from it, else those that the kernel's tables have for it; where the texts of those rows are stored. Of a long
 * text this is done for the first 32 such words.
 *
 * By both, the two rankings fused (calls/fuse.h); ty_build_lexical is not needed. With `meaning` a third one, by the
 * vectors of meaning that saved rows have, is mixed in (calls/ask_meaning.c) if both question and rows are English
 * prose. Long rows are scored by a passage as well, and turns of conversations by those beside them: these may be rows
 * that no ranking lists, whose ty_scores are NAN (calls/ask_passages.c, calls/ask_turns.c). Without these, in the
 * order by vector where the rows have none of the text's words, of their replacements and of the labels (known is 0).
 * By vector alone where the collection has no lexical index, and with TY_TROUBLE_WORDS where it cannot be read: the
 * next rewrite of the base makes it again. */
TY_API ty_status ty_ask(ty_collection *c, ty_ask_args *args, ty_error *err);

/* The collections of one call. */
typedef struct ty_many_args {
  uint64_t n;                        /* at least 1 */
  ty_collection *const *collections; /* n different ones of one environment */
  const uint64_t *columns;           /* n: in each one, the column of the filter, or TY_NO_FILTER */
  uint64_t *trouble;                 /* n, out: TY_TROUBLE_... of each; NULL: not wanted */
  uint64_t failed;                   /* out: the collection in which the call failed, by its index; n: in none */
} ty_many_args;
/* ty_ask of several collections in one ranking: the answer is that of one collection which has the rows of all of them,
 * those of the first one inserted first. `by` is TY_BY_BOTH. They have the same dimension, and a metric that is the
 * inner product. The column of `args` is not read. Each is answered from one saved state, and all are entered before
 * the first is read. Between the rows' records and the rest of the answer there is, for each row, the index of its
 * collection as a u32, padded to 8 bytes together; `birth` counts through all collections.
 *
 * All statistics are those of all collections: rows that hold a word, lengths of rows, weights of dimensions, means and
 * deviations of rankings. Under a filter whose column is the partition key they are those of the partition in a
 * collection where it is the key, and of all rows in others. What differs from one collection: turns beside a row are
 * of its collection; how a word is spelt is looked up in one collection after the other, so that another row may tell
 * it; parameters of BM25 and target recalls are those of each collection. A collection whose lexical index cannot be
 * read has TY_TROUBLE_WORDS, and its rows are ranked by vector. With one collection the answer is that of ty_ask.
 *
 * A failure is of the collection `failed`: a caller may leave that one out and call again. */
TY_API ty_status ty_ask_many(ty_many_args *many, ty_ask_args *args, ty_progress *progress, ty_error *err);

/* Fuses two rankings again for a caller of ty_ask that has candidates of its own, or weighs some of them less: n rows
 * by their scores, as TY_WITH_SCORES has them. A row that neither ranking lists gets the lowest score of both. Equal
 * scores of one ranking are in the order of the rows. */
typedef struct ty_fuse_args {
  uint64_t n;
  const double *vector; /* n scores, finite; NAN where the ranking by vector does not list the row */
  const double *words;  /* the same by words */
  const double *priors; /* n factors from 0 to 1: each multiplies its row's score by words, after mean and deviation */
  double dense_weight;  /* weight of the ranking by vector, in [0, 1] */
  double *out;          /* n, out: the fused scores */
} ty_fuse_args;
TY_API ty_status ty_fuse_scores(ty_fuse_args *args, ty_error *err);

/* A passage of a text: bytes `from` .. `to` are some sentences that follow each other, about 600 characters of them;
 * `best` is where the sentence begins that has the heaviest of the question's words, `word` where the heaviest of these
 * stands. */
typedef struct ty_passage_place {
  uint64_t from, best, word, to; /* all 0: the text has none of the words */
  double question_share; /* the share of the question's words that are in the text, 0 to 1, by idf and worth; a word
                            that another one stands for counts half or .7 */
} ty_passage_place;

typedef struct ty_passages_args {
  const uint8_t *text; /* the question */
  uint64_t text_bytes;
  uint64_t column; /* the filter of the question, as in ty_ask_args */
  const uint8_t *key;
  uint64_t key_bytes;
  uint64_t n;
  const uint8_t *texts;
  const uint64_t *text_ends;
  ty_passage_place *places; /* n, out */
} ty_passages_args;
/* The passage of each text that a fused ranking scores it by (lexical/passage.h), or would if it were longer. Words
 * weigh as they do in ty_ask; where the collection has no lexical index that can be read, all rows are taken to have
 * each of them equally often. */
TY_API ty_status ty_passages(ty_collection *c, ty_passages_args *args, ty_error *err);
/* The same with the words as ty_ask_many weighs them. */
TY_API ty_status ty_passages_many(ty_many_args *many, ty_passages_args *args, ty_error *err);

/* n queries with the same options, all of one saved state, in shared passes over the rows. `out` has ty_ask's answer to
 * each, by vector, one after the other; counts[i] of the records belong to query i. With TY_BUFFER the search must be
 * repeated. */
typedef struct ty_search_many_args {
  const float *queries; /* n x dim, finite */
  uint64_t n;
  uint64_t top_k;
  uint64_t column;
  const uint8_t *key;
  uint64_t key_bytes;
  double target_recall;
  uint64_t what;
  uint64_t threads; /* at most 4 are used; 0: one per core */
  uint64_t weighted;
  uint64_t *counts; /* n, out */
  uint8_t *out;
  uint64_t out_capacity;
  uint64_t out_bytes;
  uint64_t screened_rows, scored_rows, probed_lists; /* out: sums */
  uint64_t trouble;                                  /* out: as in ty_ask_args, of any of the answers */
} ty_search_many_args;
TY_API ty_status ty_search_many(ty_collection *c, ty_search_many_args *args, ty_progress *progress, ty_error *err);

typedef struct ty_get_args {
  uint64_t n;
  const uint8_t *ids;
  const uint64_t *id_ends;
  uint64_t text_most; /* of each text at most so many bytes, its beginning, whole characters; 0: all of it */
  uint64_t what;
  uint8_t *out;
  uint64_t out_capacity;
  uint64_t out_bytes;
} ty_get_args;
/* One record per id, in the order of `ids`. */
TY_API ty_status ty_get(ty_collection *c, ty_get_args *args, ty_error *err);

typedef struct ty_neighbours_args {
  uint64_t n;
  const uint8_t *ids;
  const uint64_t *id_ends;
  uint64_t what;
  uint64_t text_most; /* of each text at most so many bytes, its beginning, whole characters; 0: all of it */
  uint8_t *out;
  uint64_t out_capacity;
  uint64_t out_bytes;
} ty_neighbours_args;
/* Two records per id: the turn before and the turn after the row in its conversation (calls/turns.h), both live rows of
 * its partition. A record without an id, whose `found` is 0, stands for a turn that does not exist: beside the first or
 * last turn, a row that is not a turn, or an id that is not live. */
TY_API ty_status ty_neighbours(ty_collection *c, ty_neighbours_args *args, ty_error *err);

typedef struct ty_same_args {
  uint64_t n;
  const uint8_t *texts;
  const uint64_t *text_ends;
  uint64_t most; /* rows of each text to answer with, at most */
  uint8_t *out;
  uint64_t out_capacity;
  uint64_t out_bytes;
  uint64_t out_count;
} ty_same_args;
/* Live rows that have one of n different texts, byte for byte, as records without further parts, in no order; `score`
 * is which text it is. Reads four bytes a row of the base and the lengths of the texts of others: a millisecond for a
 * million rows. */
TY_API ty_status ty_same(ty_collection *c, ty_same_args *args, ty_error *err);

typedef struct ty_ids_args {
  uint64_t column;
  const uint8_t *key;
  uint64_t key_bytes;
  const uint8_t *after; /* an external id; NULL: from the start */
  uint64_t after_bytes;
  uint64_t limit;        /* 0: none */
  uint64_t since;        /* only rows updated at this time or later, in milliseconds since 1970 */
  uint64_t until;        /* only rows updated before; 0: no bound */
  uint64_t newest;       /* 0: in insertion order. Else so many rows, the last updated first; for equal times the row
                            inserted last comes first. `after` is NULL then, and `limit` bounds their number too */
  const uint8_t *having; /* only rows whose metadata, as they are stored, hold one of `n` texts; without n all */
  const uint64_t *having_ends;
  uint64_t n;
  uint64_t what;
  uint64_t text_most; /* as of ty_get_args */
  uint8_t *out;
  uint64_t out_capacity;
  uint64_t out_bytes;
  uint64_t out_count;
} ty_ids_args;
/* Live rows as records, in insertion order or the newest first. TY_INVALID when `after` is not a live id. `having`
 * reads the metadata of all rows that the filter allows; damaged ones hold no text. */
TY_API ty_status ty_ids(ty_collection *c, ty_ids_args *args, ty_error *err);

/* ---- The history: what saves have changed, as far back as the collection remembers (state/history.h) ---- */

#define TY_ORIGIN_MAX 4096u /* bytes of an origin */
/* Between ty_begin and the call that saves: who makes the change, a JSON object of 1 to TY_ORIGIN_MAX bytes, which is
 * kept as it is. TY_INVALID for another length. */
TY_API ty_status ty_origin(ty_collection *c, const uint8_t *json, uint64_t bytes, ty_error *err);

/* Between ty_begin and ty_save of a saved collection whose rows are all in its base: it gets the history of `from`, of
 * the same dimension and element type, in place of its own, and the save gets a number above those of `from`. Not what
 * is unsaved of `from`. TY_STATE where it has rows elsewhere or unsaved changes. */
TY_API ty_status ty_history_adopt(ty_collection *c, ty_collection *from, ty_error *err);

/* A save that changed rows, followed by its origin, padded to 8 bytes. */
typedef struct ty_save_record {
  uint64_t save;                     /* its number: the generation that it made */
  uint64_t time;                     /* milliseconds since 1970 */
  uint64_t first;                    /* index of its first change */
  uint32_t added, replaced, deleted; /* ids; their sum is the number of its changes */
  uint32_t origin_bytes;
} ty_save_record;
typedef struct ty_saves_args {
  uint64_t before; /* only saves with lower numbers; 0: all */
  uint64_t undos;  /* 1: only those whose origin has the text "undoes" in quotes */
  uint64_t limit;  /* 0: none */
  uint8_t *out;
  uint64_t out_capacity;
  uint64_t out_bytes;
  uint64_t out_count;
} ty_saves_args;
/* The saves that are remembered, the latest first. A save is left out if all of its rows are without a stored text.
 * TY_CORRUPT where the history is damaged. */
TY_API ty_status ty_saves(ty_collection *c, ty_saves_args *args, ty_error *err);

#define TY_CHANGE_ADDED    1u /* the id was not live before */
#define TY_CHANGE_REPLACED 2u
#define TY_CHANGE_DELETED  3u
/* A change, followed by the origin of its save where that was asked for, padded to 8 bytes, and a ty_record of the row
 * before it, which has the number 0. Where the change added the row, and where the row before is damaged, that record's
 * `found` is 0 and it has only the id. */
typedef struct ty_change_record {
  uint64_t index;
  uint64_t kind; /* TY_CHANGE_... */
  ty_save_record save;
} ty_change_record;
typedef struct ty_changes_args {
  uint64_t from, to;  /* indices; from `from` to `to` - 1 */
  uint64_t limit;     /* 0: none */
  uint64_t text_most; /* as of ty_get_args */
  const uint8_t *id;  /* only changes of this id; NULL: of all */
  uint64_t id_bytes;
  uint64_t origins; /* 1: with the origins of the saves */
  uint64_t what;    /* TY_WITH_..., of the rows before */
  uint8_t *out;
  uint64_t out_capacity;
  uint64_t out_bytes;
  uint64_t out_count;
} ty_changes_args;
/* Changes in their order. Indices stay the same between two saves. A save may have two changes of one id: it was
 * deleted and then added. TY_CORRUPT where the history is damaged. */
TY_API ty_status ty_changes(ty_collection *c, ty_changes_args *args, ty_error *err);

typedef struct ty_count_args {
  uint64_t column;
  const uint8_t *key;
  uint64_t key_bytes;
  uint64_t digests; /* 1: reads the ids of the rows that match, for the digest; 0: the digest is 0 */
  uint64_t count;   /* out */
  uint64_t digest;  /* out */
} ty_count_args;
/* How many live rows match, and a digest of the set of their ids: equal sets have equal digests, in any process and
 * collection and on any platform, and other sets another one but for a chance of 2^-64, unless ids were chosen to
 * collide. Rewrites keep it, and so does a row that is replaced: it tells which ids are live, not what they hold. */
TY_API ty_status ty_count(ty_collection *c, ty_count_args *args, ty_error *err);

typedef struct ty_days_args {
  uint64_t n;    /* days from 1970-01-01 on, in UTC; at least 1 */
  uint64_t *out; /* n numbers of rows; the last one also counts rows of later days */
} ty_days_args;
/* Counts the live rows that were created on each day, in a few nanoseconds a row. TY_INVALID if n is 0. */
TY_API ty_status ty_days(ty_collection *c, ty_days_args *args, ty_error *err);

/* Up to n live rows' stored vectors, decoded, chosen by the seed without repetition. */
typedef struct ty_sample_args {
  uint64_t n;
  uint64_t seed;
  float *out;         /* n x dim */
  uint64_t out_count; /* out */
} ty_sample_args;
TY_API ty_status ty_sample(ty_collection *c, ty_sample_args *args, ty_error *err);

/* The manifest as JSON: as saved or, for a new collection, as it would be saved. */
typedef struct ty_manifest_args {
  uint8_t *out;
  uint64_t out_capacity;
  uint64_t out_bytes;
} ty_manifest_args;
TY_API ty_status ty_manifest(ty_collection *c, ty_manifest_args *args, ty_error *err);

/* ---- Saves that another program decides: two-phase commit ---- */

/* From now on each save and rewrite of this handle waits when its files are durable and its manifest is written, but
 * not renamed. It calls `prepared(token, TY_OK)` then, and goes on with ty_decide. Hand saves and rewrites to
 * ty_submit: each waits on a thread of its own. TY_STATE where there is a coordinator already. */
TY_API ty_status ty_coordinate(ty_collection *c, ty_done_fn prepared, uint32_t token, ty_error *err);
/* A compaction beside writers calls `prepared` at two stages as well, and goes on with ty_decide. At TY_STAGE_BEGUN, at
 * its beginning and before its last step, it has the lock: the coordinator makes the files those of the newest state.
 * At TY_STAGE_WRITTEN others save: the files of the new state are written, but for what is saved meanwhile, and have
 * temporary names, which end with ".tmp-", the process's id and "-0". */
#define TY_STAGE_BEGUN   "begun"
#define TY_STAGE_WRITTEN "written"
/* The manifest of the save that waits, as JSON, or the stage of the compaction that does. TY_STATE: none waits. */
TY_API ty_status ty_prepared(ty_collection *c, ty_manifest_args *args, ty_error *err);
/* TY_OK: commit; TY_REFUSED: the save fails and leaves nothing; TY_UNSURE: it fails, and may have been committed
 * elsewhere. `message` is that of its error. */
TY_API ty_status ty_decide(ty_collection *c, uint32_t decision, const char *message, ty_error *err);
/* Drops everything since ty_begin, keeps the lock, and reads a manifest that was written beside this library meanwhile.
 * TY_STATE outside of a change. */
TY_API ty_status ty_follow_begun(ty_collection *c, ty_error *err);

/* Counters by index. */
enum {
  TY_STAT_GENERATION, /* of the last known save; 0: never saved */
  TY_STAT_LIVE_ROWS,
  TY_STAT_TOTAL_ROWS, /* with deleted and superseded ones */
  TY_STAT_BASE_ROWS,
  TY_STAT_DELTA_ROWS,
  TY_STAT_DISK_BYTES,
  TY_STAT_UNSAVED_ROWS,
  TY_STAT_PARTITIONS,
  TY_STAT_IVF_PARTITIONS, /* partitions with an IVF index */
  TY_STAT_LEXICAL_BUILT,  /* 1: ty_build_lexical was called, and the index can be read */
  TY_STAT_LEXICAL_TERMS,  /* distinct terms in the base's index; 0 where it was not built */
  TY_STAT_SEARCHES,       /* since the handle was opened */
  TY_STAT_LEXICAL_LOST,   /* live rows without a text whose terms are lost, as the lexical index cannot be used */
  TY_STAT_DAMAGES,        /* damaged places in its files that are known so far: ty_damages */
  TY_STAT_BASE_BYTES,     /* of the base and its indexes */
  TY_STAT_DELTA_BYTES,    /* of the deltas */
  TY_STAT_SAVES,          /* of rows, since the base was written */
  TY_STAT_BASE_DEAD,      /* deleted and replaced rows of the base */
  TY_STAT_DELTA_DEAD,     /* and of the deltas */
  TY_STAT_HISTORY_BYTES,  /* of the history; rows of the deltas are not counted */
  TY_STAT_TEXT_ROWS,      /* live rows with a text */
  TY_STAT_MEANING_ROWS,   /* of them, saved ones that have a vector of meaning by the model of this environment */
  TY_STAT_MEANING_BYTES,  /* of their file */
  TY_STAT_MEANING_LOST,   /* 1: there is such a file, and it cannot be used */
  TY_STAT_COUNT
};
typedef struct ty_stats_args {
  uint64_t values[TY_STAT_COUNT]; /* out */
  double lexical_k1;              /* out */
  double lexical_b;               /* out */
} ty_stats_args;
TY_API ty_status ty_stats(ty_collection *c, ty_stats_args *args, ty_error *err);

/* One per partition of live rows, or per value that live rows have in another filter column, in the order of their
 * first rows: followed by key_bytes bytes of the encoded key, padded to 8. */
typedef struct ty_partition {
  uint64_t rows;
  uint64_t nlist;  /* 0: no IVF index, as of every value of another column */
  uint64_t nprobe; /* lists that a query reads on average, as calibrated; nlist: it reads all rows */
  /* Mean squared distance of rows from their centroids, relative to when those were made; 0 without an index. Rows
   * since the last rewrite are not counted. */
  double drift;
  uint64_t key_bytes;
} ty_partition;
typedef struct ty_partitions_args {
  uint64_t column; /* 0: the partition key. TY_INVALID where there is no such column */
  uint8_t *out;
  uint64_t out_capacity;
  uint64_t out_bytes;
  uint64_t out_count;
} ty_partitions_args;
TY_API ty_status ty_partitions(ty_collection *c, ty_partitions_args *args, ty_error *err);

/* What a damaged place belongs to. */
typedef enum ty_part {
  TY_PART_BASE = 1, /* what a base cannot be opened without */
  TY_PART_CODES,
  TY_PART_VECTORS,
  TY_PART_TEXTS,
  TY_PART_METADATA,
  TY_PART_FILTER, /* rows by value, sums of squares, partitions, checksums: they follow from the rest of the base */
  TY_PART_IVF,
  TY_PART_WORDS,
  TY_PART_DELTA,
  TY_PART_ID_MAP,
  TY_PART_MANIFEST,
  TY_PART_MEANING,
  TY_PART_HISTORY
} ty_part;

/* A damaged place in a file of the collection. */
typedef struct ty_damage {
  uint32_t part;          /* ty_part */
  uint32_t section;       /* of a slab, else 0 */
  uint64_t offset, bytes; /* in the file */
  uint64_t first, rows;   /* positions of the rows concerned in the base; rows 0: not of rows */
  char file[64];          /* NUL-terminated, as is `what`: a clause in English */
  char what[160];
} ty_damage;

typedef struct ty_damages_args {
  uint8_t *out; /* ty_damage records, 8-byte aligned */
  uint64_t out_capacity;
  uint64_t out_bytes; /* out, also with TY_BUFFER */
  uint64_t out_count; /* out */
} ty_damages_args;
/* The damaged places that were found since the state was loaded, in the order in which they were found, 256 at most;
 * TY_STAT_DAMAGES counts all. Nothing is read for it. */
TY_API ty_status ty_damages(ty_collection *c, ty_damages_args *args, ty_error *err);

/* Reads every byte of the saved files and compares checksums. */
TY_API ty_status ty_verify(ty_collection *c, ty_progress *progress, ty_error *err);

/* The same of a collection that may be damaged, or not be opened at all: every byte of its files is read, and all that
 * is damaged is reported, 256 places at most; what can be read again without loss, such as the id map, too. Only the
 * directory of the handle is used, of what is in memory nothing: another process may write meanwhile, and the report is
 * about one saved state. TY_NOT_FOUND where nothing was saved, TY_VERSION for files of another version. */
typedef struct ty_check_args {
  uint8_t *out; /* ty_damage records, 8-byte aligned */
  uint64_t out_capacity;
  uint64_t out_bytes;  /* out, also with TY_BUFFER */
  uint64_t found;      /* out: damaged places, also those that are not reported */
  uint64_t bytes;      /* out: that were read */
  uint64_t generation; /* out: of the manifest; 0 where that cannot be read */
} ty_check_args;
TY_API ty_status ty_check(ty_collection *c, ty_check_args *args, ty_progress *progress, ty_error *err);

/* What can be read of a damaged collection. Its manifest is read by the caller, who may have to take one that nothing
 * else accepts. Nothing is written, and files may be missing or of any content. For one thread. */
typedef struct ty_salvage ty_salvage;
typedef struct ty_salvage_open_args {
  const char *dir;
  uint64_t n;            /* files, at least one: the base, whose name may be empty, and the deltas in their order */
  const char *names;     /* of each, with its NUL */
  const uint64_t *sizes; /* of each: committed bytes */
  /* In: what the manifest says. Out: what the base says, if that can be read; dim 0: no such schema can be, and no
   * vector and no put can be read. Where the base does not say it, and the manifest is not as it was written either,
   * the lengths of a put show whether it has that schema, but nothing shows it of a vector. */
  uint64_t dim;
  uint64_t dtype;   /* 0 f32, 1 f16, 2 int8, 3 int4 */
  uint64_t columns; /* filter columns */
  uint64_t written; /* in: 1: the manifest is as it was written */
} ty_salvage_open_args;
TY_API ty_status ty_salvage_open(ty_env *env, ty_salvage_open_args *args, ty_salvage **out, ty_error *err);
TY_API void ty_salvage_close(ty_salvage *s);

#define TY_SALVAGE_END    0u
#define TY_SALVAGE_ROW    1u /* a row of the base, which is the first file, or a put */
#define TY_SALVAGE_DELETE 2u
#define TY_SALVAGE_LOST   3u /* bytes that say nothing: blocks of a delta, or a whole file */
typedef struct ty_salvage_row_args {
  /* Out, of ty_salvage_next; `file` and `at` are what ty_salvage_read reads. */
  uint64_t kind;     /* TY_SALVAGE_... */
  uint64_t file;     /* an index of the files */
  uint64_t at;       /* where the row is, or where the lost bytes begin */
  uint64_t bytes;    /* that are lost */
  uint64_t row;      /* its number, of a delete the victim's; UINT64_MAX: damaged */
  uint64_t replaced; /* the number of the row that a put replaces; UINT64_MAX: none */
  uint64_t created;  /* of a put the same as `updated`; UINT64_MAX: both are damaged */
  uint64_t updated;
  uint64_t restored; /* bits that were changed so far so that checksums are right */
  /* Of ty_salvage_read. */
  uint8_t *out;
  uint64_t out_capacity;
  uint64_t out_bytes; /* out, also with TY_BUFFER */
} ty_salvage_row_args;
/* What the files hold next: the rows of the base, then the operations of the deltas. */
TY_API ty_status ty_salvage_next(ty_salvage *s, ty_salvage_row_args *args, ty_error *err);
#define TY_SALVAGE_DAMAGED 0xffffffffu
#define TY_SALVAGE_ABSENT  0xfffffffeu /* the row never had it */
/* The parts of a row or a put: vector (dim floats), id, metadata, text, the mark of a row that has terms in the lexical
 * index instead of a text (no bytes), and each filter value. Before each there is a u32, its number of bytes or one of
 * the above. Texts are not known to be UTF-8. */
TY_API ty_status ty_salvage_read(ty_salvage *s, ty_salvage_row_args *args, ty_error *err);
/* Changes the one bit of `data` that makes its CRC-32C `crc`. 0: it is that already; 1: done; 2: no bit does. */
TY_API uint32_t ty_restore_bit(ty_env *env, uint8_t *data, uint64_t bytes, uint32_t crc);

/* Copies the last saved state into an existing directory without files of its names: files of mode 0600, synced, the
 * manifest last, the directory synced. Takes no lock: writers go on, and what they save meanwhile, like changes of this
 * handle that are not saved, is not in the copy. TY_NOT_FOUND where nothing was saved; TY_BUSY where the files were
 * replaced again and again while they were being opened. On failure or cancel the caller removes the files copied so
 * far, which have no manifest. Nothing is compared but the id map: ty_verify of the copy does that. */
typedef struct ty_copy_args {
  const char *dir;      /* NUL-terminated */
  uint64_t link;        /* 1: sealed files become further names of the same files where the file system allows that */
  uint64_t linked;      /* out: bytes of the files that did */
  uint64_t copied;      /* out: bytes that were written */
  uint64_t map_differs; /* out, 1: id_map.npy is not as the manifest says, or not there; a compaction of the copy
                           writes it again */
} ty_copy_args;
TY_API ty_status ty_copy(ty_collection *c, ty_copy_args *args, ty_progress *progress, ty_error *err);

/* ---- Trees of files ---- */

/* One folder tree, and what the caller said of its entries: a walk reports only what differs from that and from what
 * was reported before. Paths are relative to the root, of components between slashes, UTF-8, none of them empty, `.` or
 * `..`. No link is followed below the root. A handle is used by one thread at a time. */
typedef struct ty_tree ty_tree;

#define TY_TREE_PATH_MAX   4000u /* bytes of a path */
#define TY_TREE_LEVELS_MAX 200u  /* components of a path */

/* `root`: a resolved path of less than 4,096 bytes, NUL-terminated. It is not opened yet. */
TY_API ty_status ty_tree_open(ty_env *env, const char *root, ty_tree **out, ty_error *err);
/* A walk that was handed to ty_submit_walk must have returned. */
TY_API void ty_tree_close(ty_tree *tree);
/* Closes the descriptors that are kept for the next call, and ends the walk under way. */
TY_API void ty_tree_rest(ty_tree *tree);

/* Verdicts: what a walk does with an entry. */
#define TY_TREE_NONE  0u /* the next visit reports it as new */
#define TY_TREE_SKIP  1u /* never reported, never entered, not stat'ed, while its type stays the same */
#define TY_TREE_WATCH 2u /* its mark is compared at each visit; of a folder, which is not entered, only its type */
#define TY_TREE_ENTER 3u /* a folder that is visited */

typedef struct ty_tree_tell_args {
  uint64_t n;
  const uint64_t *verdicts; /* n */
  const uint8_t *paths;
  const uint64_t *path_ends; /* n */
  const double *marks; /* n, of watched entries, as if they had been reported; 0: none was, NaN: as it is. NULL: all
                          as they are */
} ty_tree_tell_args;
/* Says something of n entries, one after the other; of a folder that is not to be entered it also drops all that is
 * known below it. TY_INVALID for an invalid path or verdict: then nothing is changed. After TY_NO_MEMORY some may be.
 */
TY_API ty_status ty_tree_tell(ty_tree *tree, const ty_tree_tell_args *args, ty_error *err);

#define TY_TREE_NEW     1u /* without a verdict, or not of the type (a folder: on the device) that it was given to */
#define TY_TREE_CHANGED 2u /* watched, and another mark than reported last */
#define TY_TREE_GONE    3u /* watched or entered, and no longer in its folder, or below one that is gone */
#define TY_TREE_UNREADABLE                                                                                             \
  4u /* a folder that cannot be read, an entry that cannot be stat'ed, a path that is too long */

#define TY_TREE_FILE      1u
#define TY_TREE_DIRECTORY 2u
#define TY_TREE_LINK      3u
#define TY_TREE_OTHER     4u

/* Followed by path_bytes bytes of the path, padded to 8. */
typedef struct ty_tree_event {
  uint32_t kind;           /* TY_TREE_NEW ... */
  uint32_t type;           /* TY_TREE_FILE ...; of what is gone as it was last seen, 0: never seen */
  double size;             /* bytes; 0 of what is gone or unreadable, as the next two */
  double mark;             /* 53 bits, never 0: a hash of size, both times in ns, inode and type. It may be stored */
  double changed_ms;       /* the later of both times, in ms since 1970, rounded down */
  uint32_t device_changed; /* 1: a folder of another file system than its parent's */
  int32_t sys_errno;       /* of TY_TREE_UNREADABLE */
  uint32_t path_bytes;
  uint32_t record_bytes; /* to the next event */
} ty_tree_event;
#define TY_TREE_EVENTS_MIN 8192u /* bytes of the smallest buffer for events */

typedef struct ty_tree_walk_args {
  uint64_t begin;       /* 1: a new walk; 0: goes on with the one under way, also after `done` */
  const uint8_t *below; /* only with begin: the folder to walk, whatever its verdict. No bytes: the root */
  uint64_t below_bytes;
  const uint8_t *after; /* only with begin: see below */
  uint64_t after_bytes;
  uint64_t most_ns; /* to take, looked at once a folder that is none of those above `after` was read; 0: no bound */
  uint8_t *out;     /* 8-byte aligned */
  uint64_t out_capacity; /* at least TY_TREE_EVENTS_MIN */
  uint8_t *reached;      /* TY_TREE_PATH_MAX bytes, out */
  /* All out, on failure too: the events of a failed call were reported and will not be again. */
  uint64_t reached_bytes; /* of the path of the last folder that was read completely in this walk */
  uint64_t event_bytes;
  uint64_t events;
  uint64_t done;        /* 1: no folder is left to visit */
  uint64_t late;        /* 1: most_ns have passed */
  uint64_t undecodable; /* names that are not UTF-8, so far in this walk */
  uint64_t visited;     /* entries seen so far in this walk */
} ty_tree_walk_args;
/* Visits folders until none is left, most_ns have passed or `out` is nearly full; with most_ns only to the end of the
 * first folder of which there is something to report. A caller that has said of new folders that they are to be entered
 * goes on with begin 0, and they are visited too.
 *
 * Folders come in ascending order, component by component, and cyclically: first those above `after` and itself, then
 * those after it, then the rest. An entry is gone only where its folder was read to the end. What is new without a
 * verdict or unreadable is reported by every walk, everything else once.
 *
 * TY_IO with the errno where the root or `below` cannot be opened or read: nothing is gone then. TY_CANCELLED: the walk
 * can go on. TY_STATE: begin 0 without a walk. */
TY_API ty_status ty_tree_walk(ty_tree *tree, ty_tree_walk_args *args, ty_progress *progress, ty_error *err);

#define TY_TREE_READ_OK         1u
#define TY_TREE_READ_GONE       2u /* no such file, or a link has replaced it or a folder above */
#define TY_TREE_READ_UNREADABLE 3u /* sys_errno says why: not permitted, a failing medium; 0: no regular file */
#define TY_TREE_READ_TOO_LARGE  4u
#define TY_TREE_READ_BINARY     5u /* a NUL in the first 8 KiB */
#define TY_TREE_READ_BUFFER     6u /* out_capacity is below the size */

typedef struct ty_tree_read_args {
  const uint8_t *path;
  uint64_t path_bytes;
  uint64_t most; /* bytes of the largest file to read */
  uint8_t *out;
  uint64_t out_capacity;
  uint64_t outcome;   /* out, TY_TREE_READ_OK ... */
  uint64_t bytes;     /* out: read; less than the size where the file was cut meanwhile */
  uint64_t size;      /* out, like the next two of the open file before it is read; 0 where it was not opened */
  double mark;        /* out: as a walk would report it */
  double changed_ms;  /* out */
  uint64_t hash;      /* out: XXH64 with seed 0 of what was read */
  uint64_t sys_errno; /* out */
} ty_tree_read_args;
/* Reads one regular file. Descriptors of the folders above it are kept for the next file, until a walk begins. TY_IO
 * where this process lacks descriptors or memory: that says nothing of the file. */
TY_API ty_status ty_tree_read(ty_tree *tree, ty_tree_read_args *args, ty_error *err);

/* ---- Off the caller's thread ---- */

/* Runs the named call on a worker with the same args, then calls `done(token, status)` there. args, progress and err
 * stay alive until then. */
enum {
  TY_OP_PUT = 1,
  TY_OP_DELETE,
  TY_OP_SAVE,
  TY_OP_COMPACT,
  TY_OP_BUILD_IVF,
  TY_OP_BUILD_LEXICAL,
  TY_OP_ASK,
  TY_OP_VERIFY,
  TY_OP_SEARCH_MANY,
  TY_OP_COPY,
  TY_OP_CHECK,
  TY_OP_MEANING_ENCODE,
  TY_OP_SAVE_STAGED,
  TY_OP_COMPACT_BESIDE,
  TY_OP_ENCODE_AHEAD
};
TY_API ty_status ty_submit(ty_env *env, uint32_t op, ty_collection *c, void *args, ty_progress *progress, ty_error *err,
                           ty_done_fn done, uint32_t token);
/* The same for ty_ask_many; none of the collections can be closed meanwhile. */
TY_API ty_status ty_submit_many(ty_many_args *many, ty_ask_args *args, ty_progress *progress, ty_error *err,
                                ty_done_fn done, uint32_t token);
/* The same for ty_tree_walk. */
TY_API ty_status ty_submit_walk(ty_tree *tree, ty_tree_walk_args *args, ty_progress *progress, ty_error *err,
                                ty_done_fn done, uint32_t token);

/* ---- Testing ---- */

/* The nth system call of the env from now on (1: the next) fails with sys_errno, once; with `sticky` all later ones
 * too. nth 0 switches it off. Returns the number of calls since the last setting. */
TY_API uint64_t ty_test_fail(ty_env *env, uint64_t nth, int32_t sys_errno, uint32_t sticky);
/* From now on the disk has so many bytes free, in blocks of 4096; UINT64_MAX: as many as the system says. Files that
 * grow take blocks, files that shrink or are removed give them back. Returns how many are free, as before the call. */
TY_API uint64_t ty_test_disk(ty_env *env, uint64_t bytes);

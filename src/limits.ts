/** Every bound that a caller can exceed, defined once. Most cause a `ValueError` that quotes them. */

/** Bytes of UTF-8 in an external id (without NUL). */
export const ID_BYTES_MAX = 512;
/** Bytes of UTF-8 in a collection name. */
export const NAME_BYTES_MAX = 128;
/** Bytes of one row's metadata as JSON. */
export const METADATA_BYTES_MAX = 64 * 1024;
/** Nesting depth of a row's metadata. */
export const METADATA_DEPTH_MAX = 16;
/** Bytes of UTF-8 in one text. */
export const TEXT_BYTES_MAX = 16 * 1024 * 1024;
/** Leading bytes of a text that are embedded; the rest is stored and found by lexical search only. */
export const TEXT_EMBED_BYTES_MAX = 1024 * 1024;
/** Leading bytes of a query's text that are searched for; what is left out is said in the answer's `notice`. */
export const QUERY_BYTES_MAX = 64 * 1024;
/** Bytes of one JSON document of an import, which is parsed as a whole: some 2 GB of memory. */
export const JSON_DOCUMENT_BYTES_MAX = 256 * 1024 * 1024;
/** Columns of a table in CSV: each row is compared with all of their names. */
export const CSV_COLUMNS_MAX = 4096;
/** Notes of one import: their names are held in memory. */
export const NOTE_FILES_MAX = 1_000_000;
/** Folders of notes in each other. */
export const NOTE_DEPTH_MAX = 100;
/** Elements of a vector. */
export const DIM_MAX = 65_536;
/** Largest top-k of a search. */
export const TOP_K_MAX = 100_000;
/** Hits of one call with many queries, in all: each takes some hundred bytes, twice. */
export const MANY_HITS_MAX = 2_000_000;
/** Rows that one call marks as replaced. */
export const SUPERSEDED_PER_CALL_MAX = 100;
/** Rows of one call over MCP, and of one request that reads rows from a server. */
export const ROWS_PER_CALL_MAX = 10_000;
/** Bytes of a collection's description as JSON, without its quotes: FORMAT.md, collection.json. */
export const DESCRIPTION_BYTES_MAX = 4096;
/** Bytes of UTF-8 in the name of a filter column. */
export const COLUMN_BYTES_MAX = 128;
/** Filter columns of a collection, the partition key included. */
export const FILTER_COLUMNS_MAX = 32;
/** Bytes of a repository's file beyond which it is always skipped: files are read into memory. */
export const REPO_FILE_BYTES_MAX = 64 * 1024 * 1024;
/** Bytes of one JSON-RPC line on stdin. A longer one is answered and skipped, never buffered. */
export const STDIO_LINE_BYTES_MAX = 64 * 1024 * 1024;
/** Bytes of a tool's text block where the call has no `max_bytes`: some six thousand tokens of a client's context. */
export const ANSWER_BYTES_DEFAULT = 24_000;
/** The same for `svc_repo_search`, which is asked often, unless it shows whole windows. */
export const REPO_ANSWER_BYTES_DEFAULT = 6_000;
/** The least `max_bytes`, except 0, which means no limit: the longest id fits, with the beginning of a text. */
export const ANSWER_BYTES_MIN = 1_000;
/** The largest `max_bytes`. */
export const ANSWER_BYTES_MAX = 16 * 1024 * 1024;
/** Leading bytes of a query that its answer repeats. */
export const QUERY_ECHO_BYTES_MAX = 2 * 1024;
/**
 * Hits of a search whose texts are read in the same call as the ranking; of more, only those of the hits that are
 * given.
 */
export const TEXTS_AT_ONCE_MAX = 100;
/**
 * Characters of a tool's result with `max_bytes: 0`, which clients hold in memory several times. Fits the largest text.
 */
export const ANSWER_CHARACTERS_MAX = 128 * 1024 * 1024;
/** Nesting depth of one JSON-RPC message: parsing deep nesting stalls for seconds. */
export const JSON_DEPTH_MAX = 128;
/** How long a query waits for a generation that it needs at least, in milliseconds. */
export const AT_LEAST_WAIT_MS = 10_000;
/** How long a writer waits for another process's lock, in milliseconds. */
export const LOCK_WAIT_MS = 30_000;
/**
 * The same for the lock of a process that is stopped, or that keeps unsaved changes of clients which are gone: it
 * seldom comes free by itself, and a debugger or another client may still free it.
 */
export const LOCK_WAIT_STOPPED_MS = 2000;
/**
 * The same for a server whose clients have unsaved changes, from its last save on: one that saves every second has
 * freed the lock by then, and one that saves nothing by itself may keep it for hours.
 */
export const LOCK_WAIT_SERVER_MS = 2500;
/** Bytes of any response of the authority. */
export const AUTHORITY_RESPONSE_BYTES_MAX = 1024 * 1024;
/** Bytes of a runtime bundle, packed or unpacked. */
export const BUNDLE_BYTES_MAX = 1024 * 1024 * 1024;
/** Bytes of any request to the authority. */
export const AUTHORITY_REQUEST_BYTES_MAX = 64 * 1024;
/** Characters in the name of an account. */
export const ACCOUNT_LENGTH_MAX = 128;
/** Characters of a device's name. */
export const DEVICE_NAME_LENGTH_MAX = 64;
/** Requests that an authority answers at once, their bodies still on their way: some 64 KiB each. */
export const AUTHORITY_REQUESTS_MAX = 2048;
/** The same of one address, so that one machine's unfinished requests leave room for others. */
export const AUTHORITY_REQUESTS_OF_ADDRESS_MAX = 512;
/** Seconds that a request, a body or a connection without either may take; Bun looks every four seconds. */
export const AUTHORITY_IDLE_S = 30;
/** How long an authority's end waits for requests in flight, in milliseconds. */
export const AUTHORITY_STOP_MS = 10_000;
/** Bytes of a certificate with those that sign it, or of its key. */
export const CERTIFICATE_BYTES_MAX = 256 * 1024;
/** Bytes of a token, an API key, a key in PEM, a licence: one secret file under `SVC_HOME`. */
export const SECRET_BYTES_MAX = 16 * 1024;
/** Bytes of the certificates that a login pins: some forty of them. */
export const CA_BYTES_MAX = 64 * 1024;
/** Bytes of the file with the pinned authority: certificates, and statements about its keys. */
export const PIN_BYTES_MAX = 1024 * 1024;
/**
 * Bits of the RSA keys that sign releases and licences: about 128 bits of strength (NIST SP 800-57 part 1, table 2).
 */
export const RSA_BITS_MIN = 3072;
/** Statements of an authority about its LICENSE keys: a new key each month for five years. */
export const LICENSE_KEYS_MAX = 64;
/**
 * Bytes of one of them: of a key of 16,384 bits it has 7 KiB. All of them fit into the file of the pinned authority.
 */
export const STATEMENT_BYTES_MAX = 8 * 1024;
/** Bytes of a runtime manifest: a thousand artifacts fit in a quarter of it. */
export const RUNTIME_MANIFEST_BYTES_MAX = 1024 * 1024;
/** Bytes of a release's manifest: ten times what one for all platforms has. */
export const RELEASE_MANIFEST_BYTES_MAX = 32 * 1024;
/** Bytes of the record of releases: some 600 keys. */
export const RELEASES_BYTES_MAX = 64 * 1024;
/** Bytes of a manifest's signature: RSA up to 8192 bits. */
export const RUNTIME_SIGNATURE_BYTES_MAX = 1024;
/** Artifacts that one runtime manifest may name. */
export const RUNTIME_ARTIFACTS_MAX = 1000;
/** Bytes of a client's configuration file. */
export const CLIENT_FILE_BYTES_MAX = 16 * 1024 * 1024;
/** UTF-16 units of one in TOML. Bun's parser takes the square of the number of tables: 4 s for the 20,000 that fit. */
export const CLIENT_TOML_LENGTH_MAX = 1024 * 1024;
/** Bytes of the notes about changes in such files. */
export const CLIENT_NOTES_BYTES_MAX = 64 * 1024 * 1024;
/** Bytes of one frame of the remote protocol, in either direction. */
export const FRAME_BYTES_MAX = 256 * 1024 * 1024;
/** Bytes that a connection may send before it has authenticated. */
export const UNAUTHENTICATED_BYTES_MAX = 4 * 1024;
/** How long a remote client waits for a connection, in milliseconds. */
export const CONNECT_TIMEOUT_MS = 30_000;
/** Connections that `svc serve` holds at once. */
export const CONNECTIONS_MAX = 2048;
/**
 * Unauthenticated connections among them; beyond it the oldest of these are dropped. More are allowed for the first two
 * seconds, because their tokens may still be under way.
 */
export const UNAUTHENTICATED_MAX = 128;
/**
 * Requests of one connection in flight at once; further ones wait unread. There are no more workers than this, and each
 * reply may be as large as a frame.
 */
export const IN_FLIGHT_MAX = 8;
/**
 * Bytes that `svc serve` holds for all connections together: incomplete frames, pending requests, replies the client
 * has not read. Beyond it one connection at a time reads on, and large replies are refused.
 */
export const BUFFERED_BYTES_MAX = 1024 * 1024 * 1024;
/** The share that any connection may hold beyond that sum: small requests are served beside large ones. */
export const BUFFERED_SHARE_BYTES = 64 * 1024;
/** Bytes of unsent replies beyond which a slow reader's further requests wait. */
export const UNSENT_BYTES_MAX = 1024 * 1024;
/** Seconds that a connection has to authenticate. */
export const AUTH_TIMEOUT_S = 30;
/** Seconds in which an unfinished frame must be completed, or grow by `FRAME_PROGRESS_BYTES`. */
export const FRAME_TIMEOUT_S = 30;
/** See `FRAME_TIMEOUT_S`. */
export const FRAME_PROGRESS_BYTES = 1024 * 1024;
/** Seconds after which a client that does not read its replies is dropped. */
export const READER_TIMEOUT_S = 30;
/**
 * Idle seconds after which a TCP connection is closed. A Unix socket's is not: its peer is a process of this machine.
 */
export const IDLE_TIMEOUT_S = 3600;
/** Seconds that an orderly stop waits for requests in flight and for clients to read their replies. */
export const DRAIN_TIMEOUT_S = 10;
/** UTF-16 units in the id of a request, which every reply repeats. */
export const REQUEST_ID_LENGTH_MAX = 1024;
/** Objects and arrays in one frame: parsed, each takes some fifty times its two bytes. */
export const JSON_CONTAINERS_MAX = 8_000_000;
/** The largest time that a row can have, in milliseconds since 1970. */
export const STORED_TIME_MAX = 2 ** 48 - 1;
/** Bytes of UTF-8 in the scope of a project: a remote's address is untrusted, and every row has it. */
export const SCOPE_BYTES_MAX = 512;

/** Every bound that a caller can run into, named once. Beyond one of them lies a `ValueError` that quotes it. */

/** Bytes of UTF-8 in an external id (without NUL). */
export const ID_BYTES_MAX = 512;
/** Bytes of UTF-8 in a collection name. */
export const NAME_BYTES_MAX = 128;
/** Bytes of one row's metadata as JSON. */
export const METADATA_BYTES_MAX = 64 * 1024;
/** Objects and arrays inside one another in a row's metadata. */
export const METADATA_DEPTH_MAX = 16;
/** Bytes of UTF-8 in one text. */
export const TEXT_BYTES_MAX = 16 * 1024 * 1024;
/** Of a text, the leading bytes that are embedded; what follows is stored and found by word only. */
export const TEXT_EMBED_BYTES_MAX = 1024 * 1024;
/** Elements of a vector. */
export const DIM_MAX = 65_536;
/** Hits that one search may ask for. */
export const TOP_K_MAX = 100_000;
/** Hits that one call with many questions may find in all: each takes some hundred bytes, twice. */
export const MANY_HITS_MAX = 2_000_000;
/** Rows that one call over MCP may carry. */
export const ROWS_PER_CALL_MAX = 10_000;
/** Bytes of UTF-8 in the name of a filter column. */
export const COLUMN_BYTES_MAX = 128;
/** Filter columns of a collection, the partition key included. */
export const FILTER_COLUMNS_MAX = 32;
/** Bytes of a repository's file beyond which it is skipped whatever the caller allows: it is read whole. */
export const REPO_FILE_BYTES_MAX = 64 * 1024 * 1024;
/** Bytes of one JSON-RPC line on stdin. A longer one is answered and skipped, never buffered. */
export const STDIO_LINE_BYTES_MAX = 64 * 1024 * 1024;
/** Characters of one tool's answer: a client holds it whole, several times. Room for a text of the largest size. */
export const ANSWER_CHARACTERS_MAX = 128 * 1024 * 1024;
/** Objects and arrays inside one another in one JSON-RPC message: parsing deep nesting stalls for seconds. */
export const JSON_DEPTH_MAX = 128;
/** How long a writer waits for another process's writer before it gives up, in milliseconds. */
export const LOCK_WAIT_MS = 30_000;
/** Bytes of any answer of the authority. */
export const AUTHORITY_RESPONSE_BYTES_MAX = 1024 * 1024;
/** Bytes of a runtime bundle, packed or unpacked. */
export const BUNDLE_BYTES_MAX = 1024 * 1024 * 1024;
/** Bytes of any request to the authority. */
export const AUTHORITY_REQUEST_BYTES_MAX = 64 * 1024;
/** Bytes of a token, an API key, a key in PEM, a licence: one secret file under `SVC_HOME`. */
export const SECRET_BYTES_MAX = 16 * 1024;
/** Bytes of a runtime manifest: a thousand artifacts fit in a quarter of it. */
export const RUNTIME_MANIFEST_BYTES_MAX = 1024 * 1024;
/** Bytes of a manifest's signature: RSA up to 8192 bits. */
export const RUNTIME_SIGNATURE_BYTES_MAX = 1024;
/** Artifacts that one runtime manifest may name. */
export const RUNTIME_ARTIFACTS_MAX = 1000;
/** Bytes of one frame of the remote protocol, in either direction. */
export const FRAME_BYTES_MAX = 256 * 1024 * 1024;
/** Bytes that a connection may send before it has authenticated. */
export const UNAUTHENTICATED_BYTES_MAX = 4 * 1024;
/** How long a remote client waits for a connection, in milliseconds. */
export const CONNECT_TIMEOUT_MS = 30_000;
/** Connections that `svc serve` holds at once. */
export const CONNECTIONS_MAX = 2048;
/** Of them, those that have not authenticated yet; beyond it the oldest of these makes way. */
export const UNAUTHENTICATED_MAX = 128;
/**
 * Requests of one connection that are under way at once; its further ones wait unread. There are no more workers than this, and each may
 * turn out to have a reply as large as a frame.
 */
export const IN_FLIGHT_MAX = 8;
/**
 * Bytes that `svc serve` keeps for all connections together: frames not yet complete, not yet carried out, replies not yet read by the client.
 * Beyond it one connection at a time goes on reading, and large replies are refused.
 */
export const BUFFERED_BYTES_MAX = 1024 * 1024 * 1024;
/** Of them, what any connection may have though the sum is reached: small requests get through beside large ones. */
export const BUFFERED_SHARE_BYTES = 64 * 1024;
/** Bytes of replies that wait for a slow reader before its further requests do. */
export const UNSENT_BYTES_MAX = 1024 * 1024;
/** Seconds that a connection has to authenticate. */
export const AUTH_TIMEOUT_S = 30;
/** Seconds in which an unfinished frame must be completed, or grow by `FRAME_PROGRESS_BYTES`. */
export const FRAME_TIMEOUT_S = 30;
/** See `FRAME_TIMEOUT_S`. */
export const FRAME_PROGRESS_BYTES = 1024 * 1024;
/** Seconds after which a client that does not read its replies is dropped. */
export const READER_TIMEOUT_S = 30;
/** Seconds of silence after which a TCP connection is closed. One on a Unix socket is not: its other end is a process of this machine. */
export const IDLE_TIMEOUT_S = 3600;
/** Seconds that an orderly end waits for what is in flight and for clients to read their replies. */
export const DRAIN_TIMEOUT_S = 10;
/** UTF-16 units in the id of a request, which every reply repeats. */
export const REQUEST_ID_LENGTH_MAX = 1024;
/** Objects and arrays in one frame: each costs some fifty times its two bytes when it is parsed. */
export const JSON_CONTAINERS_MAX = 8_000_000;

/** Downloads from servers that break, change their mind, and lie: over real connections, into real files. */
import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import {
  CancelledError,
  OSError,
  PermissionError,
  RuntimeError,
  TimeoutError,
  ValueError,
} from "../../../src/errors.ts";
import { downloadsPath } from "../../../src/paths.ts";
import { type DownloadRequest, type DownloadState, download } from "../../../src/trust/account/download/download.ts";
import { fetchBundle } from "../../../src/trust/account/download/packages.ts";
import { removePartials } from "../../../src/trust/account/download/partial.ts";
import { failure, fakeServer, newHome } from "./helpers.ts";
import { type Answer, type Asked, type Given, honest, packagesServer } from "./packages-server.ts";

const BYTES = crypto.getRandomValues(new Uint8Array(1_000_000));
const OTHER = BYTES.toReversed();
const BYTES_MAX = 2_000_000;
const TRIES = 2;
const HEAD_BYTES = 2048;
const MISSING = new RuntimeError("missing");

/** A folder for parts and what downloads into it. */
async function scene(answer: Answer) {
  const folder = newHome();
  const part = join(folder, "abc-1.part");
  const taken = (bytes: number) => (statSync(part, { throwIfNoEntry: false })?.size ?? 0) === HEAD_BYTES + bytes;
  const server = await packagesServer(answer, taken);
  const request: DownloadRequest = {
    base: server.url,
    path: "/x",
    peer: "the packages server",
    bearer: "key",
    folder,
    name: "abc",
    bytesMax: BYTES_MAX,
    refused: () => MISSING,
    pace: { idleMs: 10_000, pauseMs: 1, tries: TRIES, progressBytes: 1000 },
  };
  /** Downloads, checks the bytes and drops them. */
  const get = async (expected = BYTES, more: Partial<DownloadRequest> = {}) => {
    const { bytes, resumed, remove, close } = await download({ ...request, ...more });
    remove();
    close();
    expect(Buffer.compare(bytes, expected)).toBe(0);
    expect(readdirSync(folder)).toEqual([]);
    return resumed;
  };
  const fail = (more: Partial<DownloadRequest> = {}) => failure(() => download({ ...request, ...more }));
  const offsets = () => server.asked.map(({ from }) => from);
  return { folder, part, request, get, fail, offsets, asked: server.asked, url: server.url };
}

/** Cuts the first answers after so many bytes each, then answers with all that is asked for. */
function cutting(cuts: number[], answer: Answer): Answer {
  return (asked, index) => ({ ...answer(asked, index), ...(index < cuts.length ? { cut: cuts[index] } : {}) });
}
const good: Answer = (asked) => honest(BYTES, asked);
/** Breaks until the download gives up, having brought so many bytes. */
const hopeless = (bytes: number, answer: Answer): Answer =>
  cutting([bytes, ...Array.from({ length: TRIES }, () => 0)], answer);

describe("a connection that breaks", () => {
  test("is opened again for the rest, of the same document, with the same key", async () => {
    const { get, offsets, asked } = await scene(cutting([300_000, 0, 123_456], good));
    expect(await get()).toBe(true);
    expect(offsets()).toStrictEqual([undefined, 300_000, 300_000, 423_456]);
    expect(new Set(asked.map(({ headers }) => headers.authorization))).toEqual(new Set(["Bearer key"]));
    expect(asked.slice(1).map(({ headers }) => headers["if-range"])).toEqual(['"one"', '"one"', '"one"']);
  });

  test("too often ends the run, which says what is kept; the next goes on there", async () => {
    const { get, fail, offsets, part, folder } = await scene(hopeless(250_000, good));
    const error = await fail();
    expect(error).toBeInstanceOf(OSError);
    expect(error.message).toMatch(
      /^cannot reach the packages server at http:\S+: check the address and this machine's network; 0\.3 of 1\.0 MB are kept, and the same command goes on from there$/,
    );
    expect(offsets()).toStrictEqual([undefined, 250_000, 250_000]);
    expect(readdirSync(folder)).toEqual(["abc-1.part"]);
    expect(statSync(part).mode & 0o777).toBe(0o600);
    expect(statSync(part).size).toBe(HEAD_BYTES + 250_000);
    expect(await get()).toBe(true);
    expect(offsets().slice(3)).toStrictEqual([250_000]);
  });

  test("may break more often where each brings something", async () => {
    const { get, offsets } = await scene(
      cutting(
        Array.from({ length: 20 }, () => 40_000),
        good,
      ),
    );
    expect(await get()).toBe(true);
    expect(offsets()).toHaveLength(21);
  });

  test("is not asked for ever by a server that begins anew each time", async () => {
    const { fail, asked, folder } = await scene(() => ({ body: BYTES, cut: 500_000 }));
    const error = await fail();
    expect(error.message).toMatch(
      /^cannot reach the packages server at http:\S+: check the address and this machine's network$/,
    );
    expect(asked).toHaveLength(1 + TRIES);
    expect(readdirSync(folder)).toEqual([]);
  });

  test("at the first request is an error at once, and keeps what earlier runs brought", async () => {
    const { fail, asked, part } = await scene(hopeless(250_000, good));
    await fail();
    const gone = await packagesServer(good);
    gone.close();
    const error = await fail({ base: gone.url });
    expect(error.message).toBe(
      `cannot reach the packages server at ${gone.url}: check the address and this machine's network; 0.3 of 1.0 MB are kept, and the same command goes on from there`,
    );
    expect(asked).toHaveLength(1 + TRIES);
    expect(statSync(part).size).toBe(HEAD_BYTES + 250_000);
  });

  test("silence counts as broken; bytes that drip do not, however long they take", async () => {
    const pace = { idleMs: 400, idleBytes: 1, pauseMs: 1, tries: TRIES, progressBytes: 1000 };
    const silent = await scene((asked, index) => ({ ...good(asked, index), ...(index === 0 ? { stop: 7 } : {}) }));
    expect(await silent.get(BYTES, { pace })).toBe(true);
    expect(silent.offsets()).toStrictEqual([undefined, 7]);
    const dripping = await scene((asked) => ({ ...honest(BYTES.subarray(0, 30), asked), everyMs: 25, pieceBytes: 1 }));
    expect(await dripping.get(BYTES.subarray(0, 30), { pace })).toBe(false);
    expect(dripping.asked).toHaveLength(1);
    const mute = await scene(() => ({ body: BYTES, stop: 0 }));
    const error = await mute.fail({ pace: { ...pace, idleMs: 50 } });
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error.message).toMatch(/^the packages server at http:\S+ did not answer in time$/);
  });

  test("a server that is busy in the middle of a download is asked again", async () => {
    const { get, asked } = await scene((given, index) =>
      index === 0 ? { ...good(given, 0), cut: 10_000 } : index === 1 ? { status: 503 } : good(given, index),
    );
    expect(await get()).toBe(true);
    expect(asked).toHaveLength(3);
    const first = await scene(() => ({ status: 503 }));
    expect(await first.fail()).toBe(MISSING);
    expect(first.asked).toHaveLength(1);
  });

  test("an interruption says what is kept", async () => {
    const stop = new AbortController();
    const { fail, get, offsets } = await scene((asked, index) => ({
      ...good(asked, index),
      ...(index === 0 ? { stop: 500_000 } : {}),
    }));
    const onState = ({ received }: DownloadState) => {
      if (received === 500_000) stop.abort(new CancelledError("as a command's is"));
    };
    const error = await fail({ signal: stop.signal, onState });
    expect(error).toBeInstanceOf(CancelledError);
    expect(error.message).toBe("interrupted; 0.5 of 1.0 MB are kept, and the same command goes on from there");
    expect(await get()).toBe(true);
    expect(offsets()).toStrictEqual([undefined, 500_000]);
  });

  test("states count what earlier runs brought, and the pauses", async () => {
    const { fail, get } = await scene(hopeless(250_000, good));
    const states: DownloadState[] = [];
    await fail({ onState: (state) => states.push(state) });
    expect(states.filter(({ pauseMs }) => pauseMs).map(({ pauseMs }) => pauseMs)).toEqual([1, 2]);
    await get(BYTES, { onState: (state) => states.push(state) });
    expect(states.at(-1)).toEqual({ received: 1_000_000, kept: 250_000, total: 1_000_000, pauseMs: undefined });
  });
});

describe("what is kept is dropped", () => {
  const rest = (asked: Asked, more: Partial<Given>): Given => {
    const given = honest(BYTES, asked);
    return asked.from === undefined ? given : { ...given, ...more, headers: { ...given.headers, ...more.headers } };
  };
  const range = (value: string) => ({ headers: { "content-range": value } });
  const WRONG: [string, Partial<Given>][] = [
    ["a part that begins elsewhere", range("bytes 0-749999/1000000")],
    ["a part that begins one byte late", range("bytes 250001-999999/1000000")],
    ["a part of another length", range("bytes 250000-999999/1000001")],
    ["a part behind the end", range("bytes 250000-1000000/1000000")],
    ["a part that ends before it begins", range("bytes 250000-249999/1000000")],
    ["a part of unknown length", range("bytes 250000-999999/*")],
    ["a part in other units", range("lines 250000-999999/1000000")],
    ["several parts", { headers: { "content-range": "", "content-type": "multipart/byteranges; boundary=x" } }],
    ["a part of another entity tag", { headers: { etag: '"two"' } }],
    ["a part of a weak entity tag", { headers: { etag: 'W/"one"' } }],
    ["a part that is encoded", { headers: { "content-encoding": "gzip" } }],
    ["a part that is longer than it says", { headers: { "content-range": "bytes 250000-250009/1000000" } }],
    ["no part", { status: 416, headers: { "content-range": "bytes */5" } }],
  ];
  test.each(WRONG)("for %s", async (_, wrong) => {
    const { get, fail, offsets } = await scene((asked, index) =>
      index <= TRIES ? hopeless(250_000, good)(asked, index) : rest(asked, wrong),
    );
    await fail();
    expect(await get()).toBe(false);
    expect(offsets().slice(TRIES + 1)).toStrictEqual([250_000, undefined]);
  });

  test("where the document has changed", async () => {
    const { get, fail, offsets } = await scene((asked, index) =>
      index <= TRIES ? hopeless(250_000, good)(asked, index) : honest(OTHER, asked, '"two"'),
    );
    await fail();
    expect(await get(OTHER)).toBe(false);
    expect(offsets().slice(TRIES + 1)).toStrictEqual([250_000]);
  });

  test("where the document has changed, also if that breaks earlier than the first", async () => {
    const { get, fail, offsets } = await scene((asked, index) =>
      index <= TRIES
        ? hopeless(250_000, good)(asked, index)
        : hopeless(100, (again) => honest(OTHER, again, '"two"'))(asked, index - TRIES - 1),
    );
    await fail();
    await fail();
    expect(await get(OTHER)).toBe(true);
    expect(offsets().slice(TRIES + 1)).toStrictEqual([250_000, 100, 100, 100]);
  });

  test("where the document changes twice within a run", async () => {
    const tags = ['"a"', '"b"', '"c"'];
    // Two lengths: of the same one the server would take the first part for the second, and break too early.
    const cuts = [600_000, 500_000];
    const { get, offsets } = await scene((asked, index) => ({
      ...honest(index === 2 ? BYTES : OTHER, asked, tags[index]),
      ...(index < 2 ? { cut: cuts[index] } : {}),
    }));
    expect(await get()).toBe(false);
    expect(offsets()).toStrictEqual([undefined, ...cuts]);
  });

  test("on request", async () => {
    const { get, fail, offsets } = await scene(hopeless(250_000, good));
    await fail();
    expect(await get(BYTES, { anew: true })).toBe(false);
    expect(offsets().slice(TRIES + 1)).toStrictEqual([undefined]);
  });

  test("a server that never sends the part that it is asked for is asked a few times", async () => {
    const { fail, offsets } = await scene((given) =>
      given.from === undefined ? { ...good(given, 0), cut: 250_000 } : rest(given, range("bytes 0-9/1000000")),
    );
    expect((await fail()).message).toContain("cannot reach");
    expect(offsets()).toStrictEqual([undefined, 250_000, undefined]);
  });

  const past = new Date(Date.now() - 60_000).toUTCString();
  const now = new Date().toUTCString();
  const UNPROVED: [string, Record<string, string>][] = [
    ["no validator", {}],
    ["a weak entity tag", { etag: 'W/"one"' }],
    ["an entity tag without quotes", { etag: "one" }],
    ["a very long entity tag", { etag: `"${"x".repeat(501)}"` }],
    ["a date that is too young", { "last-modified": now, date: now }],
    ["a date without the server's own", { "last-modified": past }],
    ["a date that is none", { "last-modified": "yesterday", date: now }],
    ["no ranges", { etag: '"one"', "accept-ranges": "none" }],
  ];
  test.each(UNPROVED)("at the end of a run, where the server gives %s", async (_, headers) => {
    const { get, fail, offsets, folder } = await scene(hopeless(250_000, () => ({ headers, body: BYTES })));
    expect((await fail()).message).not.toContain("kept");
    expect(readdirSync(folder)).toEqual([]);
    await get();
    expect(offsets().every((from) => from === undefined)).toBe(true);
  });

  test("but a date that is old enough is proof", async () => {
    const dates = { "last-modified": past, date: now };
    const answer: Answer = (asked) => ({
      ...honest(BYTES, asked, past),
      headers: { ...honest(BYTES, asked, past).headers, etag: "", ...dates },
    });
    const { get, asked } = await scene(
      cutting([250_000], (given, index) => {
        const { headers, ...rest } = answer(given, index);
        const { etag: _, ...kept } = headers ?? {};
        return { ...rest, headers: kept };
      }),
    );
    expect(await get()).toBe(true);
    expect(asked[1]?.headers).toMatchObject({ range: "bytes=250000-", "if-range": past });
  });
});

describe("answers of the wrong size", () => {
  const TOO_MUCH = "the packages server answered with more than 2000000 bytes";
  const CASES: [string, Answer][] = [
    ["announced", () => ({ headers: { etag: '"one"', "content-length": "2000001" } })],
    ["without an end", () => ({ headers: { etag: '"one"' }, endless: true })],
  ];
  test.each(CASES)("more than the cap, %s, are refused and not kept", async (_, answer) => {
    const { fail, folder, asked } = await scene(answer);
    const error = await fail();
    expect(error).toBeInstanceOf(ValueError);
    expect(error.message).toBe(TOO_MUCH);
    expect(asked).toHaveLength(1);
    expect(readdirSync(folder)).toEqual([]);
  });

  /** A part as a run leaves it that was not given the length. */
  const planted = (path: string, bytes: number) =>
    writeFileSync(
      path,
      Buffer.concat([Buffer.from('{"validator":"\\"one\\""}'.padEnd(HEAD_BYTES)), Buffer.alloc(bytes)]),
    );

  test("the cap counts all parts together, and what earlier runs kept", async () => {
    const huge: Answer = ({ from }) => {
      const headers = { etag: '"one"', "content-length": "2000001" };
      return from === undefined
        ? { headers }
        : { status: 206, headers: { etag: '"one"', "content-range": `bytes ${from}-2000000/2000001` }, body: BYTES };
    };
    const { fail, folder, part, offsets } = await scene(huge);
    planted(part, 1_500_000);
    expect((await fail()).message).toBe(TOO_MUCH);
    expect(readdirSync(folder)).toEqual([]);
    planted(part, BYTES_MAX + 1);
    expect((await fail()).message).toBe(TOO_MUCH);
    expect(offsets()).toStrictEqual([1_500_000, undefined]);
  });

  test("parts smaller than asked for are put together", async () => {
    const { get, offsets } = await scene((asked) => {
      const from = asked.from ?? 0;
      if (asked.from === undefined) return { ...good(asked, 0), cut: 100_000 };
      const end = Math.min(BYTES.length, from + 300_000);
      const headers = { etag: '"one"', "content-range": `bytes ${from}-${end - 1}/${BYTES.length}` };
      return { status: 206, headers, body: BYTES.subarray(from, end) };
    });
    expect(await get()).toBe(true);
    expect(offsets()).toStrictEqual([undefined, 100_000, 400_000, 700_000]);
  });

  test("a body that is encoded for the way is refused", async () => {
    const packed = Bun.gzipSync(new Uint8Array(20_000_000));
    for (const encoding of ["gzip", "br"]) {
      const headers = { etag: '"one"', "content-encoding": encoding };
      const { fail, folder } = await scene(() => ({ headers, body: packed }));
      expect((await fail()).message).toMatch(
        /^the packages server at http:\S+ encodes what it was asked to send as it is$/,
      );
      expect(readdirSync(folder)).toEqual([]);
    }
  });

  test("one without a length ends with the connection", async () => {
    const server = fakeServer(
      () =>
        new Response(
          new ReadableStream({
            start(controller) {
              for (let at = 0; at < BYTES.length; at += 100_000) controller.enqueue(BYTES.subarray(at, at + 100_000));
              controller.close();
            },
          }),
        ),
    );
    const { get } = await scene(good);
    expect(await get(BYTES, { base: server.url })).toBe(false);
  });
});

describe("redirects", () => {
  test("of a request for the rest are followed within the origin, with the range, and not beyond it", async () => {
    const target = await packagesServer(good);
    let elsewhere = false;
    const { get, fail, offsets, asked } = await scene((given, index) => {
      if (given.path === "/x") {
        return { status: 302, headers: { location: elsewhere ? `${target.url}/y` : "/y" } };
      }
      return { ...good(given, 0), ...(index === 1 ? { cut: 250_000 } : {}) };
    });
    expect(await get()).toBe(true);
    expect(offsets()).toStrictEqual([undefined, undefined, 250_000, 250_000]);
    expect(asked.every(({ headers }) => headers.authorization === "Bearer key")).toBe(true);
    elsewhere = true;
    expect(await fail()).toBeInstanceOf(PermissionError);
    expect(target.asked).toEqual([]);
  });
});

describe("the file of a part", () => {
  /** What a run left that was cut after 250,000 bytes. */
  async function interrupted(answer = good) {
    const found = await scene((asked, index) =>
      index <= TRIES ? hopeless(250_000, good)(asked, index) : answer(asked, index),
    );
    await found.fail();
    return { ...found, next: () => found.offsets().slice(TRIES + 1) };
  }

  const DAMAGED: [string, (path: string) => void][] = [
    ["cut in its head", (path) => truncateSync(path, 100)],
    ["empty", (path) => truncateSync(path, 0)],
    ["cut after its head", (path) => truncateSync(path, HEAD_BYTES)],
    ["of zeros", (path) => writeFileSync(path, new Uint8Array(300_000))],
    ["of something else", (path) => writeFileSync(path, OTHER)],
    ["longer than the document", (path) => writeFileSync(path, Buffer.concat([readFileSync(path), BYTES]))],
  ];
  test.each(DAMAGED)("that is %s is begun anew", async (_, damage) => {
    const { part, get, next } = await interrupted();
    damage(part);
    expect(await get()).toBe(false);
    expect(next()).toStrictEqual([undefined]);
  });

  test("that is shorter, as a power cut may leave it, is gone on with where it ends", async () => {
    const { part, get, next } = await interrupted();
    truncateSync(part, HEAD_BYTES + 1234);
    expect(await get()).toBe(true);
    expect(next()).toStrictEqual([1234]);
  });

  test("that is whole needs one byte of the server", async () => {
    const { get, request, offsets } = await scene(good);
    (await download(request)).close();
    expect(await get()).toBe(true);
    expect(offsets()).toStrictEqual([undefined, 999_999]);
  });

  test("is made anew where a link, a folder, or a second name of another file is in its place", async () => {
    for (const place of [
      (path: string, other: string) => symlinkSync(other, path),
      (path: string, other: string) => linkSync(other, path),
      (path: string) => mkdirSync(join(path, "folder"), { recursive: true }),
    ]) {
      const { part, get } = await scene(good);
      const other = join(newHome(), "other");
      writeFileSync(other, "as it was");
      place(part, other);
      expect(await get()).toBe(false);
      expect(readFileSync(other, "utf8")).toBe("as it was");
    }
  });

  test("is written by one process: another that downloads the same has a file of its own", async () => {
    const { request, get, folder, offsets } = await interrupted();
    const [one, two] = await Promise.all([download(request), download(request)]);
    expect(readdirSync(folder).sort()).toEqual(["abc-1.part", "abc-2.part"]);
    for (const { bytes } of [one, two]) expect(Buffer.compare(bytes, BYTES)).toBe(0);
    expect(
      offsets()
        .slice(TRIES + 1)
        .sort(),
    ).toStrictEqual([250_000, undefined]);
    for (const each of [one, two]) each.close();
    removePartials(folder);
    expect(await get()).toBe(false);
  });

  test("is removed with those of other versions, unless a process is writing it", async () => {
    const { request, folder, part } = await interrupted();
    const other = { ...request, name: "def" };
    const held = await download(other);
    expect(readdirSync(folder)).toEqual(["def-1.part"]);
    expect(existsSync(part)).toBe(false);
    const third = await download({ ...request, name: "ghi" });
    expect(readdirSync(folder).sort()).toEqual(["def-1.part", "ghi-1.part"]);
    third.close();
    removePartials(folder);
    expect(readdirSync(folder)).toEqual(["def-1.part"]);
    held.close();
    removePartials(folder);
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe("a bundle", () => {
  const halves = (home: string) =>
    packagesServer(
      (asked) => ({ ...good(asked, 0), cut: 1000 }),
      () => statSync(join(downloadsPath(home), readdirSync(downloadsPath(home))[0]!)).size > HEAD_BYTES,
    );
  const bundle = (home: string, packages: string) =>
    fetchBundle({ home, packages, version: "1.2.3", tag: "linux-arm64", pace: { tries: 0 } });

  test("is kept by server, version and platform, in a private folder beside the installs", async () => {
    const home = newHome();
    const server = await halves(home);
    expect((await failure(() => bundle(home, server.url))).message).toContain("are kept");
    const folder = downloadsPath(home);
    expect(folder).toBe(join(home, "runtime", ".downloads"));
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    const [name] = readdirSync(folder);
    expect(name).toMatch(/^[0-9a-f]{32}-1\.part$/);
    const moved = await halves(home);
    await failure(() => bundle(home, moved.url));
    expect(moved.asked[0]?.from).toBeUndefined();
    expect(readdirSync(folder)).not.toEqual([name]);
    expect(readdirSync(folder)).toHaveLength(1);
  });

  test("is not downloaded where others can write", async () => {
    const home = newHome();
    mkdirSync(join(home, "runtime"));
    chmodSync(join(home, "runtime"), 0o777);
    const server = await packagesServer(good);
    const error = await failure(() => bundle(home, server.url));
    expect(error).toBeInstanceOf(PermissionError);
    expect(error.message).toMatch(/^others can write to runtime: run chmod go-w/);
    expect(server.asked).toEqual([]);
  });
});

test("a run that is killed at any moment leaves nothing that stops the next", async () => {
  const slow: Answer = (asked) => ({ ...good(asked, 0), everyMs: 2, pieceBytes: 20_000 });
  const { folder, url, offsets, get } = await scene(slow);
  for (let round = 0; round < 12; round++) {
    const child = Bun.spawn([process.execPath, join(import.meta.dir, "download-child.ts"), url, folder], {
      stdout: "pipe",
      stderr: "inherit",
    });
    // From the first line on it downloads: the kill hits any step of that.
    await child.stdout.getReader().read();
    await Bun.sleep(Math.random() * 40);
    child.kill("SIGKILL");
    await child.exited;
    expect(readdirSync(folder).length).toBeLessThan(2);
  }
  const before = offsets().length;
  expect(await get()).toBe(offsets()[before] !== undefined);
});

/** A file system of its own, where mounting is allowed. */
const disk = newHome();
const mount = process.platform === "linux" ? Bun.which("mount") : null;
const small = ["-t", "tmpfs", "-o", "size=400k", "none", disk];
const umount = () => Bun.spawnSync(["umount", "--lazy", disk]).success;
const canMount = mount !== null && Bun.spawnSync([mount, ...small]).success && umount();

test.skipIf(!canMount)("a full disk ends the run, and what came is removed (needs the right to mount)", async () => {
  expect(Bun.spawnSync([mount!, ...small]).success).toBe(true);
  try {
    const { fail } = await scene(good);
    const error = await fail({ folder: disk });
    expect(error).toBeInstanceOf(OSError);
    expect(error.message).toBe(
      "cannot write 'abc-1.part': ENOSPC: no space left on device: free some space and try again",
    );
    expect((error as OSError).reason).toBe("disk_full");
    expect(readdirSync(disk)).toEqual([]);
  } finally {
    umount();
  }
});

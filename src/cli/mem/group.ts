/** `svc mem`: the memory from the terminal. Each verb goes through the same arguments and the same gate as its tool. */
import { group } from "../terminal/citty.ts";

const write = () => import("./write.ts");
const read = () => import("./read.ts");
const maintain = () => import("./maintain.ts");
const repo = () => import("./repo.ts");
const whole = () => import("./collections.ts");

export default group("svc mem", {
  summary: "use the memory from the terminal",
  details:
    "The collection comes first, then the text, the query or the ids. Texts also come from stdin and files. Every verb takes\n" +
    "--path and --json; --json prints what the tool of the same name answers.",
  examples: [
    'svc mem add notes "we deploy blue green" --metadata \'{"scope":"ops"}\'',
    'svc mem search notes "blue green deploy" --top-k 3 --where scope=ops',
    "svc mem export notes > notes.jsonl",
  ],
  commands: {
    add: ["add texts, and make the collection if it is absent", async () => (await write()).add],
    upsert: ["add texts or replace them by id", async () => (await write()).upsert],
    update: ["replace the texts of existing ids", async () => (await write()).update],
    get: ["look rows up by id", async () => (await read()).get],
    show: ["show the rows of a collection, or one row whole", async () => (await import("./show.ts")).show],
    recent: ["show what was added or changed last", async () => (await import("./show.ts")).recent],
    brief: ["print what to know at the beginning of a session", async () => (await import("./brief.ts")).default],
    search: ["search by words and meaning, or by words alone", async () => (await read()).search],
    list: ["list the collections, or show one", async () => (await import("./list.ts")).default],
    create: ["make an empty collection", async () => (await write()).create],
    describe: ["say what a collection is for", async () => (await whole()).describe],
    alter: ["change how a collection can be searched", async () => (await whole()).alter],
    rename: ["give a collection another name", async () => (await whole()).rename],
    drop: ["remove collections for good", async () => (await whole()).drop],
    pin: ["pin a row, so that every brief shows it", async () => (await import("./pin.ts")).default],
    edit: ["edit a row in your editor", async () => (await import("./edit.ts")).default],
    delete: ["delete rows by id, or all that match", async () => (await import("./delete.ts")).remove],
    history: [
      "show what saves have changed, or the versions of a row",
      async () => (await import("./history.ts")).default,
    ],
    undo: ["take back what a save has changed", async () => (await import("./undo.ts")).default],
    ids: ["list the live ids", async () => (await read()).ids],
    count: ["count the live rows", async () => (await read()).count],
    stats: ["show a collection's figures", async () => (await read()).stats],
    compact: ["remove deleted and replaced rows, and the history, from disk", async () => (await maintain()).compact],
    "build-ivf": ["build the indexes for large collections", async () => (await maintain()).buildIvf],
    "build-lexical": ["build the index for search by word alone", async () => (await maintain()).buildLexical],
    "build-meaning": [
      "make the vectors of meaning now instead of in the background",
      async () => (await maintain()).buildMeaning,
    ],
    tune: ["measure a collection and plan its indexes", async () => (await maintain()).tune],
    index: ["index the text files of a repository", async () => (await repo()).index],
    "repo-search": ["bring the index of a repository up to date and search it", async () => (await repo()).repoSearch],
    repos: ["list the indexed repositories, or forget one", async () => (await import("./repos.ts")).default],
    export: ["write a collection as JSON lines", async () => (await import("./export.ts")).default],
    backup: ["copy the memory, also while others write to it", async () => (await import("./backup.ts")).default],
    copy: ["copy collections into a database, or back", async () => (await import("./copy.ts")).default],
    restore: ["copy collections back from a backup", async () => (await import("./restore.ts")).default],
    check: ["read every byte and name what is damaged", async () => (await import("./check.ts")).default],
    import: [
      "read a file, a folder of notes or another memory into a collection",
      async () => (await import("./import.ts")).default,
    ],
  },
});

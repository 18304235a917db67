/** `svc mem`: the memory from the terminal. Each verb goes through the same arguments and the same gate as its tool. */
import type { Group } from "./command.ts";

const group: Group = {
  summary: "the memory from the terminal",
  details:
    "The collection comes first, then the text, the query or the ids. Texts also come from stdin and files. Every verb takes\n" +
    "--path, and --json for what the tool of the same name answers.",
  examples: [
    'svc mem add notes "we deploy blue green" --metadata \'{"scope":"ops"}\'',
    'svc mem search notes "blue green deploy" --top-k 3 --where scope=ops',
    "svc mem export notes > notes.jsonl",
  ],
  commands: {
    add: {
      summary: "add texts; makes the collection if absent",
      load: async () => (await import("./mem/write.ts")).add,
    },
    upsert: { summary: "add texts or replace them by id", load: async () => (await import("./mem/write.ts")).upsert },
    update: { summary: "replace the texts of existing ids", load: async () => (await import("./mem/write.ts")).update },
    get: { summary: "look rows up by id", load: async () => (await import("./mem/read.ts")).get },
    search: { summary: "search by meaning, or by word", load: async () => (await import("./mem/search.ts")).search },
    list: { summary: "list the collections", load: async () => (await import("./mem/read.ts")).list },
    create: { summary: "make an empty collection", load: async () => (await import("./mem/write.ts")).create },
    delete: { summary: "delete rows by id", load: async () => (await import("./mem/write.ts")).remove },
    ids: { summary: "list the live ids", load: async () => (await import("./mem/read.ts")).ids },
    count: { summary: "count the live rows", load: async () => (await import("./mem/read.ts")).count },
    stats: { summary: "show a collection's figures", load: async () => (await import("./mem/read.ts")).stats },
    compact: {
      summary: "drop deleted and superseded rows from disk",
      load: async () => (await import("./mem/maintain.ts")).compact,
    },
    "build-ivf": {
      summary: "build the indexes for large collections",
      load: async () => (await import("./mem/maintain.ts")).buildIvf,
    },
    "build-lexical": {
      summary: "build the index for search by word",
      load: async () => (await import("./mem/maintain.ts")).buildLexical,
    },
    tune: {
      summary: "measure a collection and plan its indexes",
      load: async () => (await import("./mem/maintain.ts")).tune,
    },
    index: { summary: "index the text files of a repository", load: async () => (await import("./mem/repo.ts")).index },
    "repo-search": {
      summary: "search a repository, indexing it afresh",
      load: async () => (await import("./mem/repo.ts")).repoSearch,
    },
    export: {
      summary: "write a collection as JSON lines",
      load: async () => (await import("./mem/export.ts")).default,
    },
    import: {
      summary: "read JSON lines into a collection",
      load: async () => (await import("./mem/import.ts")).default,
    },
  },
};

export default group;

/** Configuration files as people and programs leave them, by notation; `KEY` stands for the container's key. */

const twoServers = (unit: string, eol: string, end: string) =>
  [
    "{",
    `${unit}"theme": "dark",`,
    `${unit}"KEY": {`,
    `${unit}${unit}"first": { "command": "a", "args": [] },`,
    `${unit}${unit}"second": {`,
    `${unit}${unit}${unit}"command": "b"`,
    `${unit}${unit}}`,
    `${unit}},`,
    `${unit}"last": 1e999`,
    "}",
  ].join(eol) + end;

export const JSON_FILES: Record<string, string> = {
  empty: "",
  "white space": " \n\n",
  "an empty object": "{}",
  "an empty object and a line break": "{}\n",
  "an empty object on two lines": "{\n}\n",
  "an empty object with a space": "{ }",
  "an empty container": '{\n  "KEY": {}\n}\n',
  "an empty container on two lines": '{\n  "KEY": {\n  }\n}\n',
  "no container": '{\n  "a": 1\n}\n',
  "two servers": twoServers("  ", "\n", "\n"),
  "four spaces": twoServers("    ", "\n", "\n"),
  "three spaces": twoServers("   ", "\n", ""),
  tabs: twoServers("\t", "\n", "\n"),
  CRLF: twoServers("  ", "\r\n", "\r\n"),
  "CRLF and no final line break": twoServers("\t", "\r\n", ""),
  "no final line break": twoServers("  ", "\n", ""),
  "a byte order mark": `\ufeff${twoServers("  ", "\n", "\n")}`,
  compact: '{"a":1,"KEY":{"first":{"command":"a","args":["x","y"]}},"b":[1,2]}',
  "compact with spaces": '{"a": 1, "KEY": {"first": {"command": "a"}}}\n',
  "compact, empty container": '{"KEY":{},"a":1}',
  "compact, no container": '{"a":1}',
  "compact inside": '{\n  "KEY": { "first": { "command": "a" } },\n  "a": 1\n}\n',
  comments: `// settings
{
  // the servers /* of "KEY": { */
  "KEY": {
    // one
    "first": { "command": "a" } // the first
    // "second": { "command": "b" }
  }, /* more */
  "url": "http://x//y", // not a comment: "//"
}
// end
`,
  "a comment after the last entry": '{\n  "KEY": {\n    "first": { "command": "a" } /* one */ // two\n  }\n}\n',
  "a comment before the comma": '{\n  "KEY": {\n    "first": {} // one\n    , "second": {}\n  }\n}\n',
  "trailing commas": '{\n\t"KEY": {\n\t\t"first": {\n\t\t\t"command": "a",\n\t\t},\n\t},\n}\n',
  "a trailing comma with a comment": '{\n  "KEY": {\n    "first": {}, // one\n  }\n}\n',
  "a trailing comma on its own line": '{\n  "KEY": {\n    "first": {}\n    ,\n  }\n}\n',
  "comments only in the container": '{\n  "KEY": {\n    // add servers here\n  }\n}\n',
  "a comment after the brace": '{ // settings\n  "KEY": { // servers\n    "first": {}\n  }\n}\n',
  "comments only": "// nothing yet\n",
  "comments only, no line break": "/* nothing yet */",
  "an object in comments": "/* a */ {} // b\n",
  "broken indentation": '{\n"a": 1,\n      "KEY": {\n  "first": {}\n   }}\n\n\n',
  "escaped keys and other letters":
    '{\n  "K\\u0045Y2": {},\n  "KEY": { "\\"": 1, "größe": "\\ud83d\\ude00", "空": {} }\n}\n',
  "prototype names": '{\n  "__proto__": { "x": 1 },\n  "KEY": {\n    "__proto__": {},\n    "constructor": {}\n  }\n}\n',
  numbers: '{\n  "a": 1.0, "b": 12345678901234567890, "c": -0,\n  "KEY": {}\n}',
};

export const TOML_FILES: Record<string, string> = {
  empty: "",
  "white space": "\n\n",
  comments: "# nothing yet\n",
  "comments, no line break": "# nothing yet",
  "other settings": 'model = "x" # the model\napproval = "never"\n\n[tui]\ntheme = "dark"\n',
  "no final line break": 'model = "x"\n[tui]\ntheme = "dark"',
  "empty lines at the end": 'model = "x"\n\n\n',
  CRLF: 'model = "x"\r\n\r\n[KEY.first]\r\ncommand = "a"\r\nargs = []\r\n\r\n[tui]\r\ntheme = 1\r\n',
  "another server":
    '[KEY.first]\ncommand = "a"\n[KEY.first.env]\nA = "b" # [x]\n\n# about the tui\n[tui]\ntheme = "dark"\n',
  "another server, last, no line break": 'a = 1\n\n[KEY.first]\ncommand = "a"',
  "a table of the container": "[KEY]\n\n[tui]\nx = 1\n",
  "quoted keys": '["KEY"."a.b"]\ncommand = "x"\n[ KEY . \'c d\' ]\n"command" = "y"\n',
  "an inline server": '[KEY]\nfirst = { command = "a", args = ["]", "#"] } # one\n\n[other]\n',
  "long strings":
    'a = """\n[KEY.svc]\n"quotes\\"""" \nb = \'\'\'\n[x\n\'\'\'\n[KEY.first]\ncommand = """a\n[z]""""\n[c]\n',
  "arrays over lines":
    'a = [ # one\n  "[x]", # ]\n  { b = 1, c = [2,\n 3] },\n]\nd = 1979-05-27 07:32:00\ne = 1979-05-27\n',
  "arrays of tables": "[[profiles]]\na = 1\n[[profiles]]\na = 2\n[profiles.inner]\nx = 0x1F\n",
  indented: "[tui]\n  x = 1\n\n  [KEY.first]\n    command = 'a'\n    # a comment\n\n",
  "a byte order mark": '\ufeff[KEY.first]\ncommand = "a"\n',
};

export const YAML_FILES: Record<string, string> = {
  empty: "",
  "white space": "\n",
  comments: "# nothing yet\n",
  "comments, no line break": "# nothing yet",
  "other settings": "GOOSE_MODEL: x # the model\nGOOSE_MODE: auto\n",
  "no final line break": "GOOSE_MODEL: x",
  "another server": "KEY:\n  developer:\n    enabled: true\n    type: builtin\nGOOSE_MODEL: x\n",
  "another server at the end": "a: 1\nKEY:\n  # one\n  developer:\n    enabled: true\n",
  "another server, no final line break": "a: 1\nKEY:\n    developer:\n        enabled: true",
  "the container last, empty": "a: 1\nKEY:",
  "the container null": "KEY: null\na: 1\n",
  "the container empty": "KEY: {} # none\na: 1\n",
  "the container without a value": "KEY: # none\na: 1\n",
  CRLF: "KEY:\r\n  developer:\r\n    enabled: true\r\na: 1\r\n",
  "document markers": "%YAML 1.2\n---\nKEY:\n  developer:\n    enabled: true\n...\n",
  "markers and no container": "--- # one\na: 1\n...\n# end\n",
  anchors: "base: &base\n  timeout: 300\nKEY:\n  developer: &dev\n    <<: *base\n    enabled: true\n  other: *dev\n",
  "block scalars":
    "text: |+\n  KEY:\n    svc: 1\n\n\nKEY:\n  developer:\n    description: >-\n      KEY:\n\n        deep\n\n\nlast: |\n  x\n\n",
  "a list as deep as its key": "list:\n- a\n- b: 1\n  c: 2\nKEY:\n  developer:\n    args:\n    - x\n    - 'y: z'\n",
  "quoted keys": '"KEY":\n  \'a b\':\n    "enabled": true\n"c: d": 1\n',
  "strings over lines":
    "a: \"one\n  KEY:\n  two\"\nb: 'x\n\n  y'\nc: plain\n  text\nKEY:\n  developer: {enabled: true, args: [a,\n      b]}\n",
  "comments between":
    "# top\nKEY: # servers\n# at the margin\n  # deeper\n\n  developer:\n    # inside\n    enabled: true\n\n  # behind\n\n# end\nz: 1\n",
  "a byte order mark": "\ufeffKEY:\n  developer:\n    enabled: true\n",
};

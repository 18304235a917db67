/** The language of a file by its name, as a label for filters and users; "text" where the table has none. */

/**
 * `language: extensions and whole file names`, both in lower case; a name that starts with `=` is a whole file name.
 */
const TABLE: Record<string, string> = {
  ada: "adb ads",
  asciidoc: "adoc asciidoc",
  assembly: "asm s",
  astro: "astro",
  awk: "awk",
  batch: "bat cmd",
  bazel: "bzl bazel =build =workspace",
  c: "c h",
  clojure: "clj cljc cljs edn",
  cmake: "cmake =cmakelists.txt",
  cobol: "cob cbl",
  coffeescript: "coffee",
  cpp: "cc cpp cxx c++ hh hpp hxx h++ ipp inl",
  crystal: "cr",
  csharp: "cs csx",
  css: "css",
  csv: "csv tsv",
  cuda: "cu cuh",
  d: "d",
  dart: "dart",
  diff: "diff patch",
  dockerfile: "dockerfile =dockerfile =containerfile",
  elixir: "ex exs eex heex",
  elm: "elm",
  erlang: "erl hrl",
  fish: "fish",
  fortran: "f f77 f90 f95 f03 f08",
  fsharp: "fs fsi fsx",
  gleam: "gleam",
  glsl: "glsl vert frag comp",
  go: "go =go.mod =go.sum",
  graphql: "graphql gql",
  groovy: "groovy gradle =jenkinsfile",
  haskell: "hs lhs cabal",
  hcl: "hcl tf tfvars",
  html: "html htm xhtml",
  ini: "ini cfg conf properties =.editorconfig =.gitconfig",
  java: "java",
  javascript: "js jsx mjs cjs",
  json: "json jsonc json5 jsonl ndjson geojson webmanifest =.babelrc =.eslintrc",
  julia: "jl",
  just: "just =justfile",
  kotlin: "kt kts",
  latex: "tex sty cls bib",
  less: "less",
  lisp: "lisp lsp el scm rkt ss",
  llvm: "ll",
  lua: "lua",
  makefile: "mk mak =makefile =gnumakefile",
  markdown: "md markdown mdx qmd",
  matlab: "matlab",
  meson: "=meson.build =meson_options.txt",
  nim: "nim nims",
  nix: "nix",
  notebook: "ipynb",
  objc: "m mm",
  ocaml: "ml mli",
  org: "org",
  pascal: "pas pp dpr",
  perl: "pl pm pod t",
  php: "php phtml",
  powershell: "ps1 psm1 psd1",
  prisma: "prisma",
  prolog: "pro prolog",
  proto: "proto",
  puppet: "epp",
  python: "py pyi pyw pyx pxd =sconstruct",
  r: "r rmd",
  rst: "rst",
  ruby: "rb rake gemspec erb =gemfile =rakefile =vagrantfile =podfile",
  rust: "rs",
  sass: "sass scss",
  scala: "scala sc sbt",
  shell: "sh bash zsh ksh bats =.bashrc =.zshrc =.profile =.bash_profile =pkgbuild",
  solidity: "sol",
  sql: "sql ddl dml",
  starlark: "star =tiltfile",
  svelte: "svelte",
  svg: "svg",
  swift: "swift",
  tcl: "tcl",
  thrift: "thrift",
  toml: "toml =cargo.lock =pipfile",
  typescript: "ts tsx mts cts",
  vb: "vb vbs bas",
  verilog: "v vh sv svh",
  vhdl: "vhd vhdl",
  vim: "vim =.vimrc",
  vue: "vue",
  wgsl: "wgsl",
  xml: "xml xsd xsl xslt plist csproj vbproj fsproj props targets",
  yaml: "yaml yml",
  zig: "zig zon",
};

const byExtension = new Map<string, string>();
const byName = new Map<string, string>();
for (const [language, keys] of Object.entries(TABLE)) {
  for (const key of keys.split(" ")) {
    if (key.startsWith("=")) byName.set(key.slice(1), language);
    else byExtension.set(key, language);
  }
}

/**
 * The language of a `/`-separated path, or `"text"`. A whole name wins over an extension: `CMakeLists.txt` is cmake.
 */
export function languageOf(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  const whole = byName.get(name);
  if (whole !== undefined) return whole;
  // `Dockerfile.dev` and `Makefile.am` match by the part before the dot.
  const stem = name.slice(0, Math.max(0, name.indexOf(".")));
  const dot = name.lastIndexOf(".");
  const extension = dot > 0 ? byExtension.get(name.slice(dot + 1)) : undefined;
  return extension ?? byName.get(stem) ?? "text";
}

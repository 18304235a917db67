/**
 * What a file is beside the source of a project, by its path alone: after the names that languages, tools and users
 * give to such files and folders. They repeat the words of a question more often than the source that they are about,
 * and are asked for less.
 */
import { languageOf } from "../chunks/language.ts";

export type Role =
  | "test"
  | "doc"
  | "changelog"
  | "example"
  | "translation"
  | "lock"
  | "vendored"
  | "minified"
  | "generated"
  | "template"
  | "generator";

/** Folders at any depth, in lower case. */
const FOLDERS = byWord({
  test:
    "test tests spec specs __test__ __tests__ __mocks__ __fixtures__ __snapshots__ mocks fixture fixtures snapshots " +
    "testdata test_data test-data testcase testcases testsuite testsuites test_suite test-suite unittest unittests " +
    "androidtest e2e cypress goldens cassettes t",
  doc: "doc docs documentation javadoc groovydoc wiki website manual manuals guide guides rfc rfcs adr",
  changelog: "changelog changelogs changelog.d .changeset .changes newsfragments releasenotes release-notes",
  example:
    "example examples _examples sample samples demo demos playground playgrounds sandbox tutorial tutorials cookbook",
  translation: "po lc_messages",
  vendored:
    "vendor vendors vendored _vendor third_party third-party thirdparty 3rdparty 3rd-party 3rd_party extern externals " +
    "external node_modules bower_components jspm_packages godeps carthage pods .yarn flow-typed site-packages",
  minified: "minified",
  generated: "dist __generated__ generated autogen",
  template: "template templates skeleton skeletons scaffold scaffolds boilerplate boilerplates",
  generator: "codegen generators",
});

/** Folders by a word at the end or the start of their name, as written: `integration-tests`, `Api.Tests`, `CoreTests`. */
const FOLDER_WORDS: [RegExp, Role][] = [
  [/[._-](tests?|specs?)$|^tests?[._-]/i, "test"],
  [/[a-z](Tests?|Specs?)$/, "test"],
  [/[._-]docs?$/i, "doc"],
  [/[._-](examples?|samples?|demos?)$/i, "example"],
  [/^minified[._-]/i, "minified"],
  [/\.lproj$|^values-[a-z]{2}(-|$)/i, "translation"],
  [/^templates?-/i, "template"],
];

/** Folders of the root, in lower case. */
const ROOT_FOLDERS = byWord({
  doc: "man news",
  vendored: "deps dependencies",
  generator: "scripts script tools hack build-aux",
});

/** Files by their name in lower case. */
const FILES: [RegExp, Role][] = [
  // test_x.py, x_test.go, x.spec.ts, x-test.js, x_unittest.cc, x.cy.ts, conftest.py, tests.rs
  [/^test[._-]|^(conftest|tests?)\.\w+$|[._-](tests?|unittests?|e2e|cy)\.\w+$|[._-]spec\.(?!json|ya?ml)\w+$/, "test"],
  // Perl's tests, scenarios, recorded answers and stand-ins.
  [/\.(t|snap|snapshot|golden|approved\.\w+)$|\D\.feature$|^mock_.*\.\w+$|_mock\.\w+$/, "test"],
  [
    /\.(md|mdx|mkdn?|markdown|rst|adoc|asciidoc|asc|org|textile|rdoc|pod|tex|texi|texinfo|rtf|typ|man)$|^[a-z][\w-]*\.[1-9]$/,
    "doc",
  ],
  // Texts, where no tool reads them.
  [/(?<!^cmakelists|^meson_options|^[\w.-]{0,40}(requirements?|constraints)[\w.-]{0,40})\.txt$/, "doc"],
  [/\.stories\.\w+$/, "example"],
  [/\.(po|pot|mo|xlf|xliff|arb)$|^(messages|strings|resources?)_[a-z]{2}(_[a-z]{2})?\.\w+$/, "translation"],
  // Cargo.lock, package-lock.json, packages.lock.json, gradle.lockfile, .terraform.lock.hcl, go.sum
  [/\.lock(file|b)?$|[.-]lock\.(json|ya?ml|hcl)$/, "lock"],
  [/^(go(\.work)?\.sum|npm-shrinkwrap\.json|package\.resolved|cabal\.project\.freeze)$/, "lock"],
  [/[._-]min\.\w+$|\.bundle\.(js|css)$|\.pack(ed)?\.js$/, "minified"],
  // x.gen.ts, x_generated.go, zz_generated.x.go, x.pb.go, x_pb2.py, x_pb.d.ts, x.g.dart, x.freezed.dart, x.Designer.cs
  [/[._-](gen|generated|autogen)\.\w+$|^zz_generated|_pb2?(_grpc)?\.(py|pyi|js|ts|rb|d\.ts)$/, "generated"],
  [/\.(pb|pb\.gw|g|g\.i|gr|freezed|designer)\.\w+$|\.(map|tlb|pbxproj|xcuserstate)$/, "generated"],
  [/\.(jinja2?|j2|tmpl|tpl|hbs|mustache|ejs|erb|twig|in)$/, "template"],
  [/^(mk|gen|generate)[_-]/, "generator"],
  [/^(bindata\.go|gradlew(\.bat)?|mvnw(\.cmd)?|configure|aclocal\.m4|config\.(guess|sub)|ltmain\.sh)$/, "generated"],
];

/** As written: `FooTest.java`, `FooSpec.scala`, `TestFoo.java`. */
const CASED_TEST = /[a-z0-9](Tests?|TestCase|Specs?)\.\w+$|^Test[A-Z]\w*\.(java|kt|cs|scala|groovy|swift|php)$/;

/** Texts by name: without an extension, or with one of a text; `license.ts` and `history.py` are source. */
const TEXTS: [RegExp, Role][] = [
  [/^(changes|change-?log|history|news|releases|release[_-]?notes|whats[_-]?new)([._-]|$)/, "changelog"],
  [/^(readme|authors|contributors|contributing|maintainers|governance|thanks|credits|citation)([._-]|$)/, "doc"],
  [/^(licen[cs]es?|copying|copyright|notice|patents|security|support|code[_-]of[_-]conduct)([._-]|$)/, "doc"],
  [/^(install|todo|faq|upgrading|migrating|migration)([._-]|$)/, "doc"],
];
const TEXT_LANGUAGES = new Set(["text", "markdown", "rst", "asciidoc", "org"]);

/** Folders of messages: data in them are translations, and code that is named after a language, as `locale/de.js`. */
const MESSAGES = new Set("locale locales i18n l10n intl lang langs translation translations".split(" "));
const MESSAGE_DATA = /\.(json5?|ya?ml|toml|properties|strings|stringsdict|resx|xml|ini|csv|txt|html?|ftl)$/;
const LANGUAGE_TAG = /^[a-z]{2,3}([_-][a-z]{4})?([_-]([a-z]{2}|\d{3}))?$/;

/** The roles of a `/`-separated path relative to the root: none for source and configuration, several for others. */
export function rolesOf(path: string): ReadonlySet<Role> {
  const roles = new Set<Role>();
  const folders = path.split("/");
  const name = folders.pop()!;
  let ofMessages = false;
  for (const [depth, folder] of folders.entries()) {
    const lower = folder.toLowerCase();
    const found = FOLDERS.get(lower) ?? (depth === 0 ? ROOT_FOLDERS.get(lower) : undefined);
    for (const role of found ?? []) roles.add(role);
    for (const [pattern, role] of FOLDER_WORDS) if (pattern.test(folder)) roles.add(role);
    ofMessages ||= MESSAGES.has(lower);
  }
  const lower = name.toLowerCase();
  for (const [pattern, role] of FILES) if (pattern.test(lower)) roles.add(role);
  if (CASED_TEST.test(name)) roles.add("test");
  if (TEXT_LANGUAGES.has(languageOf(name)))
    for (const [pattern, role] of TEXTS) if (pattern.test(lower)) roles.add(role);
  if (ofMessages && (MESSAGE_DATA.test(lower) || LANGUAGE_TAG.test(lower.replace(/\..*/, ""))))
    roles.add("translation");
  return roles;
}

/** The roles of each word of a table. */
export function byWord(roles: Partial<Record<Role, string>>): ReadonlyMap<string, readonly Role[]> {
  const found = new Map<string, Role[]>();
  for (const [role, words] of Object.entries(roles) as [Role, string][])
    for (const word of words.split(" ")) found.set(word, [...(found.get(word) ?? []), role]);
  return found;
}

/** Roles by path, over the conventions of many languages. */
import { expect, test } from "bun:test";
import { rolesAsked, seeksTests } from "../../../src/repo/rank/question.ts";
import { type Role, rolesOf } from "../../../src/repo/rank/roles.ts";

const PATHS: Record<Role | "source" | "test doc", string> = {
  source: `
    lib/foo.rb pkg/testing.go src/main/java/a/Latest.java src/contest.py src/attest.c src/latest/x.ts src/license.ts
    src/readme.py src/history.vue src/spec.ts src/i18n/index.ts src/lang/parser.ts app/locale/Locale.swift
    src/fixtures.py src/man/x.c core/deps/x.c app/[id]/page.tsx Makefile CMakeLists.txt requirements-dev.txt
    package.json Dockerfile .github/workflows/ci.yml lib/changes.rb src/docs.rs lib/sample.go Demo.java
    src/distance/a.c api/openapi-spec.json src/map.ts cmd/gen.go index.html style.css crates/a/src/lib.rs`,
  test: `
    tests/a.c test/a.js spec/models/user_spec.rb src/__tests__/a.tsx t/00-basic.t pkg/x_test.go src/a.test.ts
    src/a.spec.mts a-test.js base/strings_unittest.cc src/test/java/a/FooTest.java app/FooTests.cs FooSpec.scala
    src/TestRunner.java Foo.Tests/Bar.cs CoreTests/A.swift Tests/LibTests/A.swift integration-tests/a.py test_a.py
    pkg/conftest.py app/tests.py tests.rs x.cy.ts a.feature src/__snapshots__/a.snap testdata/in.json
    android/src/androidTest/A.kt mock_store.go e2e/login.ts UserServiceTestCase.php`,
  doc: `
    README README.md README.zh-CN.md docs/a.html doc/conf.py LICENSE LICENSE-APACHE COPYING AUTHORS.txt guide/x.js
    notes.txt man/man1/a.1 a.adoc src/module/notes.org NOTICE CODE_OF_CONDUCT.md rfcs/0001.json api-docs/x.js`,
  changelog: "CHANGELOG Changes NEWS changelog.d/1.feature .changeset/a.json newsfragments/12.bugfix",
  example:
    "examples/a.go demo/main.c samples/x.cs playground/a/index.ts Button.stories.tsx tutorials/1.py sdk-samples/a.kt",
  translation: `
    locale/de.js src/locales/pt-BR.json po/de.po config/locales/en.yml app/res/values-de/strings.xml lang/de.php
    de.lproj/Main.strings i18n/messages_fr.properties l10n/app_de.arb`,
  lock: `
    package-lock.json Cargo.lock yarn.lock go.sum poetry.lock packages.lock.json gradle.lockfile pnpm-lock.yaml
    Package.resolved .terraform.lock.hcl npm-shrinkwrap.json bun.lockb`,
  vendored:
    "vendor/a/b.go third_party/x.c node_modules/a/i.js Godeps/x.go extern/lua.c deps/uv.c Pods/a.m 3rdparty/x.h",
  minified: "jquery.min.js assets/site-min.css app.bundle.js js/minified/a.js",
  generated: `
    x.pb.go a_pb2.py a_pb2_grpc.py a_pb.d.ts model.g.dart user.freezed.dart Form.Designer.cs schema.gen.ts
    a_generated.go zz_generated.deepcopy.go src/__generated__/a.ts dist/a.js a.js.map gradlew configure`,
  template: `
    src/templates/page.html app/skeleton/a.py packages/create-x/template-react/index.html config.h.in page.jinja
    web/form.html.erb`,
  generator: "scripts/release.ts tools/gen.py src/mk-table.pl lib/codegen/x.go gen_tables.py",
  "test doc": "tests/README.md test/roots/index.rst spec/fixtures/readme.txt",
};

for (const [expected, paths] of Object.entries(PATHS)) {
  test(`paths of role ${expected}`, () => {
    const roles = expected === "source" ? [] : expected.split(" ");
    const found = paths
      .trim()
      .split(/\s+/)
      .map((path) => `${path}: ${[...rolesOf(path)].sort().join(" ")}`);
    expect(found).toEqual(
      paths
        .trim()
        .split(/\s+/)
        .map((path) => `${path}: ${roles.sort().join(" ")}`),
    );
  });
}

test.each([
  ["tests for the parser", "test"],
  ["How is retry tested?", "test"],
  ["why does TestClient fail", "test"],
  ["why does test_parse_header fail", "test"],
  ["why does ParserTest fail", "test"],
  ["what do the docs say about caching", "doc"],
  ["README", "doc"],
  ["an example of a plugin", "example"],
  ["src/a.spec.ts", "test"],
  ["what changed in CHANGELOG.md", "changelog doc"],
  ["update package-lock.json", "lock"],
  ["German translations of the menu", "translation"],
  ["where is document_locales defined", ""],
  ["latest contest attestation", ""],
  ["the doctype of pages", ""],
  ["which templates are there", "template"],
  ["the script that releases", "generator"],
])("%p asks for files of role %p", (question, roles) => {
  expect([...rolesAsked(question)].sort().join(" ")).toBe(roles);
});

test.each([
  ["tests for the json reader", true],
  ["Where are the unit tests of backoff?", true],
  ["specs that cover retry", true],
  ["add tests for the json reader", false],
  ["the reader is tested for speed", false],
  ["latest for all", false],
  ["where is the test runner", false],
])("%s: tests are sought %p", (question, isSought) => {
  expect(seeksTests(question)).toBe(isSought);
});

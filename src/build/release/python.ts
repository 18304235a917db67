/**
 * The Python client as a wheel (PEP 427) and as an sdist. It has no C and needs nothing but Python, so that one wheel fits
 * every machine. The sdist names setuptools as its backend, which every distribution that builds from source has.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { PROJECT_URL, PYPI_PACKAGE } from "../../published.ts";
import { BuildError } from "../step.ts";
import { type ArchiveFile, gzipped, tarOf, zipOf } from "./archives.ts";
import type { Project } from "./project.ts";

/** The oldest Python that the client runs on. */
const PYTHON_MIN = "3.8";
/** The folder that `import svc` imports. */
const MODULE = "svc";

/** A file of a release: its name and its bytes. */
type Packed = [name: string, bytes: Uint8Array];

/**
 * A version as Python writes it (PEP 440): `1.2.3-rc.1` is `1.2.3rc1`.
 * @throws BuildError for one that Python cannot have
 */
export function pythonVersion(version: string): string {
  const found = /^([\d.]+)(?:-(alpha|beta|rc)\.?(\d+))?$/.exec(version);
  if (!found) throw new BuildError(`--version ${version} is not one for Python: use 1.2.3 or 1.2.3-rc.1`);
  const [, numbers, kind, count] = found;
  return kind ? `${numbers}${kind.replace(/^(a|b).*/, "$1")}${count}` : numbers!;
}

/** Both packages of the client in a checkout. */
export function pythonPackages(root: string, facts: Project): Packed[] {
  const project = { ...facts, version: pythonVersion(facts.version) };
  const folder = join(root, "src/remote/python", MODULE);
  const sources = readdirSync(folder)
    .filter((name) => /\.(py|typed)$/.test(name))
    .sort()
    .map((name) => ({ name: `${MODULE}/${name}`, bytes: readFileSync(join(folder, name)) }));
  const stem = `${PYPI_PACKAGE.replaceAll("-", "_")}-${project.version}`;
  return [
    [`${stem}-py3-none-any.whl`, wheelOf(`${stem}.dist-info`, sources, project)],
    [`${stem}.tar.gz`, sdistOf(stem, sources, project)],
  ];
}

function wheelOf(info: string, sources: readonly ArchiveFile[], project: Project): Uint8Array {
  const files = [
    ...sources,
    text(`${info}/METADATA`, metadata(sources, project)),
    text(`${info}/WHEEL`, "Wheel-Version: 1.0\nGenerator: svc\nRoot-Is-Purelib: true\nTag: py3-none-any\n"),
    text(`${info}/licenses/LICENSE`, project.licenceText),
  ];
  const record = `${info}/RECORD`;
  const rows = files.map(({ name, bytes }) => {
    const hash = createHash("sha256").update(bytes).digest("base64url");
    return `${name},sha256=${hash},${bytes.length}\n`;
  });
  return zipOf([...files, text(record, `${rows.join("")}${record},,\n`)]);
}

function sdistOf(stem: string, sources: readonly ArchiveFile[], project: Project): Uint8Array {
  // No licence here: setuptools before 77 refuses its present form, and later ones the former. It finds the file.
  const pyproject = `[build-system]
requires = ["setuptools>=61"]
build-backend = "setuptools.build_meta"

[project]
name = "${PYPI_PACKAGE}"
version = "${project.version}"
description = ${JSON.stringify(summary(sources))}
readme = "README.md"
requires-python = ">=${PYTHON_MIN}"
urls = { Homepage = "${PROJECT_URL}" }

[tool.setuptools]
packages = ["${MODULE}"]
package-data = { ${MODULE} = ["py.typed"] }
`;
  const files = [
    text("PKG-INFO", metadata(sources, project)),
    text("pyproject.toml", pyproject),
    text("README.md", docstring(sources)),
    text("LICENSE", project.licenceText),
    ...sources,
  ];
  return gzipped(tarOf(files.map((file) => ({ ...file, name: `${stem}/${file.name}` }))));
}

/** The core metadata, whose fields packaging.python.org describes. */
function metadata(sources: readonly ArchiveFile[], { version, license }: Project): string {
  return `Metadata-Version: 2.4
Name: ${PYPI_PACKAGE}
Version: ${version}
Summary: ${summary(sources)}
Project-URL: Homepage, ${PROJECT_URL}
License-Expression: ${license}
License-File: LICENSE
Requires-Python: >=${PYTHON_MIN}
Description-Content-Type: text/markdown

${docstring(sources)}`;
}

/** What the client says about itself: the text at the beginning of the module, which is good Markdown. */
function docstring(sources: readonly ArchiveFile[]): string {
  const init = sources.find(({ name }) => name === `${MODULE}/__init__.py`);
  const found = init && /^"""(.+?)"""/s.exec(Buffer.from(init.bytes).toString());
  if (!found) throw new TypeError("the Python client does not begin with a text about itself");
  return found[1]!;
}

function summary(sources: readonly ArchiveFile[]): string {
  return docstring(sources).split("\n")[0]!.replaceAll("`", "");
}

function text(name: string, content: string): ArchiveFile {
  return { name, bytes: Buffer.from(content) };
}

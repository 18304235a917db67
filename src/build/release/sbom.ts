/**
 * The bill of materials of a release in CycloneDX 1.6: what its executables contain, with versions, licences and hashes.
 * Everything comes from the build, nothing from the clock or the network, so that the same release gives the same bytes.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Enums, Models, Serialize, SPDX, Spec } from "@cyclonedx/cyclonedx-library";
import type { PlatformTag } from "../../paths.ts";
import type { PlatformFiles, ReleaseFile } from "../../trust/release/manifest.ts";
import { type Artifact, type RuntimeManifest, sha256 } from "../../trust/runtime/bundle-manifest.ts";
import { MODEL_PACKAGE } from "../meaning/model.ts";
import { bunParts } from "../notices.ts";
import { zigFolder } from "../zig.ts";

const { Application, File, Library, MachineLearningModel, Platform } = Enums.ComponentType;

/** What the bill is made of. */
export interface SbomFacts {
  /** The checkout. */
  root: string;
  version: string;
  /** UTC, ISO 8601. */
  created: string;
  /** The files of each platform. */
  files: Partial<Record<PlatformTag, PlatformFiles>>;
  /** The manifest of the native runtime that each executable contains. */
  runtimes: readonly RuntimeManifest[];
  /** Folders of the npm packages in the executables, relative to the checkout. */
  packages: readonly string[];
}

/** The bill as JSON. */
export function sbomOf(facts: SbomFacts): string {
  const { root, version, created, files, runtimes, packages } = facts;
  const parts = [
    ...Object.values(files).map(({ executable }) => executableOf(executable, version)),
    bun(),
    ...packages.map((folder) => npmPackage(join(root, folder))),
    ...runtimes.flatMap(libraries),
    ...models(root, runtimes),
    ...compilerParts(runtimes),
  ];
  const svc = component(Application, "svc", { version, bomRef: "svc", licence: "Apache-2.0" });
  for (const { bomRef } of parts) svc.dependencies.add(bomRef);
  const bom = new Models.Bom({
    metadata: new Models.Metadata({ timestamp: new Date(created), component: svc }),
    components: new Models.ComponentRepository(parts),
  });
  const normalizers = new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6);
  const text = () => `${new Serialize.JsonSerializer(normalizers).serialize(bom, { sortLists: true, space: 2 })}\n`;
  bom.serialNumber = serialOf(text());
  return text();
}

/** A serial number that depends on the bill alone: a UUID of version 8 (RFC 9562 section 5.8) from its hash. */
function serialOf(text: string): string {
  const hex = sha256(new TextEncoder().encode(text));
  const variant = "89ab"[Number.parseInt(hex[16]!, 16) & 3];
  const groups = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, variant + hex.slice(17, 20)];
  return `urn:uuid:${groups.join("-")}-${hex.slice(20, 32)}`;
}

interface Details {
  /** The same bill has to have the same references, so that each one is given. */
  bomRef: string;
  version?: string | undefined;
  licence?: string;
  purl?: string;
  sha256?: string;
  address?: string;
}

function component(type: Enums.ComponentType, name: string, details: Details): Models.Component {
  const { bomRef, version, licence, purl, sha256, address } = details;
  const made = new Models.Component(type, name, { bomRef, version, purl });
  if (licence !== undefined) made.licenses.add(licenceOf(licence));
  if (sha256 !== undefined) made.hashes.set(Enums.HashAlgorithm["SHA-256"], sha256);
  if (address !== undefined)
    made.externalReferences.add(new Models.ExternalReference(address, Enums.ExternalReferenceType.Website));
  return made;
}

/** An SPDX id or expression, or a licence in words, as lists of parts have them. */
function licenceOf(text: string): Models.License {
  if (SPDX.isSupportedSpdxId(text)) return new Models.SpdxLicense(text);
  return / (OR|AND|WITH) /.test(text) ? new Models.LicenseExpression(text) : new Models.NamedLicense(text);
}

function executableOf({ name, sha256 }: ReleaseFile, version: string): Models.Component {
  return component(File, name, { bomRef: name, version, sha256, licence: "Apache-2.0" });
}

/** Bun, with its parts inside. */
function bun(): Models.Component {
  const { version } = Bun;
  const made = component(Platform, "bun", {
    bomRef: `bun@${version}`,
    version,
    licence: "MIT",
    purl: `pkg:npm/bun@${version}`,
  });
  for (const [name, key, licence, address] of bunParts()) {
    const details = { bomRef: `bun@${version}/${name}`, version: process.versions[key], licence, address };
    const part = component(Library, name, details);
    made.components.add(part);
    made.dependencies.add(part.bomRef);
  }
  return made;
}

function npmPackage(folder: string, type = Library, name?: string): Models.Component {
  const found = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const purl = `pkg:npm/${found.name.replace("@", "%40")}@${found.version}`;
  return component(type, name ?? found.name, { bomRef: purl, version: found.version, licence: found.license, purl });
}

/** The libraries in C of one platform. */
function libraries({ version, platform, artifacts }: RuntimeManifest): Models.Component[] {
  return artifacts
    .filter(({ role }) => role === "kernel" || role === "runtime")
    .map(({ name, sha256 }) =>
      component(Library, name, { bomRef: `${platform}/${name}`, version, sha256, licence: "Apache-2.0" }),
    );
}

/** The weights of the sentence encoder, which are the same on every platform; none in a build without them. */
function models(root: string, runtimes: readonly RuntimeManifest[]): Models.Component[] {
  const all = runtimes.flatMap(({ artifacts }) => artifacts).filter(({ role }) => role === "model");
  const each = new Map<string, Artifact>(all.map((artifact) => [artifact.sha256, artifact]));
  return [...each.values()].map(({ name, sha256 }) => {
    const made = npmPackage(join(root, "node_modules", MODEL_PACKAGE), MachineLearningModel, name);
    made.hashes.set(Enums.HashAlgorithm["SHA-256"], sha256);
    return made;
  });
}

/** What the compiler adds to the libraries for Linux. */
function compilerParts(runtimes: readonly RuntimeManifest[]): Models.Component[] {
  if (!runtimes.some(({ platform }) => platform.startsWith("linux-"))) return [];
  const { version } = JSON.parse(readFileSync(join(zigFolder(), "package.json"), "utf8"));
  return [
    component(Library, "compiler-rt of Zig", { bomRef: `zig@${version}/compiler-rt`, version, licence: "MIT" }),
    component(Library, "start files of the GNU C Library", {
      bomRef: `zig@${version}/glibc`,
      licence: "LGPL-2.1 with an exception for linking",
    }),
  ];
}

/** What the packages of a release say about the project. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

export interface Project {
  version: string;
  description: string;
  /** The licence's SPDX id. */
  license: string;
  /** The licence's text. */
  licenceText: string;
}

/** Facts of the checkout. @param version the version of the release */
export function projectOf(root: string, version: string): Project {
  const { description, license } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return { version, description, license, licenceText: readFileSync(join(root, "LICENSE"), "utf8") };
}

/** All files that belong to a root, as a walk with nothing but `Belonging` finds them. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { Belonging } from "../../../src/repo/files/belonging.ts";

/** Paths in string order. @param env empty: without a user's configuration */
export function listed(root: string, belonging = Belonging.open(root, {})): string[] {
  const paths: string[] = [];
  const visit = (directory: string) => {
    for (const entry of readdirSync(join(root, directory), { withFileTypes: true })) {
      const path = directory === "" ? entry.name : `${directory}/${entry.name}`;
      if (belonging.judge(path, entry.isDirectory()) !== "in") continue;
      if (entry.isDirectory()) visit(path);
      else paths.push(path);
    }
  };
  visit("");
  return paths.sort();
}

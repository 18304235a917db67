/** All files that belong to a root, as a walk with nothing but `Membership` finds them. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { Membership } from "../../../src/repo/files/membership.ts";

/** Paths in string order. @param env empty: without a user's configuration */
export function listed(root: string, membership = Membership.open(root, {})): string[] {
  const paths: string[] = [];
  const visit = (directory: string) => {
    for (const entry of readdirSync(join(root, directory), { withFileTypes: true })) {
      const path = directory === "" ? entry.name : `${directory}/${entry.name}`;
      if (membership.judge(path, entry.isDirectory()) !== "in") continue;
      if (entry.isDirectory()) visit(path);
      else paths.push(path);
    }
  };
  visit("");
  return paths.sort();
}

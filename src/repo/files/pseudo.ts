/**
 * Pseudo file systems. Their files are processes, devices and switches: millions of entries, some endless, some with
 * side effects when read. No root may lie on one and no walk enters one.
 */
import { lstatSync, statfsSync } from "node:fs";

/** By the magic number of `statfs` on Linux (`linux/magic.h`). */
const PSEUDO: ReadonlyMap<number, string> = new Map([
  [0x9fa0, "proc"],
  [0x62656572, "sysfs"],
  [0x27e0eb, "cgroup"],
  [0x63677270, "cgroup2"],
  [0x1cd1, "devpts"],
  [0x64626720, "debugfs"],
  [0x74726163, "tracefs"],
  [0x73636673, "securityfs"],
  [0xcafe4a11, "bpf"],
  [0x6165676c, "pstore"],
  [0x62656570, "configfs"],
  [0x19800202, "mqueue"],
  [0x958458f6, "hugetlbfs"],
  [0xde5e81e4, "efivarfs"],
  [0x6e736673, "nsfs"],
  [0x42494e4d, "binfmt_misc"],
  [0x65735543, "fusectl"],
  [0x0187, "autofs"],
  [0x67596969, "rpc_pipefs"],
  [0xf97cff8c, "selinuxfs"],
  [0x43415d53, "smackfs"],
  [0x7655821, "resctrl"],
  [0x6c6f6f70, "binder"],
]);

/** Name of the pseudo file system that a directory lies on; undefined for none, and on other systems than Linux. */
export function pseudoFileSystem(directory: string): string | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    // The larger numbers are signed on some machines.
    return PSEUDO.get(statfsSync(directory).type >>> 0) ?? (isDevices(directory) ? "devtmpfs" : undefined);
  } catch {
    return undefined;
  }
}

/** `/dev` has the magic number of a tmpfs, which may hold files, so it is recognised by its mount point. */
function isDevices(directory: string): boolean {
  if (directory === "/dev") return true;
  const devices = lstatSync("/dev").dev;
  return devices !== lstatSync("/").dev && lstatSync(directory).dev === devices;
}

/** Downloads from the server of a test into a folder, as a process that the test may kill: `URL FOLDER`. */

import { RuntimeError } from "../../../src/errors.ts";
import { download } from "../../../src/trust/account/download/download.ts";

const [base, folder] = process.argv.slice(2) as [string, string];
process.stdout.write("started\n");
const refused = () => new RuntimeError("missing");
(await download({ base, path: "/x", peer: "it", folder, name: "abc", bytesMax: 2_000_000, refused })).close();

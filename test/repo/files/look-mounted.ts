/** Prints the files of the root in its argument, for a test that looks at them in another mount namespace. */
import { lookAt } from "./look.ts";

const { paths } = await lookAt(process.argv[2]!);
process.stdout.write(JSON.stringify(paths));

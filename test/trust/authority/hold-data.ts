/** Holds a data folder, as a server does, until it is killed. */
import { holdData } from "../../../src/trust/authority/organisation/data.ts";

holdData(process.argv[2]!);
console.log("held");
setInterval(() => {}, 1000);

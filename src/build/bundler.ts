/**
 * Runs Bun's bundler in a process of its own, whose working directory is the checkout: `bun bundler.ts OPTIONS METAFILE`,
 * with the options of `Bun.build` as JSON.
 *
 * A bundler keeps unused code if running it may have an effect. The MCP SDK makes all 150 schemas of the protocol when it is
 * loaded, of which `svc mcp` uses a quarter; making the others takes a third of the time that a client waits for the start.
 * Making a schema has no effect, so each is marked as free of effects here, and the bundler leaves out the unused ones.
 */
import { lateLoaders, lateModules } from "./late.ts";
import { BuildError } from "./step.ts";

const SCHEMAS = /[\\/]@modelcontextprotocol[\\/]sdk[\\/]dist[\\/]esm[\\/]types\.js$/;
/** The definition of a schema, up to the next statement or comment at the beginning of a line. */
const CONSTANT = /^((?:export )?const \w+Schema\w* = )((?:.|\n)*?);\n(?=export |const |function |class |\/[*/])/gm;

/**
 * The SDK's module of schemas, in which each is made by a function that is marked as free of effects.
 * @throws BuildError if no schema is found: another version of the SDK may write them differently
 */
export function withPureSchemas(source: string): string {
  let found = 0;
  const pure = source.replace(CONSTANT, (_, head: string, value: string) => {
    found++;
    return `${head}/* @__PURE__ */ (() => ${value})();\n`;
  });
  if (found === 0)
    throw new BuildError("no schema is found in the MCP SDK: adjust CONSTANT in src/build/bundler.ts to this version");
  return pure;
}

async function main([text, metafile]: string[]): Promise<void> {
  const options = JSON.parse(text!) as Bun.BuildConfig;
  const late = lateModules(process.cwd(), options.entrypoints);
  const { metafile: made } = await Bun.build({
    ...options,
    metafile: true,
    plugins: [
      lateLoaders(late),
      {
        name: "schemas",
        setup(build) {
          build.onLoad({ filter: SCHEMAS }, async ({ path }) => {
            return { contents: withPureSchemas(await Bun.file(path).text()), loader: "js" };
          });
        },
      },
    ],
  });
  await Bun.write(metafile!, JSON.stringify(made));
}

if (import.meta.main) await main(process.argv.slice(2));

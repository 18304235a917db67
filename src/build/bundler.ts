/**
 * Bun's bundler in a process of its own, whose working directory is the checkout: `bun bundler.ts OPTIONS METAFILE`, with
 * the options of `Bun.build` as JSON.
 *
 * A bundler keeps what may have an effect. The SDK of MCP makes all 150 schemas of the protocol when it is loaded, and
 * `svc mcp` uses a quarter of them: the others were a third of what a client waits for at its start. A schema has no
 * effect. Each is marked so here, and those that nothing uses are left out.
 */
import { BuildError } from "./step.ts";

const SCHEMAS = /[\\/]@modelcontextprotocol[\\/]sdk[\\/]dist[\\/]esm[\\/]types\.js$/;
/** A constant of the module, up to the next statement or comment at the beginning of a line. */
const CONSTANT = /^((?:export )?const \w+Schema\w* = )((?:.|\n)*?);\n(?=export |const |function |class |\/[*/])/gm;

/**
 * The SDK's module of schemas, with each in a function that has no effect.
 * @throws BuildError where it has none, as another version may be written otherwise
 */
export function withPureSchemas(source: string): string {
  let found = 0;
  const pure = source.replace(CONSTANT, (_, head: string, value: string) => {
    found++;
    return `${head}/* @__PURE__ */ (() => ${value})();\n`;
  });
  if (found === 0) throw new BuildError("the SDK of MCP has no schemas where src/build/bundler.ts expects them");
  return pure;
}

async function main([options, metafile]: string[]): Promise<void> {
  const { metafile: made } = await Bun.build({
    ...(JSON.parse(options!) as Bun.BuildConfig),
    metafile: true,
    plugins: [
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

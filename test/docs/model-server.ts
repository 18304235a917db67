/**
 * A server with an OpenAI-compatible `/v1/embeddings`, for the page that shows how to use one. Its model knows which words
 * are about the same thing, and nothing else.
 */
const SENSES: readonly (readonly string[])[] = [
  ["train", "railway", "rail", "locomotive"],
  ["tea", "infusion", "beverage"],
  ["deploy", "rollout", "ship"],
];

function embed(text: string): number[] {
  const words = text.toLowerCase().match(/[a-z]+/g) ?? [];
  const counts = SENSES.map((sense) => words.filter((word) => sense.includes(word)).length);
  return [...counts, 0.01];
}

/** Listens on a free port of loopback. */
export function startModelServer() {
  return Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    routes: {
      "/v1/embeddings": {
        async POST(request) {
          const { input, model } = (await request.json()) as { input: string[]; model: string };
          const data = input.map((text, index) => ({ object: "embedding", index, embedding: embed(text) }));
          return Response.json({ object: "list", model, data });
        },
      },
    },
    fetch: () => new Response("not found", { status: 404 }),
  });
}

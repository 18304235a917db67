/** The order of paths. */
import { expect, test } from "bun:test";
import { bytewise } from "../../../src/repo/rank/order.ts";
import { random } from "../../random.ts";

test("it is that of their bytes in UTF-8", () => {
  const next = random(7);
  const characters = ["a", "B", "/", "-", "\x7f", "é", "中", "\ud7ff", "\ue000", "\uffff", "\u{10000}", "\u{10ffff}"];
  const text = () =>
    Array.from({ length: Math.floor(next() * 5) }, () => characters[Math.floor(next() * characters.length)]).join("");
  for (let i = 0; i < 20_000; i++) {
    const [a, b] = [text(), text()];
    const order = Math.sign(bytewise(a, b));
    if (order !== Buffer.compare(Buffer.from(a), Buffer.from(b)))
      expect(JSON.stringify([a, b, order])).toBe("in order");
  }
});

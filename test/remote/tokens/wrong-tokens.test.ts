/** How long the answer to a wrong token waits. */
import { expect, test } from "bun:test";
import { WrongTokens } from "../../../src/remote/tokens/wrong-tokens.ts";

test("the first ten are answered at once, the delay of later ones doubles up to a second", () => {
  const wrong = new WrongTokens();
  const delays = Array.from({ length: 20 }, (_, i) => wrong.miss("192.0.2.1", i).delayMs);
  expect(delays).toEqual([...Array(10).fill(0), 50, 100, 200, 400, 800, 1000, 1000, 1000, 1000, 1000]);
  for (let i = 0; i < 5000; i++) expect(wrong.miss("192.0.2.1", 30).delayMs).toBe(1000);
});

test("addresses are counted by themselves, networks of IPv6 together", () => {
  const wrong = new WrongTokens();
  for (let i = 0; i < 1000; i++) wrong.miss("192.0.2.1", 0);
  for (let i = 0; i < 1000; i++) wrong.miss(`2001:db8::${i}`, 0);
  expect(wrong.miss("192.0.2.2", 0)).toEqual({ delayMs: 0, count: 1, isLogged: true });
  expect(wrong.miss("::ffff:192.0.2.1", 0).count).toBe(1001);
  expect(wrong.miss("2001:db8::ffff", 0).count).toBe(1001);
  expect(wrong.miss("2001:db8:0:1::1", 0).count).toBe(1);
  expect(wrong.miss(undefined, 0).count).toBe(1);
});

test("an address that was quiet for a minute begins again", () => {
  const wrong = new WrongTokens();
  for (let i = 0; i < 100; i++) wrong.miss("192.0.2.1", 0);
  expect(wrong.miss("192.0.2.1", 59_999).count).toBe(101);
  expect(wrong.miss("192.0.2.1", 120_000).count).toBe(1);
});

test("a flood is a few lines in the log, and little memory", () => {
  const wrong = new WrongTokens();
  const logged = Array.from({ length: 100_000 }, () => wrong.miss("192.0.2.1", 0)).filter(({ isLogged }) => isLogged);
  expect(logged.length).toBeLessThan(30);
  for (let i = 0; i < 50_000; i++) wrong.miss(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`, 0);
  expect((wrong as unknown as { byAddress: Map<string, unknown> }).byAddress.size).toBe(10_000);
});

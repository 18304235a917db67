import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { ERROR_REASONS, errorCode, errorLine, KeyError, OSError, ValueError } from "../src/errors.ts";

test("one of our failures is sent as its type and sentence", () => {
  expect(errorLine(new ValueError("top_k is 0"))).toBe("ValueError: top_k is 0");
  expect(Object.keys(ERROR_REASONS)).toContain(new KeyError("x").type);
});

test("a failure of the system keeps its code and loses the path", () => {
  let caught: unknown;
  try {
    readFileSync("/no/such/secret/place");
  } catch (error) {
    caught = error;
  }
  expect(errorLine(caught)).toBe("OSError: the system refused open (ENOENT)");
});

test("anything else is a bug of ours, without its stack", () => {
  expect(errorLine(new TypeError("x is undefined"))).toBe("RuntimeError: internal error: x is undefined");
  expect(errorLine("thrown")).toBe("RuntimeError: internal error: thrown");
});

test("a code is the type and the reason", () => {
  const error = new OSError("the disk is full", "disk_full");
  expect([error.code, errorCode(error), error.name] as string[]).toEqual([
    "OSError.disk_full",
    "OSError.disk_full",
    "OSError",
  ]);
  expect(new KeyError("x").code).toBe("KeyError.id_exists");
  expect(errorCode(new KeyError("x"))).toBeUndefined();
});

import assert from "node:assert/strict";
import test from "node:test";

import { isOrder } from "./order.js";

test("an order has each place once", () => {
  assert.deepEqual(
    [[1, 0, 2], [0, 1], [0, 1, 1], [0, 1, 3], "012", null].map((value) => isOrder(value, 3)),
    [true, false, false, false, false, false],
  );
});

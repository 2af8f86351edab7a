// What a tool can tell of who is able to use the pages (names and roles for screen readers, contrast,
// headings, landmarks) in states that the tests of widths do not bring them to.

import { test } from "node:test";
import { isAccessible, open, writePage } from "./support.mjs";

const PAGES = [
  ["kernels", ["report", "testdata/dumps/kernel_over_vmem"]],
  ["several modules", ["report", "testdata/dumps/two_modules"]],
  ["a program without a schedule", ["report", "testdata/dumps/no_sharding_given"]],
  ["several modules changed", ["diff", "testdata/dumps/two_modules", "testdata/dumps/baseline_known"]],
];

for (const [name, command] of PAGES) {
  for (const [width, colorScheme] of [[1280, "light"], [1280, "dark"], [390, "light"]]) {
    test(`${name}: ${width} pixels, ${colorScheme}`, async (t) => {
      await isAccessible(await open(t, writePage(name, ...command), { width, colorScheme }));
    });
  }
}

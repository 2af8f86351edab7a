// What the tests of all pages need: a browser, pages to open, what must hold at any width.
// HLOLINT names the binary, CHROMIUM the browser; SCREENSHOTS a folder that gets pictures.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

export const root = fileURLToPath(new URL("../..", import.meta.url));
export const hlolint = process.env.HLOLINT || path.join(root, "target/debug/hlolint");
export const folder = fs.mkdtempSync(path.join(os.tmpdir(), "hlolint-browser-"));
let browser;

before(async () => {
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox"] });
});

after(async () => {
  await browser?.close();
  fs.rmSync(folder, { recursive: true });
});

/** The page of a command, in a file. */
export function writePage(name, ...command) {
  const file = path.join(folder, `${name}.html`);
  execFileSync(hlolint, [...command, "--format", "html", "--output", file], { cwd: root });
  return file;
}

/** Opens a page; whatever it complains of fails the test at its end. */
export async function open(t, file, { width = 1280, height = 900, colorScheme = "light" } = {}) {
  const page = await browser.newPage({ viewport: { width, height }, colorScheme });
  const complaints = [];
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) complaints.push(message.text()); });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => { if (!/^(file|data|blob):/.test(request.url())) complaints.push(request.url()); });
  t.after(async () => {
    await page.close();
    assert.deepEqual(complaints, []);
  });
  await page.goto(`file://${file}`);
  await page.waitForSelector("main");
  return page;
}

/** Pictures are compared by their bytes: the same state draws the same. */
export const picture = (page, selector) => page.$eval(selector, (canvas) => canvas.toDataURL());
export const firstRow = (page) => page.textContent("#row-0");

/** A large page is there in less than three seconds; only the rows in sight are in it. */
export async function loadsFastAndScrolls(t, file) {
  const start = Date.now();
  const page = await open(t, file);
  await page.waitForSelector("#row-0");
  const elapsed = Date.now() - start;
  assert.ok(elapsed < 3000, `${elapsed} ms`);
  t.diagnostic(`loaded in ${elapsed} ms, ${fs.statSync(file).size} bytes`);
  await page.$eval("#rows", (rows) => { rows.scrollTop = rows.scrollHeight; });
  await page.waitForFunction(() => !document.getElementById("row-0"));
  assert.ok((await page.locator(".row").count()) < 60);
  const sheets = (await page.pdf()).toString("latin1").match(/\/Type\s*\/Page\b/g).length;
  assert.ok(sheets < 20, `${sheets} sheets of paper`);
}

const axe = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** What WCAG 2.2 (A, AA) and good practice ask of a page, as far as a tool can see it. */
export async function isAccessible(page) {
  await page.evaluate(axe);
  const { violations, passes } = await page.evaluate((values) => window.axe.run(document, { runOnly: { type: "tag", values } }), TAGS);
  const places = (nodes) => nodes.slice(0, 3).map((node) => `${node.target} ${node.failureSummary}`).join("; ");
  assert.deepEqual(violations.map(({ id, help, nodes }) => `${id}: ${help}: ${places(nodes)}`), []);
  assert.ok(passes.length > 15, `only ${passes.length} checks ran`);
}

/** Nothing is wider than the window, at two widths, light and dark; `act` brings the page to a state. A
 * telephone's picture begins at `top`. */
export function fits(name, write, act, top = "body") {
  for (const width of [1280, 390]) {
    for (const colorScheme of ["light", "dark"]) {
      test(`fits ${width} pixels, ${colorScheme}`, async (t) => {
        const page = await open(t, write(), { width, height: 900, colorScheme });
        await act(page);
        // WCAG 1.4.10 asks for no more than 320.
        for (const room of width < 400 ? [320, 200, width] : [width]) {
          await page.setViewportSize({ width: room, height: 900 });
          const wide = await page.evaluate(() => document.documentElement.scrollWidth);
          assert.ok(wide <= room, `${wide} pixels wide, of ${room}`);
        }
        await isAccessible(page);
        if (process.env.SCREENSHOTS) {
          await page.$eval(width > 400 ? "body" : top, (element) => element.scrollIntoView());
          await page.screenshot({ path: path.join(process.env.SCREENSHOTS, `${name}-${width}-${colorScheme}.png`), fullPage: width > 400 });
        }
        const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
        const first = await ground();
        await page.click("#theme");
        assert.notEqual(await ground(), first);
      });
    }
  }
}

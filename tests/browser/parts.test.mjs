// The parts of a module's page besides its curve, map and table: kernels, other memory spaces, the way
// out; and the page of many modules.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { folder, hlolint, open, picture, root, writePage } from "./support.mjs";

const write = (name, ...paths) => writePage(name, "report", ...paths);
const size = (bytes) => `${(bytes / 2 ** 20).toFixed(2)} MiB`;

test("kernels: what they need, of what, against which limit", async (t) => {
  const path = "testdata/dumps/kernel_over_vmem";
  const page = await open(t, write("kernels", path));
  const [kernel] = JSON.parse(execFileSync(hlolint, ["vmem", path, "--format", "json"], { cwd: root })).kernels;
  const said = await page.textContent("#kernels");
  assert.ok(said.includes(`${size(kernel.need_bytes)} of ${size(kernel.limit_bytes)}`), said);
  assert.match(said, /exceeds its limit \(E1001\)/);
  assert.match(await page.textContent("#errors"), /scoped-vmem/);
  assert.equal(await page.locator("#kernels tbody tr").count(), kernel.windows.length + kernel.scratch.length);
  const [{ from, to }] = kernel.suggestion.blocks;
  assert.ok(said.includes(`${from.join(" × ")} → ${to.join(" × ")}`), said);
  await page.click('.finding button:has-text("its windows")');
  assert.ok(await page.locator("#kernels").evaluate((kernels) => kernels.getBoundingClientRect().top < innerHeight));
});

test("another memory space has its own curve, table and map", async (t) => {
  const page = await open(t, write("scan_oom", "testdata/dumps/scan_oom"));
  const [curve, map, sum] = [await picture(page, "#curve"), await picture(page, "#map"), await page.textContent("#sum")];
  await page.selectOption("#space", { label: "VMEM" });
  assert.notEqual(await picture(page, "#curve"), curve);
  assert.notEqual(await picture(page, "#map"), map);
  assert.notEqual(await page.textContent("#sum"), sum);
  assert.match(await page.getAttribute("#curve", "aria-valuetext"), /[1-9]\S* (B|KiB|MiB) alive/);
  await page.selectOption("#space", { label: "HBM" });
  assert.deepEqual([await picture(page, "#curve"), await page.textContent("#sum")], [curve, sum]);
});

test("the way out: memory after its steps", async (t) => {
  const page = await open(t, write("scan_oom", "testdata/dumps/scan_oom"));
  const curve = await picture(page, "#curve");
  const button = page.locator(".way button");
  await button.click();
  assert.match(await page.textContent("#curve-said"), /What if: jax\.checkpoint.*42\.01 GiB → 6\.01 GiB/);
  assert.notEqual(await picture(page, "#curve"), curve);
  assert.equal(await button.getAttribute("aria-pressed"), "true");
  await page.locator(".finding", { hasText: "stacked-residuals" }).locator("button").first().click();
  assert.equal(await button.getAttribute("aria-pressed"), "false");
  await button.click();
  await button.click();
  assert.equal(await picture(page, "#curve"), curve);
});

test("a finding with several remedies: a curve each", async (t) => {
  const page = await open(t, write("replicated", "testdata/pairs/replicated-tensor/bad"));
  const finding = page.locator(".finding", { hasText: "replicated-tensor" });
  const buttons = finding.locator("button");
  const count = await buttons.count();
  assert.ok(count > 1, `${count} curves`);
  const seen = new Set([await picture(page, "#curve")]);
  for (let at = 0; at < count; at += 1) {
    await buttons.nth(at).click();
    assert.equal(await finding.locator('button[aria-pressed="true"]').count(), 1);
    seen.add(await page.textContent("#curve-said"));
    seen.add(await picture(page, "#curve"));
  }
  assert.equal(seen.size, 1 + 2 * count);
  await buttons.nth(count - 1).click();
  assert.ok(seen.has(await picture(page, "#curve")));
  assert.equal(await finding.locator('button[aria-pressed="true"]').count(), 0);
});

test("many modules: sorted by another column, filtered by name", async (t) => {
  const names = ["scan_oom", "mlp_donated", "attention_oom", "two_modules", "kernel_fits", "embedding_v6e", "gru_v4", "experts_7x"];
  const page = await open(t, write("many", ...names.map((name) => `testdata/dumps/${name}`)));
  const first = () => page.textContent("tbody tr:visible >> nth=0");
  assert.match(await first(), /DOES NOT FIT/);
  const modules = await page.$$eval("tbody tr td:first-child a", (links) => links.map((link) => link.textContent));
  await page.click('th button:has-text("module")');
  assert.ok((await first()).startsWith(modules.slice().sort()[0]));
  await page.click('th button:has-text("needs")');
  assert.match(await first(), /scan_oom/);
  await page.fill("#filter", "gru_v4");
  assert.match(await first(), /gru_v4/);
  assert.equal(await page.locator("tbody tr:visible").count(), 1);
});

test("very many modules: the first of them, the others by filter", async (t) => {
  const many = path.join(folder, "many");
  fs.mkdirSync(many);
  for (let number = 0; number < 520; number += 1) {
    const array = `f32[${1024 + number}]`;
    fs.writeFileSync(path.join(many, `f${number}.txt`), `HloModule jit_f${number}, is_scheduled=true

ENTRY %main (x: ${array}) -> ${array} {
  %x = ${array}{0} parameter(0)
  ROOT %y = ${array}{0} negate(%x)
}
`);
  }
  const page = await open(t, write("very-many", many));
  assert.equal(await page.locator("tbody tr").count(), 500);
  assert.match(await page.textContent("main"), /The first 500 of 520/);
  assert.equal(await page.locator('a:text-is("jit_f3")').count(), 0);
  await page.fill("#filter", "jit_f3");
  assert.equal(await page.locator("tbody tr").count(), 111);
  await page.click('a:text-is("jit_f3")');
  assert.match(await page.textContent("#headline"), /8\.02 KiB/);
});

test("shardings in words", async (t) => {
  const page = await open(t, write("sharded", "testdata/dumps/sharded_state"));
  const said = await page.textContent("#parameters");
  assert.match(said, /dimension 0 over "data" \(4 parts\), dimension 1 over "model" \(2 parts\)/);
  assert.match(said, /batch\[0\].*dimension 0 over "data" \(4 parts\), replicated over "model" \(2\)/);
  const replicated = await open(t, write("replicated", "testdata/dumps/replicated_state"));
  assert.match(await replicated.textContent("#parameters"), /replicated on all \d+ devices/);
  const alone = await open(t, write("scan_oom", "testdata/dumps/scan_oom"));
  assert.doesNotMatch(await alone.textContent("#parameters"), /replicated/);
});

// The page in a real browser: what is on screen, and what changes when a reader asks for something.
// HLOLINT names the binary, CHROMIUM the browser; SCREENSHOTS a folder that gets pictures.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { firstRow, fits, folder, hlolint, loadsFastAndScrolls, open, picture, root, writePage } from "./support.mjs";

const write = (name, ...paths) => writePage(name, "report", ...paths);

test("a program that does not fit: its figures and its largest buffer are on screen", async (t) => {
  const page = await open(t, write("scan_oom", "testdata/dumps/scan_oom"));
  const json = JSON.parse(execFileSync(hlolint, ["report", "testdata/dumps/scan_oom", "--format", "json"], { cwd: root }));
  const module = json.modules[0];
  const gib = (bytes) => `${(bytes / 2 ** 30).toFixed(2)} GiB`;
  assert.match(await page.textContent("#headline"), /DOES NOT FIT\s*42\.01 GiB needed, 15\.75 GiB available/);
  assert.equal(await page.textContent("#peak"), gib(module.hbm.peak_live_bytes));
  const largest = module.buffers.filter((b) => b.memory_space === 0).sort((a, b) => b.bytes - a.bytes)[0];
  assert.ok((await firstRow(page)).includes(largest.instruction));
  assert.ok((await firstRow(page)).includes(gib(largest.bytes)));
  assert.match(await page.textContent(".finding"), /hbm-over-capacity/);
  const step = module.way_out.paths[0].steps[0];
  assert.ok((await page.textContent("ol.path li")).includes(step.action));
  assert.ok((await page.textContent("ol.path li")).includes(gib(step.required_bytes_after)));
  assert.doesNotMatch(await page.textContent("main"), /\[object|undefined|NaN|null/);
  assert.equal(await page.locator("#parameters tbody tr").count(), module.parameters.length);
});

test("sorting, filtering and grouping change the table", async (t) => {
  const page = await open(t, write("scan_oom", "testdata/dumps/scan_oom"));
  const bySize = await firstRow(page);
  await page.click('[data-key="order"] button');
  assert.notEqual(await firstRow(page), bySize);
  assert.equal(await page.getAttribute('[data-key="order"]', "aria-sort"), "ascending");
  await page.click('[data-key="bytes"] button');
  assert.equal(await firstRow(page), bySize);
  const all = await page.textContent("#sum");
  await page.fill("#filter", "weights");
  assert.match(await page.textContent("#sum"), /^2 buffers, 512\.00 MiB/);
  assert.match(await firstRow(page), /weights\['/);
  await page.fill("#filter", "");
  assert.equal(await page.textContent("#sum"), all);
  await page.check("#group");
  assert.match(await page.textContent("#sum"), /groups/);
  await page.uncheck("#group");
  await page.click('[data-category="parameter"]');
  assert.notEqual(await page.textContent("#sum"), all);
});

test("another program point, by mouse and by key", async (t) => {
  const page = await open(t, write("scan_oom", "testdata/dumps/scan_oom"));
  const [sum, said] = [await page.textContent("#sum"), await page.textContent("#alive .said")];
  assert.match(said, /step 98 of 115.*42\.01 GiB, the peak/);
  const curve = await picture(page, "#curve");
  await page.locator("#curve").scrollIntoViewIfNeeded();
  const box = await page.locator("#curve").boundingBox();
  await page.mouse.move(box.x + 90, box.y + 100);
  assert.match(await page.textContent(".plot .tip"), /step \d+ of 115/);
  await page.mouse.click(box.x + 90, box.y + 100);
  assert.notEqual(await page.textContent("#sum"), sum);
  assert.notEqual(await picture(page, "#curve"), curve);
  const before = await page.getAttribute("#curve", "aria-valuenow");
  await page.focus("#curve");
  await page.keyboard.press("ArrowRight");
  assert.equal(Number(await page.getAttribute("#curve", "aria-valuenow")), Number(before) + 1);
  await page.click("#to-peak");
  assert.equal(await page.textContent("#alive .said"), said);
  assert.equal(await page.textContent("#sum"), sum);
});

test("a finding shows its buffers and its what-if; the card says what a buffer is", async (t) => {
  const page = await open(t, write("scan_oom", "testdata/dumps/scan_oom"));
  const [curve, map, sum] = [await picture(page, "#curve"), await picture(page, "#map"), await page.textContent("#sum")];
  const button = page.locator(".finding", { hasText: "stacked-residuals" }).locator("button").first();
  await button.click();
  assert.notEqual(await picture(page, "#curve"), curve);
  assert.notEqual(await picture(page, "#map"), map);
  assert.match(await page.textContent("#curve-said"), /What if.*42\.01 GiB → 6\.01 GiB/);
  assert.match(await page.textContent("#sum"), /^6 buffers, 40\.01 GiB/);
  assert.match(await firstRow(page), /16\.00 GiB→ 4\.01 GiB/);
  assert.match(await page.textContent("#row-1"), /→ gone/);
  await button.click();
  assert.doesNotMatch(await firstRow(page), /→/);
  assert.equal(await page.textContent("#sum"), sum);
  await page.click("#row-0");
  assert.match(await page.textContent(".card"), /16\.00 GiB/);
  assert.match(await page.textContent(".card dl"), /dimension 2 \(4096\) varies fastest/);
  assert.doesNotMatch(await page.textContent(".card .hlo"), /backend_config/);
});

test("the map answers to the mouse, zooms and chooses; the treemap filters", async (t) => {
  const page = await open(t, write("scan_oom", "testdata/dumps/scan_oom"));
  const both = async () => [await picture(page, "#map"), await picture(page, "#curve")];
  const [map, curve] = await both();
  const isChanged = async () => {
    const [newMap, newCurve] = await both();
    return newMap !== map && newCurve !== curve;
  };
  const showWhole = '[aria-label="Show the whole program"]:visible';
  await page.click('[aria-label="Zoom in"]');
  assert.ok(await isChanged(), "the curve and the map look at the same steps");
  await page.locator(showWhole).first().click();
  assert.deepEqual(await both(), [map, curve]);
  assert.equal(await page.locator(showWhole).count(), 0);
  await page.focus("#map");
  await page.keyboard.press("+");
  await page.keyboard.press("ArrowRight");
  assert.ok(await isChanged());
  await page.keyboard.press("0");
  assert.deepEqual(await both(), [map, curve]);
  await page.mouse.wheel(0, -300);
  await page.click("#map", { position: { x: 600, y: 280 } });
  assert.match(await page.textContent("#card-title"), /while/);
  await page.keyboard.press("Escape");
  assert.equal(await page.locator("#card-title").count(), 0);
  const sum = await page.textContent("#sum");
  await page.click('.treemap [title$="arguments"]');
  assert.notEqual(await page.textContent("#sum"), sum);
  await page.click(".chip");
  assert.equal(await page.textContent("#sum"), sum);
  await page.selectOption("#space", { label: "VMEM" });
  assert.notEqual(await page.textContent("#sum"), sum);
});

test("what the filter understands", async (t) => {
  const page = await open(t, write("scan_oom", "testdata/dumps/scan_oom"));
  const count = async (words) => {
    await page.fill("#filter", words);
    return Number((await page.textContent("#sum")).match(/^\d+/)[0]);
  };
  const all = await count("");
  assert.equal(await count(">1GiB"), 4);
  assert.equal(await count("<1gib"), all - 4);
  assert.equal(await count("op:while >1GiB"), 4);
  assert.equal(await count("kind:parameter"), 3);
  assert.equal(await count("shape:65536,1024 kind:parameter"), 1);
  assert.ok(await count("file:models.py") > 0);
  assert.equal(await count("file:weights"), 0);
});

test("an address leads to a step and a buffer again", async (t) => {
  const file = write("scan_oom", "testdata/dumps/scan_oom");
  const page = await open(t, file);
  await page.click("#row-1");
  await page.focus("#curve");
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowRight");
  const [card, said] = [await page.textContent(".card"), await page.textContent("#alive .said")];
  await page.waitForFunction(() => location.hash.includes("step=1&buffer="));
  const hash = await page.evaluate(() => location.hash);
  const again = await open(t, file + hash);
  assert.equal(await again.textContent(".card"), card);
  assert.equal(await again.textContent("#alive .said"), said);
  const odd = await open(t, `${file}#0&step=99999&buffer=99999&space=77`);
  assert.match(await odd.textContent("#alive .said"), /the peak/);
});

test("keys: a list of them, the filter, the card's links", async (t) => {
  const page = await open(t, write("scan_oom", "testdata/dumps/scan_oom"));
  await page.keyboard.press("?");
  assert.ok(await page.isVisible("#keys"));
  await page.keyboard.press("Escape");
  assert.ok(!await page.isVisible("#keys"));
  await page.keyboard.press("/");
  assert.equal(await page.evaluate(() => document.activeElement.id), "filter");
  await page.click("#row-0");
  await page.click('.card button:has-text("to its start")');
  assert.match(await page.textContent("#alive .said"), /step 11 of 115/);
  // Asked for twice, and from a page that is drawn anew.
  for (const hash of ["#0", "#0&step=3"]) {
    await page.keyboard.press("?");
    await page.evaluate((hash) => { location.hash = hash; }, hash);
    await page.keyboard.press("?");
    await page.keyboard.press("?");
    assert.ok(await page.isVisible("#keys"));
    await page.keyboard.press("Escape");
  }
});

test("what is the browser's stays the browser's", async (t) => {
  const page = await open(t, write("scan_oom", "testdata/dumps/scan_oom"));
  const said = () => page.textContent("#alive .said");
  await page.focus("#curve");
  await page.keyboard.press("Home");
  const first = await said();
  for (const key of ["Control+p", "Control+0", "Alt+ArrowRight"]) {
    const isLeft = await page.evaluate((key) => {
      const [modifier, name] = key.split("+");
      const event = new KeyboardEvent("keydown", { key: name, ctrlKey: modifier === "Control", altKey: modifier === "Alt", bubbles: true, cancelable: true });
      return document.getElementById("curve").dispatchEvent(event);
    }, key);
    assert.ok(isLeft, key);
  }
  await page.locator("#curve").scrollIntoViewIfNeeded();
  const box = await page.locator("#curve").boundingBox();
  await page.mouse.move(box.x + 200, box.y + 60);
  await page.mouse.down({ button: "right" });
  await page.mouse.move(box.x + 300, box.y + 60, { steps: 4 });
  await page.mouse.up({ button: "right" });
  assert.equal(await said(), first);
});

test("the treemap counts once what lies at one place, as the table does; a leaf opens its card", async (t) => {
  let opened = 0;
  for (const dump of ["mlp_donated", "scan_oom", "cpu_softmax", "gpu_adam_donated"]) {
    const page = await open(t, write(dump, `testdata/dumps/${dump}`));
    await page.click(".treemap button", { position: { x: 6, y: 6 } });
    for (let deep = 0; deep < 12 && await page.locator(".treemap button").count() > 1; deep += 1) {
      const crumb = (await page.textContent(".crumbs")).match(/[\d.]+ [KMG]?i?B$/)[0];
      const sum = await page.textContent("#sum");
      assert.ok(sum.endsWith(crumb), `${dump}: ${crumb} against ${sum}`);
      await page.click(".treemap button", { position: { x: 6, y: 6 } });
    }
    if (await page.locator(".treemap .tile").count() === 1) opened += await page.locator("#card-title").count();
  }
  assert.ok(opened > 1, `${opened} cards`);
});

test("the peak of the memory space that is looked at; the start page stays as it was left", async (t) => {
  const page = await open(t, write("scan_oom", "testdata/dumps/scan_oom"));
  await page.selectOption("#space", { label: "VMEM" });
  await page.click("#to-peak");
  assert.match(await page.textContent("#alive .said"), /, the peak/);
  const names = ["scan_oom", "mlp_donated", "attention_oom", "two_modules", "kernel_fits", "embedding_v6e", "gru_v4", "experts_7x"];
  const start = await open(t, write("several", ...names.map((name) => `testdata/dumps/${name}`)));
  await start.fill("#filter", "does not fit");
  const rows = await start.locator("tbody tr").count();
  await start.click("tbody tr:first-child a");
  await start.waitForSelector("#headline");
  await start.click("header a");
  await start.waitForSelector("table.modules");
  assert.equal(await start.locator("tbody tr").count(), rows);
  assert.equal(await start.inputValue("#filter"), "does not fit");
});

test("a narrow page shows the card at its foot, and closes it", async (t) => {
  const page = await open(t, write("scan_oom", "testdata/dumps/scan_oom"), { width: 390 });
  assert.ok(!await page.isVisible(".card"));
  await page.click("#row-0");
  const box = await page.locator(".card").boundingBox();
  assert.ok(box.y + box.height >= 890 && box.height < 450, JSON.stringify(box));
  await page.click('[aria-label="Close the card"]');
  assert.ok(!await page.isVisible(".card"));
});

test("several modules: the worst first, each a click away", async (t) => {
  const page = await open(t, write("several", "testdata/dumps/two_modules", "testdata/dumps/scan_oom"));
  assert.match(await page.textContent("tbody tr:first-child"), /jit_scanned_loss.*DOES NOT FIT/);
  await page.click("tbody tr:first-child a");
  await page.waitForSelector("#headline");
  await page.goBack();
  await page.waitForSelector("tbody tr:nth-child(3)");
});

test("markup in names is text", async (t) => {
  const evil = "</script><img src=x onerror=document.body.dataset.hurt=1><script>document.body.dataset.hurt=1</script>";
  const text = `HloModule jit_evil, is_scheduled=true

ENTRY %main (x: f32[1024,1024]) -> f32[1024,1024] {
  %x = f32[1024,1024]{1,0} parameter(0), metadata={op_name="${evil}"}
  %y = f32[1024,1024]{1,0} add(%x, %x), metadata={op_name="${evil}" source_file="${evil}" source_line=3}
  ROOT %z = f32[1024,1024]{1,0} negate(%y), metadata={op_name="${evil}"}
}
`;
  const file = path.join(folder, "evil.txt");
  fs.writeFileSync(file, text);
  const page = await open(t, write("evil", file));
  await page.click("#row-0");
  assert.ok((await page.textContent(".card")).includes(evil));
  assert.equal(await page.evaluate(() => document.body.dataset.hurt), undefined);
  assert.equal(await page.locator("img").count(), 0);
});

test("a large module loads fast and scrolls", async (t) => {
  const file = write("large", process.env.LARGE || "testdata/large/decoder_train_step");
  await loadsFastAndScrolls(t, file);
});

fits("viewer", () => write("scan_oom", "testdata/dumps/scan_oom"), async (page) => {
  await page.click("#row-0");
  await page.locator(".finding", { hasText: "stacked-residuals" }).locator("button").first().click();
});

test("it prints", async (t) => {
  const page = await open(t, write("scan_oom", "testdata/dumps/scan_oom"));
  await page.emulateMedia({ media: "print" });
  assert.equal(await page.locator(".bar-row").first().isVisible(), false);
  assert.ok((await page.pdf()).length > 10000);
});

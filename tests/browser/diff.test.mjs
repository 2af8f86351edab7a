// The page of a comparison in a real browser: what is on screen, and what changes when a reader asks
// for something. LARGE names a large module.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { firstRow, fits, folder, hlolint, loadsFastAndScrolls, open, picture, root, writePage } from "./support.mjs";

const PAIRS = "testdata/pairs";
const RESIDUALS = [`${PAIRS}/stacked-residuals/bad`, `${PAIRS}/stacked-residuals/good`];
const PRINTS = [`${PAIRS}/debug-print/bad`, `${PAIRS}/debug-print/good`];

const write = (name, ...sides) => writePage(name, "diff", ...sides);
const json = (...sides) => JSON.parse(execFileSync(hlolint, ["diff", ...sides, "--format", "json"], { cwd: root }));
const UNITS = [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]];
function size(bytes) {
  const [unit, factor] = UNITS.find(([, factor]) => Math.abs(bytes) >= factor) || ["B", 1];
  return `${factor === 1 ? Math.abs(bytes) : (Math.abs(bytes) / factor).toFixed(2)} ${unit}`;
}
const signed = (bytes) => `${bytes > 0 ? "+" : bytes < 0 ? "−" : ""}${size(bytes)}`;

test("the figures on screen are those of the JSON", async (t) => {
  for (const sides of [RESIDUALS, [...RESIDUALS].reverse(), PRINTS, ["testdata/dumps/gpu_adam_donated", "testdata/dumps/gpu_adam_sharded"]]) {
    const page = await open(t, write("figures", ...sides));
    const [module] = json(...sides).modules;
    const { required } = module.hbm;
    const headline = await page.textContent("#headline");
    assert.ok(headline.includes(size(required.new_bytes - required.old_bytes)), headline);
    assert.ok(headline.includes(required.new_bytes > required.old_bytes ? "more" : "less"), headline);
    const totals = await page.textContent("#totals");
    for (const change of [required, module.hbm.temporaries, module.hbm.parameters, ...module.spaces.map((space) => space.total)]) {
      for (const bytes of [change.old_bytes, change.new_bytes]) assert.ok(totals.includes(size(bytes)), `${totals} has not ${bytes}`);
      assert.ok(totals.includes(signed(change.new_bytes - change.old_bytes)), totals);
    }
    const why = await page.textContent("#why");
    for (const reason of module.reasons) assert.ok(why.includes(reason.message), why);
    for (const { alive } of module.alive_at_peak) assert.ok(why.includes(signed(alive.new_bytes - alive.old_bytes)), why);
    const inHbm = module.buffers.filter((change) => [change.old, change.new].some((held) => held && held.memory_space === 0));
    assert.match(await page.textContent("#sum"), new RegExp(`^${inHbm.length} change`));
    assert.equal(await page.locator("#findings article").count(), module.findings.length);
    assert.doesNotMatch(await page.textContent("main"), /\[object|undefined|NaN|null/);
  }
});

test("buffers: sorted, filtered by text, kind of change, memory space, the peak and the line", async (t) => {
  const page = await open(t, write("residuals", ...RESIDUALS));
  const all = await page.textContent("#sum");
  assert.match(await firstRow(page), /−48\.00 GiB.*gone.*6 × bf16\[16,32768,8192\]/);
  await page.click('[data-key="what"] button');
  assert.equal(await page.getAttribute('[data-key="what"]', "aria-sort"), "ascending");
  await page.click('[data-key="change"] button');
  assert.match(await firstRow(page), /−48\.00 GiB/);
  await page.click('[data-change="gone"]');
  assert.match(await firstRow(page), /^\+.*new/);
  assert.match(await page.textContent("#sum"), /−|, 0 B/);
  await page.click('[data-change="gone"]');
  await page.fill("#filter", "jvp()/while gone");
  assert.match(await page.textContent("#sum"), /^\d change/);
  await page.fill("#filter", "op:while >1GiB");
  assert.equal(await page.textContent("#sum"), "1 change: 0 B, −48.00 GiB");
  await page.fill("#filter", "");
  assert.equal(await page.textContent("#sum"), all);
  await page.selectOption("#space", { label: "VMEM" });
  const inVmem = json(...RESIDUALS).modules[0].buffers.filter(({ new: now }) => now && now.memory_space === 1);
  const sum = inVmem.reduce((sum, change) => sum + change.size.new_bytes, 0);
  assert.equal(await page.textContent("#sum"), `${inVmem.length} changes: ${signed(sum)}, 0 B`);
  const counts = await page.$$eval("[data-change]", (toggles) => toggles.map((toggle) => Number.parseInt(toggle.textContent, 10)));
  assert.equal(counts.reduce((sum, count) => sum + count, 0), inVmem.length);
  await page.selectOption("#space", { label: "all memory spaces" });
  assert.notEqual(await page.textContent("#sum"), all);
  await page.selectOption("#space", "0");
  await page.check("#at-peak");
  assert.notEqual(await page.textContent("#sum"), all);
  await page.uncheck("#at-peak");
  await page.click("#parts button >> nth=1");
  assert.notEqual(await page.textContent("#sum"), all);
  await page.click(".chip");
  assert.equal(await page.textContent("#sum"), all);
  await page.click("text=by op_name");
  assert.match(await page.textContent("#parts"), /jvp\(\)\/while/);
});

test("a chosen buffer: its card, and when it is alive in both curves", async (t) => {
  const sides = [`${PAIRS}/tile-padding/bad`, `${PAIRS}/tile-padding/good`];
  const page = await open(t, write("padding", ...sides));
  const curve = await picture(page, "#curve");
  await page.click("#row-0");
  assert.notEqual(await picture(page, "#curve"), curve);
  const card = await page.textContent(".card");
  const change = json(...sides).modules[0].buffers[0];
  for (const side of ["old", "new"]) {
    assert.ok(card.includes(change[side].shape), card);
    assert.ok(card.includes(size(change.size[`${side}_bytes`])), card);
  }
  assert.match(card, /steps \d+.*of \d+/);
  assert.match(card, /without padding/);
  assert.match(card, /varies fastest.*in tiles of 8 x 128/);
  assert.match(card, /HLO%\S+ = /);
  assert.doesNotMatch(card, /backend_config/);
  assert.match(await page.textContent("#curve-note"), /is alive/);
  await page.keyboard.press("Escape");
  assert.match(await page.textContent(".card"), /Choose a buffer/);
  await page.click("#row-0");
  await page.focus("#rows");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  assert.notEqual(await page.textContent(".card"), card);
  assert.equal(await page.getAttribute("#rows", "aria-activedescendant"), "row-1");
});

test("both curves at any place, by mouse and by key", async (t) => {
  const page = await open(t, write("residuals", ...RESIDUALS));
  const said = await page.textContent("#curve-said");
  assert.match(said, /old: 52\.25 GiB · step 72 of 94.*new: 4\.94 GiB · step 57 of 75.*−47\.31 GiB/);
  const curve = await picture(page, "#curve");
  const box = await page.locator("#curve").boundingBox();
  await page.mouse.move(box.x + 100, box.y + 100);
  assert.match(await page.textContent(".plot .tip"), /old: .* step \d+ of 94.*\nnew: .* step \d+ of 75/);
  await page.mouse.click(box.x + 100, box.y + 100);
  assert.notEqual(await page.textContent("#curve-said"), said);
  const at = Number(await page.getAttribute("#curve", "aria-valuenow"));
  await page.focus("#curve");
  await page.keyboard.press("ArrowRight");
  assert.equal(Number(await page.getAttribute("#curve", "aria-valuenow")), at + 1);
  await page.keyboard.press("p");
  assert.equal(await page.textContent("#curve-said"), said);
  await page.keyboard.press("+");
  assert.notEqual(await picture(page, "#curve"), curve);
  await page.keyboard.press("0");
  assert.equal(await picture(page, "#curve"), curve);
  await page.click("text=steps");
  assert.notEqual(await picture(page, "#curve"), curve);
  assert.match(await page.textContent("#curve-said"), /old: .* step 57 of 94.*new: .* step 57 of 75/);
  await page.keyboard.press("Tab");
  await page.focus("#curve");
  await page.keyboard.press("End");
  assert.match(await page.textContent("#curve-said"), /old: .* step 93 of 94.*new: has ended/);
  await page.click("#to-old-peak");
  assert.match(await page.textContent("#curve-said"), /52\.75 GiB/);
  const padded = await picture(page, "#curve");
  await page.check("#unpadded");
  assert.notEqual(await picture(page, "#curve"), padded);
});

test("a saved report, a side without a schedule, a side without modules", async (t) => {
  const saved = path.join(folder, "saved.json");
  execFileSync(hlolint, ["report", RESIDUALS[0], "--format", "json", "--output", saved], { cwd: root });
  const page = await open(t, write("saved", saved, RESIDUALS[1]));
  assert.match(await page.textContent("#left-out"), /the old side is a saved report/);
  assert.match(await page.textContent("#curve-said"), /old: 52\.25 GiB · step 72 of 94new/);

  const handedIn = path.join(folder, "handed-in");
  fs.mkdirSync(handedIn);
  const from = path.join(root, RESIDUALS[0]);
  const [name] = fs.readdirSync(from).filter((name) => name.endsWith("before_optimizations.txt"));
  fs.copyFileSync(path.join(from, name), path.join(handedIn, name));
  const half = await open(t, write("half", handedIn, RESIDUALS[1]));
  assert.match(await half.textContent("#curve-note"), /The old side has no schedule/);
  assert.match(await half.textContent("#changes"), /not both sides have a schedule/);
  const none = await open(t, write("none", handedIn, handedIn));
  assert.match(await none.textContent("main"), /neither side has a schedule/);
});

test("several modules: grown most first, each a click away; what one side alone has", async (t) => {
  const several = (last) => ["testdata/dumps/mlp_donated", "testdata/dumps/baseline_known", last].map((dump) => path.join(root, dump));
  const sides = [several("testdata/dumps/scan_oom"), several("testdata/dumps/gru_v4")].map((dumps, at) => {
    const side = path.join(folder, `side-${at}`);
    fs.mkdirSync(side);
    dumps.forEach((dump, number) => fs.cpSync(dump, path.join(side, String(number)), { recursive: true }));
    return side;
  });
  fs.cpSync(path.join(root, "testdata/dumps/baseline_layer_added"), path.join(sides[1], "1"), { recursive: true, force: true });
  const page = await open(t, write("several", ...sides));
  const diff = json(...sides);
  const isChanged = diff.modules.filter((module) => module.hbm.required.old_bytes !== module.hbm.required.new_bytes);
  assert.match(await page.textContent("#changed h2"), /changed, grown most first/);
  assert.ok((await page.textContent("#changed tbody tr:first-child")).includes(isChanged[0].name));
  const text = await page.textContent("main");
  for (const module of [...diff.added, ...diff.removed]) assert.ok(text.includes(module.name));
  await page.click("#changed tbody tr:first-child a");
  await page.waitForSelector("#headline");
  assert.match(await page.title(), /What changed: /);
  await page.goBack();
  await page.waitForSelector("#changed tbody tr");
});

test("many modules: sorted and filtered; those of one name told apart", async (t) => {
  const dumps = ["mlp_donated", "mlp_not_donated", "scan_oom", "gru_v4", "attention_oom", "kernel_fits", "embedding_v6e", "experts_7x"];
  const sides = ["many-old", "many-new"].map((side) => path.join(folder, side));
  for (const side of sides) for (const [at, dump] of dumps.entries()) fs.cpSync(path.join(root, "testdata/dumps", dump), path.join(side, String(at)), { recursive: true });
  // A module of the name that another one has, and larger than before.
  for (const [at, side] of sides.entries()) {
    const from = path.join(root, "testdata/dumps", ["baseline_known", "baseline_layer_added"][at]);
    const [text] = fs.readdirSync(from).filter((name) => name.endsWith("after_optimizations.txt"));
    fs.mkdirSync(path.join(side, "more"));
    fs.writeFileSync(path.join(side, "more/module_0000.jit_momentum_step.after_optimizations.txt"), fs.readFileSync(path.join(from, text), "utf8").replace("jit_score", "jit_momentum_step"));
  }
  const file = path.join(folder, "many.html");
  assert.throws(() => execFileSync(hlolint, ["diff", ...sides, "--format", "html", "-o", file, "--max-increase", "1%"], { cwd: root }), { status: 1 });
  const page = await open(t, file);
  const { modules } = JSON.parse(execFileSync(hlolint, ["diff", ...sides, "--format", "json"], { cwd: root }));
  assert.match(await page.textContent("#gate"), /many-new/);
  await page.click("summary");
  const rows = () => page.$$eval("tbody tr", (rows) => rows.filter((row) => row.checkVisibility()).map((row) => row.textContent));
  assert.equal((await rows()).length, modules.length);
  await page.click('section:has(details) th button:has-text("needs")');
  const least = Math.min(...modules.filter(({ hbm }) => hbm.required.old_bytes === hbm.required.new_bytes).map(({ hbm }) => hbm.required.new_bytes));
  await page.click('section:has(details) th button:has-text("needs")');
  assert.equal(await page.getAttribute('section:has(details) th:has-text("needs ")', "aria-sort"), "ascending");
  assert.ok((await page.textContent("details tbody tr:first-child")).includes(size(least)));
  await page.fill("#filter", "does not fit");
  const failing = modules.filter(({ verdicts }) => verdicts.new === "does-not-fit").length;
  assert.equal((await rows()).length, failing);
  assert.equal(await page.textContent("#filtered"), `${failing} of ${modules.length} modules`);
});

test("an address leads to a step, a buffer and a memory space again", async (t) => {
  const file = write("residuals", ...RESIDUALS);
  const page = await open(t, file);
  await page.selectOption("#space", { label: "VMEM" });
  await page.click("#row-1");
  await page.focus("#curve");
  await page.keyboard.press("ArrowLeft");
  const [card, said, sum] = [await page.textContent(".card"), await page.textContent("#curve-said"), await page.textContent("#sum")];
  await page.waitForFunction(() => /step=\d+&buffer=\d+&space=1$/.test(location.hash));
  const hash = await page.evaluate(() => location.hash);
  const again = await open(t, file + hash);
  assert.deepEqual([await again.textContent(".card"), await again.textContent("#curve-said"), await again.textContent("#sum")], [card, said, sum]);
  const odd = await open(t, `${file}#0&step=99999&buffer=99999&space=77`);
  assert.match(await odd.textContent("#curve-said"), /step 57 of 75/);
});

test("the gate", async (t) => {
  const file = path.join(folder, "gate.html");
  const gate = (allowance) => ["diff", "testdata/dumps/mlp_donated", "testdata/dumps/mlp_not_donated", "--format", "html", "-o", file, "--max-increase", allowance];
  assert.throws(() => execFileSync(hlolint, gate("2%"), { cwd: root }), { status: 1 });
  assert.match(await (await open(t, file)).textContent("#gate"), /FAILED .* grew by .*--max-increase 2% allows/);
  execFileSync(hlolint, gate("10GiB"), { cwd: root });
  assert.match(await (await open(t, file)).textContent("#gate"), /holds .* grew by no more than 10\.00 GiB/);
});

test("markup in names is text", async (t) => {
  const evil = "</script><img src=x onerror=document.body.dataset.hurt=1>";
  const side = (name, rows) => {
    const array = `f32[${rows},1024]`;
    const file = path.join(folder, `${name}.txt`);
    fs.writeFileSync(file, `HloModule jit_evil, is_scheduled=true

ENTRY %main (x: ${array}) -> ${array} {
  %x = ${array}{1,0} parameter(0), metadata={op_name="${evil}"}
  %y = ${array}{1,0} add(%x, %x), metadata={op_name="${evil}" source_file="${evil}" source_line=3}
  ROOT %z = ${array}{1,0} negate(%y), metadata={op_name="${evil}"}
}
`);
    return file;
  };
  const page = await open(t, write("evil", side("old", 512), side("new", 1024)));
  await page.click("#row-0");
  assert.ok((await page.textContent(".card")).includes(evil));
  assert.equal(await page.evaluate(() => document.body.dataset.hurt), undefined);
  assert.equal(await page.locator("img").count(), 0);
});

test("a large module against another loads fast and scrolls", async (t) => {
  const step = path.join(root, "testdata/large/decoder_train_step");
  const packed = () => fs.readFileSync(path.join(step, fs.readdirSync(step).find((name) => name.endsWith(".after_optimizations.txt.gz"))));
  const text = process.env.LARGE ? fs.readFileSync(process.env.LARGE, "utf8") : gunzipSync(packed()).toString();
  const [old, now] = ["large-old.txt", "large-new.txt"].map((name) => path.join(folder, name));
  fs.writeFileSync(old, text);
  fs.writeFileSync(now, text.replaceAll("jit(train_step)/", "jit(train_step)/other/"));
  const file = write("large", old, now);
  await loadsFastAndScrolls(t, file);
});

fits("diff", () => write("residuals", ...RESIDUALS), async (page) => { await page.click("#row-0"); }, "#over-program");

test("a comparison without a change prints, and zooms at the place under study", async (t) => {
  const same = await open(t, write("same", RESIDUALS[0], RESIDUALS[0]));
  if (await same.locator("#headline").count() === 0) await same.click("a >> nth=0");
  assert.ok((await same.pdf()).length > 5000);
  const page = await open(t, write("residuals", ...RESIDUALS));
  await page.focus("#curve");
  await page.keyboard.press("Home");
  const before = await picture(page, "#curve");
  await page.keyboard.press("+");
  const byKey = await picture(page, "#curve");
  await page.keyboard.press("0");
  assert.equal(await picture(page, "#curve"), before);
  await page.click('button[aria-label="Zoom in"]');
  assert.equal(await picture(page, "#curve"), byKey);
});

test("it prints", async (t) => {
  const page = await open(t, write("residuals", ...RESIDUALS));
  await page.emulateMedia({ media: "print" });
  assert.equal(await page.locator(".bar-row").first().isVisible(), false);
  assert.ok((await page.pdf()).length > 10000);
});

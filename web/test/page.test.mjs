// The report page in a real browser. LOOPTAX_PAGES names a folder with real.html, sweep.html, why.html, hostile.html
// and several.html; `cargo lab web browser` makes them.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { drawAll, drawn, launch, open } from "./browser.mjs";

const PAGES = ["real", "sweep", "why", "hostile", "several"];
const folder = process.env.LOOPTAX_PAGES ?? assert.fail("LOOPTAX_PAGES is not set: run `cargo lab web browser`");
const axePath = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
const file = (name) => join(folder, `${name}.html`);
let browser;

before(async () => {
  browser = await launch();
});
after(() => browser.close());

/** Runs axe beside the page; its own script needs a page without the policy. */
async function faults(page) {
  await page.addScriptTag({ path: axePath });
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  const serious = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
  return serious.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((it) => it.html.slice(0, 160))}`);
}

for (const name of PAGES) {
  test(`${name}: the console is silent, nothing is fetched, every chart has marks, no width is too narrow`, async () => {
    const { page, complaints, left } = await open(browser, file(name));
    await drawAll(page);
    const empty = await page.evaluate(() =>
      [...document.querySelectorAll("[data-chart]")]
        .filter(
          (box) => box.querySelectorAll("svg .mark-symbol path, svg .mark-rect path, svg .mark-rule line").length === 0,
        )
        .map((box) => `${box.dataset.chart} ${box.dataset.idx}`),
    );
    assert.deepEqual(empty, []);
    const bare = await page.evaluate(
      () => [...document.querySelectorAll("[data-flame]")].filter((it) => it.querySelector(".frame") === null).length,
    );
    assert.equal(bare, 0, "flame graphs without frames");
    assert.ok((await page.locator("[data-chart]").count()) > 3);
    for (const width of [320, 400, 800, 1600]) {
      await page.setViewportSize({ width, height: 900 });
      await page.waitForTimeout(300);
      const wider = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      assert.equal(wider, 0, `at ${width} pixels`);
      const scrolled = (which) =>
        page.evaluate(
          (which) => [...document.querySelectorAll(which)].filter((it) => it.scrollWidth > it.clientWidth).length,
          which,
        );
      if (width < 520) assert.equal(await scrolled(".stacked"), 0, `no scrolling at ${width} pixels`);
      if (width < 900)
        assert.equal(await scrolled(".judged"), 0, `tax and verdict without scrolling at ${width} pixels`);
    }
    assert.deepEqual(complaints, []);
    assert.deepEqual(left(), []);
    await page.close();
  });

  test(`${name}: axe finds no serious fault, light and dark`, async () => {
    const { page } = await open(browser, file(name), { bypassCSP: true });
    await drawAll(page);
    assert.deepEqual(await faults(page), []);
    await page.emulateMedia({ colorScheme: "dark" });
    assert.deepEqual(await faults(page), []);
    await page.close();
  });
}

test("the page is readable without its script", async () => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(`file://${file("real")}`);
  const text = await page.locator("main").innerText();
  assert.match(text, /of throughput/);
  assert.match(text, /How it was measured/);
  assert.equal(await page.locator("[data-chart]").first().isVisible(), false);
  await context.close();
});

test("hovering shows figures", async () => {
  const { page } = await open(browser, file("real"));
  await drawAll(page);
  for (const chart of ["percentiles", "bill", "epochs", "slices", "difference", "overview"]) {
    const box = page.locator(`[data-chart=${chart}]`).first();
    const mark = box.locator("svg .role-mark.mark-symbol path, svg .role-mark.mark-rect path").nth(1);
    await mark.scrollIntoViewIfNeeded();
    // Scrolling hides the figures, and its event comes with the next frame.
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    const { x, y, width, height } = await mark.boundingBox();
    await page.mouse.move(x + width / 2, y + height / 2);
    await page.locator(".tooltip").waitFor({ state: "visible" });
    assert.match(await page.locator(".tooltip").innerText(), /\d/, chart);
    await page.mouse.move(1, 1);
  }
  await page.close();
});

test("the keyboard reaches every chart, button and fold, and tells figures", async () => {
  const { page } = await open(browser, file("real"));
  await drawAll(page);
  const wanted = await page.evaluate(() => {
    const all = [...document.querySelectorAll("a[href], button, summary, [tabindex='0']")];
    const open = all.filter((it) => it.checkVisibility({ contentVisibilityAuto: true }));
    open.forEach((it, idx) => (it.dataset.stop = String(idx)));
    return open.length;
  });
  const seen = new Set();
  for (let step = 0; step < wanted + 5; step += 1) {
    await page.keyboard.press("Tab");
    seen.add(await page.evaluate(() => document.activeElement?.dataset?.stop));
  }
  seen.delete(undefined);
  assert.equal(seen.size, wanted);
  for (const box of await page.locator("[data-chart]").all()) {
    await box.focus();
    await page.keyboard.press("ArrowRight");
    const told = await page.locator("#told").innerText();
    assert.match(told, /\d/);
    await page.keyboard.press("End");
    assert.match(await page.locator("#told").innerText(), /\d/);
    await page.keyboard.press("Escape");
    assert.equal(await page.locator(".tooltip").isVisible(), false);
  }
  await page.close();
});

test("a hostile record stays text", async () => {
  const { page } = await open(browser, file("hostile"));
  page.on("dialog", () => assert.fail("a script of the record ran"));
  await drawAll(page);
  const foreign = await page.evaluate(() => document.querySelectorAll("img, b, iframe, object, base, link").length);
  assert.equal(foreign, 0);
  assert.match(await page.locator("main").innerText(), /<\/script><img src=x onerror=alert\(1\)>/);
  assert.equal((await page.locator("main").innerText()).includes("\u202e"), false);
  const drawnText = await page.locator("[data-chart] svg text").allInnerTexts();
  assert.equal(
    drawnText.some((it) => /[\u202e\u001b]/.test(it)),
    false,
  );
  await page.close();
});

test("raw data can be kept: the record without its single latencies, slices, distributions", async () => {
  const { page } = await open(browser, file("real"));
  await drawn(page);
  const save = async (kind) => {
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.locator(`[data-download=${kind}]`).click(),
    ]);
    return [download.suggestedFilename(), await readFile(await download.path(), "utf8")];
  };
  const [name, json] = await save("json");
  assert.equal(name, "real.json");
  const record = JSON.parse(await readFile(join(folder, "real.json"), "utf8"));
  for (const epoch of record.comparisons.flatMap((it) => it.raw.epochs)) {
    epoch.samples = [null, null];
  }
  assert.deepEqual(JSON.parse(json), record);
  const [, csv] = await save("csv");
  const slices = record.comparisons.flatMap((it) => it.raw.epochs).flatMap((it) => it.slices);
  assert.equal(csv.trimEnd().split("\n").length, slices.length + 1);
  const [, log] = await save("hdr");
  assert.match(log, /^#\[Histogram log format version 1\.3\]/);
  assert.equal(log.split("\n").filter((it) => it.startsWith("Tag=")).length, 4);
  await page.close();
});

test("paper gets everything, in dark ink", async () => {
  const { page } = await open(browser, file("real"), { colorScheme: "dark" });
  await drawn(page);
  const pdf = await page.pdf({ format: "A4" });
  assert.ok(pdf.length > 50_000, `${pdf.length} bytes`);
  const missing = await page.evaluate(
    () => [...document.querySelectorAll("[data-chart]")].filter((it) => it.dataset.drawn === undefined).length,
  );
  assert.equal(missing, 0);
  await page.emulateMedia({ media: "print" });
  const ink = await page.evaluate(() => getComputedStyle(document.body).color);
  assert.equal(ink, "rgb(22, 24, 29)");
  await page.close();
});

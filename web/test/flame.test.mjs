// The flame graph in a real browser. LOOPTAX_PAGES names a folder with why.html, of few call chains, and chains.html,
// of many; `cargo lab web browser` makes them.

import assert from "node:assert/strict";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { drawAll, launch, open } from "./browser.mjs";

const folder = process.env.LOOPTAX_PAGES ?? assert.fail("LOOPTAX_PAGES is not set: run `cargo lab web browser`");
const file = (name) => join(folder, `${name}.html`);
/** The limit of a page with all the call chains that a record may hold. */
const MOST_BYTES = 10_000_000;
let browser;

before(async () => {
  browser = await launch();
});
after(() => browser.close());

/** The page `name` with everything drawn, and its flame graph. */
async function flame(name, options) {
  const opened = await open(browser, file(name), options);
  await drawAll(opened.page);
  return { ...opened, graph: opened.page.locator("[data-flame]").first() };
}

/** What stands where it should not: words beyond their frame, frames on each other or beyond the graph. */
function misplaced(page) {
  return page.evaluate(() => {
    const faults = [];
    for (const graph of document.querySelectorAll(".frames")) {
      const { left, right } = graph.getBoundingClientRect();
      const rows = new Map();
      for (const frame of graph.querySelectorAll(".frame")) {
        const at = frame.getBoundingClientRect();
        if (at.left < left - 0.5 || at.right > right + 0.5) faults.push(`beyond the graph: ${frame.textContent}`);
        const words = [...frame.children].map((it) => it.getBoundingClientRect());
        if (words.length > 0 && at.width < 28) faults.push(`words in ${at.width} pixels`);
        words.forEach((it, idx) => {
          const before = words[idx - 1]?.right ?? at.left;
          const isInside = it.left >= before - 0.5 && it.right <= at.right + 0.5 && it.bottom <= at.bottom + 0.5;
          if (!isInside) faults.push(`words beyond their frame: ${frame.textContent}`);
        });
        const top = Math.round(at.top);
        rows.set(top, [...(rows.get(top) ?? []), at]);
      }
      for (const row of rows.values()) {
        row.sort((a, b) => a.left - b.left);
        row.forEach((it, idx) => {
          if (idx > 0 && row[idx - 1].right > it.left + 0.5) faults.push(`one on the other at ${it.left}, ${it.top}`);
        });
      }
    }
    return faults;
  });
}

const zoomed = (graph) => graph.locator(".frame:not(.caller)").first().getAttribute("aria-label");

for (const name of ["why", "chains"]) {
  test(`${name}: words and frames stand beside each other in every view at every width`, async () => {
    for (const width of [360, 800, 1400]) {
      const { page, graph, complaints, left } = await flame(name, { width });
      for (const side of ["Difference", "unix alone", "tcp alone"]) {
        await graph.getByRole("button", { name: side }).click();
        assert.ok((await graph.locator(".frame").count()) > 5);
        assert.deepEqual(await misplaced(page), [], `${side}, ${width} pixels`);
      }
      const legend = await page.evaluate(() => {
        const texts = [...document.querySelectorAll("[data-chart=layers] svg text")].filter((it) => it.textContent);
        const at = texts.map((it) => it.getBoundingClientRect());
        const meet = (a, b) =>
          a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3;
        return texts
          .filter((_, one) => at.some((it, other) => other !== one && meet(it, at[one])))
          .map((it) => it.textContent);
      });
      assert.deepEqual(legend, [], `words of the bars at ${width} pixels`);
      assert.deepEqual([...complaints, ...left()], []);
      await page.close();
    }
  });
}

test("a page of twenty thousand chains is small, and its elements are those that can be seen", async () => {
  const { size } = await stat(file("chains"));
  assert.ok(size < MOST_BYTES, `${size} bytes`);
  const { page, graph } = await flame("chains");
  const narrowest = await graph.evaluate((it) =>
    Math.min(...[...it.querySelectorAll(".frame")].map((frame) => Number.parseFloat(frame.style.width))),
  );
  assert.ok(narrowest >= 0.3, `${narrowest} pixels`);
  await page.close();
});

test("the keyboard goes from frame to frame, zooms and comes back, and the focus is seen", async () => {
  const { page, graph } = await flame("why");
  const focused = () => page.evaluate(() => document.activeElement?.getAttribute("aria-label"));
  assert.equal(await graph.locator("[tabindex='0']").count(), 1, "one stop for Tab");
  await graph.getByRole("searchbox").focus();
  await page.keyboard.press("Tab");
  const all = await focused();
  assert.match(
    all,
    /^all processes [+-][\d.]+\s[µn]s; unix [\d.]+\sµs, tcp [\d.]+\sµs, difference [+-][\d.]+\s[µn]s per request/,
  );
  assert.match(await page.locator(".tooltip").innerText(), /all processes/);
  await page.keyboard.press("ArrowDown");
  const first = await focused();
  await page.keyboard.press("ArrowRight");
  const second = await focused();
  assert.ok(second !== first && first !== all, `${all} ${first} ${second}`);
  const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.equal(outline, "solid");
  await page.keyboard.press("Enter");
  assert.equal(await zoomed(graph), second);
  assert.equal(await focused(), second, "the focus stays where it was");
  const [inner, whole] = await graph.evaluate((it) => [
    it.querySelector(".frame:not(.caller)").getBoundingClientRect().width,
    it.querySelector(".frames").clientWidth,
  ]);
  assert.ok(inner > whole - 2, "a zoomed frame is as wide as the graph");
  await page.keyboard.press("Escape");
  assert.equal(await zoomed(graph), all);
  assert.equal(await focused(), second);
  await page.keyboard.press("ArrowUp");
  assert.equal(await focused(), all);
  await page.close();
});

test("a click zooms, and a button shows all again", async () => {
  const { page, graph } = await flame("chains");
  const all = await zoomed(graph);
  const n = await graph.locator(".frame").count();
  await graph.locator("[aria-level='3']").first().click();
  assert.notEqual(await zoomed(graph), all);
  await graph.locator("[aria-level='4']").nth(1).click();
  await graph.getByRole("button", { name: "Back" }).click();
  assert.notEqual(await zoomed(graph), all);
  await graph.getByRole("button", { name: "Show all" }).click();
  assert.equal(await zoomed(graph), all);
  assert.equal(await graph.locator(".frame").count(), n);
  await page.close();
});

test("a search outlines what it finds and says what that costs each arm", async () => {
  const { page, graph } = await flame("why");
  const search = graph.getByRole("searchbox", { name: "Find" });
  await search.fill("Operator[](");
  const status = graph.getByRole("status");
  const figure = /\d frames?, per request: unix [\d.]+\s[µn]s, tcp [\d.]+\s[µn]s, difference [+-][\d.]+\s[µn]s\./;
  assert.match(await status.innerText(), figure);
  const names = await graph.locator(".match").evaluateAll((all) => all.map((it) => it.getAttribute("aria-label")));
  assert.ok(names.length > 0);
  for (const name of names) assert.match(name, /operator\[\]\(/);
  // What is found in itself counts once: all processes cost what every process costs together.
  await search.fill("s");
  const us = (text, arm) => Number(new RegExp(`${arm} ([\\d.]+)\\sµs`).exec(text)[1]);
  const [found, all] = [await status.innerText(), await zoomed(graph)];
  assert.equal(us(found, "unix"), us(all, "unix"));
  await search.fill("no such frame");
  assert.equal(await status.innerText(), "No frame has such a name.");
  assert.equal(await graph.locator(".match").count(), 0);
  await page.close();
});

test("frames add up: what a frame calls is never more than itself, and one arm alone keeps its scale", async () => {
  const { page, graph } = await flame("why");
  const widths = async (side) => {
    await graph.getByRole("button", { name: side }).click();
    return graph
      .locator(".frame")
      .first()
      .evaluate((it) => it.getBoundingClientRect().width);
  };
  const [unix, tcp] = [await widths("unix alone"), await widths("tcp alone")];
  const label = await zoomed(graph);
  const us = (arm) => Number(new RegExp(`${arm} ([\\d.]+)\\sµs`).exec(label)[1]);
  assert.ok(Math.abs(unix / tcp / (us("unix") / us("tcp")) - 1) < 0.02, `${unix} ${tcp} ${label}`);
  await page.close();
});

test("a narrow window shows the figures of a frame that is tapped, dark and light", async () => {
  for (const colorScheme of ["dark", "light"]) {
    const { page, graph } = await flame("why", { width: 360, colorScheme });
    const contrast = await graph.evaluate((it) => {
      const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
      const light = (colour) => {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        const parts = [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map((part) => part / 255);
        const linear = parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
      };
      const ratios = [...it.querySelectorAll(".frame[data-frame]")].map((frame) => {
        const { color, backgroundColor } = getComputedStyle(frame);
        const [low, high] = [light(color), light(backgroundColor)].sort((a, b) => a - b);
        return (high + 0.05) / (low + 0.05);
      });
      return Math.min(...ratios);
    });
    assert.ok(contrast >= 4.5, `contrast ${contrast}, ${colorScheme}`);
    await page.close();
  }
});

test("without a script the layers stand, and a sentence says what is missing", async () => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(`file://${file("why")}`);
  const text = await page.locator(".why").innerText();
  assert.match(text, /TCP, IP/);
  assert.match(text, /The flame graph needs the page's script/);
  assert.equal(await page.locator("[data-flame]").isVisible(), false);
  await context.close();
  const { page: drawn } = await open(browser, file("why"));
  assert.doesNotMatch(await drawn.locator(".why").innerText(), /needs the page's script/);
  await drawn.close();
});

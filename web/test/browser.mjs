// A browser of this machine, and a page in it that says what went wrong.

import { existsSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const PROGRAMS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Starts the browser that is installed; LOOPTAX_CHROMIUM names another. */
export async function launch() {
  const executablePath = process.env.LOOPTAX_CHROMIUM ?? PROGRAMS.find((it) => existsSync(it));
  if (executablePath === undefined)
    throw new Error("no Chromium: install the package chromium, or set LOOPTAX_CHROMIUM");
  return chromium.launch({ executablePath, args: ["--no-sandbox"] });
}

/** Opens a file; collects complaints of the console and requests that leave the page. */
export async function open(browser, file, options = {}) {
  const { width = 1000, height = 900, colorScheme = "light", ...rest } = options;
  const page = await browser.newPage({ viewport: { width, height }, colorScheme, ...rest });
  const complaints = [];
  const requests = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => requests.push(request.url()));
  const address = pathToFileURL(file).href;
  await page.goto(address);
  return { page, complaints, left: () => requests.filter((url) => url !== address && !/^(data|blob):/.test(url)) };
}

/** Waits until the charts in view are drawn. */
export async function drawn(page) {
  await page.waitForFunction(() => {
    const boxes = [...document.querySelectorAll("[data-chart], [data-flame]")];
    const seen = boxes.filter(
      (box) => box.clientWidth > 0 && box.getBoundingClientRect().top < innerHeight && box.checkVisibility(),
    );
    return document.documentElement.classList.contains("drawn") && seen.every((box) => box.dataset.drawn);
  });
}

/** Unfolds everything and draws every chart. */
export async function drawAll(page) {
  await page.evaluate(() => {
    for (const it of document.querySelectorAll("details.comparison")) it.open = true;
  });
  const figures = "[data-chart], [data-flame]";
  const boxes = page.locator(figures);
  for (let idx = 0; idx < (await boxes.count()); idx += 1) {
    await boxes.nth(idx).scrollIntoViewIfNeeded();
    const isDrawn = ([all, at]) => document.querySelectorAll(all)[at].dataset.drawn;
    await page.waitForFunction(isDrawn, [figures, idx]);
  }
  await page.evaluate(() => scrollTo(0, 0));
}

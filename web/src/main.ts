// Draws the charts over the page that is already readable without them.

import { Chart } from "./draw.js";
import type { RecordData } from "./data.js";
import { download } from "./download.js";
import { Flame } from "./flame/index.js";
import { hide } from "./tooltip.js";
import "./page.css";

type Figure = Chart | Flame;

function start(): void {
  const figures: Figure[] = [];
  for (const section of document.querySelectorAll<HTMLElement>("[data-record]")) {
    const id = section.dataset.record ?? "";
    const text = document.getElementById(id)?.textContent;
    if (!text) continue;
    const record = JSON.parse(text) as RecordData;
    for (const box of section.querySelectorAll<HTMLElement>("[data-chart]")) figures.push(new Chart(box, record));
    for (const box of section.querySelectorAll<HTMLElement>("[data-flame]")) figures.push(new Flame(box, record));
    for (const button of section.querySelectorAll<HTMLButtonElement>("button[data-download]")) {
      const packed = () => document.getElementById(`${id}-record`)?.textContent ?? "";
      button.onclick = () =>
        void download(record, packed(), button.dataset.download ?? "").catch((error: unknown) => console.error(error));
    }
  }
  document.documentElement.classList.add("drawn");
  watch(figures);
  print(figures);
  window.addEventListener("scroll", hide, { passive: true });
}

/** Draws what is near the window, and again what has another width. */
function watch(figures: Figure[]): void {
  const of = new Map(figures.map((figure) => [figure.box as Element, figure]));
  const near = new Set<Element>();
  const draw = (box: Element) => {
    if (near.has(box)) void of.get(box)?.draw();
  };
  const seen = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        if (isIntersecting) near.add(target);
        else near.delete(target);
        draw(target);
      }
    },
    { rootMargin: "300px" },
  );
  const sized = new ResizeObserver((entries) => entries.forEach(({ target }) => draw(target)));
  for (const { box } of figures) {
    seen.observe(box);
    sized.observe(box);
  }
}

/** Paper shows everything: what is folded opens, what was not in view is drawn. */
function print(figures: Figure[]): void {
  let folded: HTMLDetailsElement[] = [];
  window.addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll<HTMLDetailsElement>("details:not([open]):not(.screen)")];
    for (const it of folded) it.open = true;
    for (const it of figures) if (it.box.dataset.drawn === undefined) void it.draw();
  });
  window.addEventListener("afterprint", () => {
    for (const it of folded) it.open = false;
  });
}

start();

// Draws the charts over the page that is already readable without them.

import { Chart } from "./draw.js";
import type { RecordData } from "./data.js";
import { download } from "./download.js";
import { hide } from "./tooltip.js";
import "./page.css";

function start(): void {
  const charts: Chart[] = [];
  for (const section of document.querySelectorAll<HTMLElement>("[data-record]")) {
    const id = section.dataset.record ?? "";
    const text = document.getElementById(id)?.textContent;
    if (!text) continue;
    const record = JSON.parse(text) as RecordData;
    for (const box of section.querySelectorAll<HTMLElement>("[data-chart]")) charts.push(new Chart(box, record));
    for (const button of section.querySelectorAll<HTMLButtonElement>("button[data-download]")) {
      const packed = () => document.getElementById(`${id}-record`)?.textContent ?? "";
      button.onclick = () =>
        void download(record, packed(), button.dataset.download ?? "").catch((error: unknown) => console.error(error));
    }
  }
  document.documentElement.classList.add("drawn");
  watch(charts);
  print(charts);
  window.addEventListener("scroll", hide, { passive: true });
}

/** Draws what is near the window, and again what has another width. */
function watch(charts: Chart[]): void {
  const of = new Map(charts.map((chart) => [chart.box as Element, chart]));
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
  for (const { box } of charts) {
    seen.observe(box);
    sized.observe(box);
  }
}

/** Paper shows everything: what is folded opens, what was not in view is drawn. */
function print(charts: Chart[]): void {
  let folded: HTMLDetailsElement[] = [];
  window.addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll<HTMLDetailsElement>("details:not([open]):not(.screen)")];
    for (const it of folded) it.open = true;
    for (const chart of charts) if (chart.box.dataset.drawn === undefined) void chart.draw();
  });
  window.addEventListener("afterprint", () => {
    for (const it of folded) it.open = false;
  });
}

start();

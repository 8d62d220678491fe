// What a request's time went to on each arm: bars whose parts add up to the mean latency.

import type { TopLevelSpec } from "vega-lite";
import type { Bill } from "../data.js";

const STEP = 52;

export function bill(data: Bill): TopLevelSpec {
  const parts = [...new Set(data.parts.map((it) => it.part))];
  const start = new Map<string, number>();
  const values = data.parts
    .filter(({ value }) => value > 0)
    .map(({ arm, part, value, text }) => {
      const from = start.get(arm) ?? 0;
      start.set(arm, from + value);
      return {
        arm,
        part,
        from,
        to: from + value,
        middle: from + value / 2,
        value,
        text,
        says: { "": arm, [part]: `${text} per request` },
      };
    });
  const most = Math.max(...start.values());
  const y = {
    field: "arm",
    type: "nominal" as const,
    sort: null,
    title: null,
    axis: { ticks: false, domain: false, labelFontSize: 13 },
  };
  const range = parts.map((_, idx) => `var(--part-${idx % 3})`);
  const scale = { domain: [0, most], nice: false };
  return {
    height: STEP * new Set(data.parts.map((it) => it.arm)).size,
    data: { values },
    layer: [
      {
        mark: { type: "bar", height: 30, stroke: "var(--page)", strokeWidth: 1 },
        encoding: {
          y,
          x: { field: "from", type: "quantitative", title: `${data.unit} per request`, scale, axis: { tickCount: 6 } },
          x2: { field: "to" },
          color: {
            field: "part",
            type: "nominal",
            scale: { domain: parts, range },
            legend: { columns: 1, labelLimit: 400 },
          },
          tooltip: { field: "says", type: "nominal" },
        },
      },
      {
        // A part that is too narrow for its figure shows it under the pointer and in the table.
        transform: [{ filter: `datum.value > ${0.16 * most}` }],
        mark: { type: "text", fill: "var(--on-part)", fontSize: 12, fontWeight: 600 },
        encoding: {
          y,
          x: { field: "middle", type: "quantitative", scale },
          text: { field: "text" },
          tooltip: { field: "says", type: "nominal" },
        },
      },
    ],
  };
}

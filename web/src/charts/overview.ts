// Every verdict's tax with its interval, on one axis; the grey band is what nobody would notice.

import type { TopLevelSpec } from "vega-lite";
import type { Overview } from "../data.js";

const STEP = 30;

export function overview(data: Overview): TopLevelSpec {
  const known = data.verdicts.filter((it) => it.tax !== null);
  const ends = known.flatMap(({ tax }) => [tax!.v, tax!.lo ?? tax!.v, tax!.hi ?? tax!.v]);
  const [least, most] = span([...ends, -data.deltaPct, data.deltaPct]);
  const values = data.verdicts.map(({ label, tax, micros, verdict, tone }) => ({
    label,
    tone,
    v: tax?.v ?? null,
    lo: tax === null ? null : (tax.lo ?? least),
    hi: tax === null ? null : (tax.hi ?? most),
    says: { "": label, tax: tax?.text ?? "n/a", "per request": micros, verdict },
  }));
  const y = {
    field: "label",
    type: "nominal" as const,
    sort: null,
    title: null,
    axis: { labelLimit: 230, ticks: false, domain: false },
  };
  const scale = { domain: [least, most], nice: false, zero: false };
  const tone = {
    field: "tone",
    type: "nominal" as const,
    legend: null,
    scale: { domain: ["good", "loss", "unsure"], range: ["var(--good)", "var(--loss)", "var(--unsure)"] },
  };
  const tooltip = { field: "says", type: "nominal" as const };
  return {
    height: STEP * data.verdicts.length,
    data: { values },
    layer: [
      {
        data: { values: [{ from: -data.deltaPct, to: data.deltaPct }] },
        mark: { type: "rect", color: "var(--band)" },
        encoding: {
          x: {
            field: "from",
            type: "quantitative",
            scale,
            title: "tax, % (right of zero: a loss)",
            axis: { tickCount: 8 },
          },
          x2: { field: "to" },
        },
      },
      {
        data: { values: [{ zero: 0 }] },
        mark: { type: "rule", color: "var(--line)" },
        encoding: { x: { field: "zero", type: "quantitative" } },
      },
      {
        mark: { type: "rule", strokeWidth: 5, strokeCap: "round", opacity: 0.45 },
        encoding: { y, x: { field: "lo", type: "quantitative" }, x2: { field: "hi" }, color: tone, tooltip },
      },
      {
        mark: { type: "point", filled: true, size: 110, opacity: 1 },
        encoding: { y, x: { field: "v", type: "quantitative" }, color: tone, tooltip },
      },
    ],
  };
}

function span(ends: number[]): [number, number] {
  const [least, most] = [Math.min(...ends), Math.max(...ends)];
  const room = 0.06 * (most - least) || 1;
  return [least - room, most + room];
}

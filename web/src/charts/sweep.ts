// One figure of each arm over connections or over the rate: lines with the band of their intervals.

import type { TopLevelSpec } from "vega-lite";
import type { Series, Sweep } from "../data.js";
import { SHORT, armScales, logTicks } from "../theme.js";

/** An axis that spans more than this many times its beginning is logarithmic. */
const WIDE_SPAN = 8;

export function sweep(data: Sweep, series: Series): TopLevelSpec {
  const values = series.points.map(({ x, arm, v, lo, hi, text }) => ({
    x,
    arm,
    v,
    lo: lo ?? v,
    hi: hi ?? v,
    says: { "": arm, [data.axis]: String(x), [series.name.toLowerCase()]: text },
  }));
  const arms = data.arms.filter((arm) => values.some((row) => row.arm === arm));
  const scales = armScales(data.arms);
  const color = {
    field: "arm",
    type: "nominal" as const,
    scale: scales.color,
    legend: arms.length > 1 ? { values: arms } : null,
  };
  const shape = {
    field: "arm",
    type: "nominal" as const,
    scale: scales.shape,
    legend: arms.length > 1 ? { values: arms } : null,
  };
  const isPositive = values.every((row) => row.lo > 0);
  const y = {
    field: "v",
    type: "quantitative" as const,
    title: series.unit,
    scale: series.log && isPositive ? { type: "log" as const } : { zero: true },
    axis:
      series.log && isPositive
        ? { labelExpr: SHORT, values: logTicks(values.flatMap((row) => [row.lo, row.hi])) }
        : { labelExpr: SHORT, tickCount: 6 },
  };
  const zero = isPositive
    ? []
    : [
        {
          data: { values: [{ zero: 0 }] },
          mark: { type: "rule" as const, color: "var(--line)" },
          encoding: { y: { ...y, field: "zero" } },
        },
      ];
  const x = axis(
    data.axis,
    values.map((row) => row.x),
  );
  return {
    height: 260,
    data: { values },
    layer: [
      ...zero,
      { mark: { type: "area", opacity: 0.18 }, encoding: { x, y: { ...y, field: "lo" }, y2: { field: "hi" }, color } },
      {
        mark: { type: "line", strokeWidth: 2 },
        encoding: {
          x,
          y,
          color,
          strokeDash: {
            field: "arm",
            type: "nominal",
            scale: scales.dash,
            legend: arms.length > 1 ? { values: arms } : null,
          },
        },
      },
      {
        mark: { type: "point", filled: true, size: 70, opacity: 1 },
        encoding: { x, y, color, shape, tooltip: { field: "says", type: "nominal" } },
      },
    ],
  } as TopLevelSpec;
}

function axis(title: string, values: number[]) {
  const ticks = [...new Set(values)].sort((a, b) => a - b);
  const isWide = (ticks[0] ?? 0) > 0 && (ticks.at(-1) ?? 0) > WIDE_SPAN * (ticks[0] ?? 0);
  return {
    field: "x",
    type: "quantitative" as const,
    title,
    scale: isWide
      ? { type: "log" as const, base: 2, nice: false, padding: 10 }
      : { zero: false, nice: false, padding: 10 },
    axis: { values: ticks, format: "d", grid: false, labelOverlap: true },
  };
}

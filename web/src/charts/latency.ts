// Latency by percentile, with room for the tail: the axis counts nines. And what the other arm adds at each percentile.

import type { TopLevelSpec } from "vega-lite";
import type { Comparison, Difference } from "../data.js";
import { SHORT, armScales, logTicks } from "../theme.js";

const MARKS = [50, 90, 99, 99.9, 99.99];

/** Where a percentile stands on the axis: 90 at 1, 99 at 2, 99.9 at 3. */
function nines(pct: number): number {
  return -Math.log10(1 - pct / 100);
}

function axis() {
  const names = MARKS.map((pct) => `abs(datum.value - ${nines(pct)}) < 0.01 ? 'p${pct}' : `).join("");
  return {
    field: "nines",
    type: "quantitative" as const,
    title: "percentile of requests",
    scale: { domain: [0, nines(99.99)], nice: false },
    axis: { values: MARKS.map(nines), labelExpr: `${names}''` },
  };
}

export function percentiles(data: Comparison): TopLevelSpec {
  const values = data.percentiles.flatMap(({ arm, points }) =>
    points.map(({ pct, v, lo, hi, text }) => ({
      arm,
      nines: nines(pct),
      us: v,
      lo: lo ?? v,
      hi: hi ?? v,
      says: { "": arm, percentile: `p${pct}`, latency: text },
    })),
  );
  const scales = armScales(data.arms);
  const color = { field: "arm", type: "nominal" as const, scale: scales.color };
  const y = {
    field: "us",
    type: "quantitative" as const,
    title: "latency, µs",
    scale: { type: "log" as const, nice: false },
    axis: { labelExpr: SHORT, values: logTicks(values.flatMap((it) => [it.us, it.lo, it.hi])) },
  };
  return {
    height: 260,
    data: { values },
    encoding: { x: axis() },
    layer: [
      {
        mark: { type: "area", opacity: 0.18, clip: true },
        encoding: { y: { ...y, field: "lo" }, y2: { field: "hi" }, color },
      },
      {
        mark: { type: "line", strokeWidth: 2, clip: true },
        encoding: { y, color, strokeDash: { field: "arm", type: "nominal", scale: scales.dash } },
      },
      {
        mark: { type: "point", filled: true, size: 26, opacity: 1 },
        encoding: {
          y,
          color,
          shape: { field: "arm", type: "nominal", scale: scales.shape },
          tooltip: { field: "says", type: "nominal" },
        },
      },
    ],
  };
}

export function difference(data: Comparison): TopLevelSpec {
  const scales = armScales(data.arms);
  const label = (it: Difference) => `${it.arm} − ${it.baseline}`;
  const pooled = data.differences.flatMap((it) =>
    it.pooled.map(({ pct, v, text }) => ({
      arm: it.arm,
      nines: nines(pct),
      us: v,
      says: { "": label(it), percentile: `p${pct}, all requests together`, difference: text },
    })),
  );
  const judged = data.differences.flatMap((it) =>
    it.judged.map(({ pct, v, lo, hi, text }) => ({
      arm: it.arm,
      nines: nines(pct),
      us: v,
      lo: lo ?? v,
      hi: hi ?? v,
      says: { "": label(it), percentile: `p${pct}, epoch by epoch`, difference: text },
    })),
  );
  const color = { field: "arm", type: "nominal" as const, scale: scales.color, legend: null };
  const y = {
    field: "us",
    type: "quantitative" as const,
    title: "added latency, µs",
    axis: { labelExpr: SHORT, tickCount: 6 },
  };
  const tooltip = { field: "says", type: "nominal" as const };
  return {
    height: 220,
    layer: [
      {
        data: { values: [{ zero: 0 }] },
        mark: { type: "rule", color: "var(--line)" },
        encoding: { y: { field: "zero", type: "quantitative", title: y.title } },
      },
      {
        data: { values: pooled },
        mark: { type: "line", strokeWidth: 1.5, clip: true, opacity: 0.8 },
        encoding: { x: axis(), y, color },
      },
      {
        data: { values: pooled },
        mark: { type: "point", filled: true, size: 18, clip: true },
        encoding: { x: axis(), y, color, tooltip },
      },
      {
        data: { values: judged },
        mark: { type: "rule", strokeWidth: 4, opacity: 0.45, strokeCap: "round" },
        encoding: { x: axis(), y: { ...y, field: "lo" }, y2: { field: "hi" }, color, tooltip },
      },
      {
        data: { values: judged },
        mark: { type: "point", filled: true, size: 90, opacity: 1, shape: "diamond" },
        encoding: { x: axis(), y, color, tooltip },
      },
    ],
  } as TopLevelSpec;
}

// Noise, seen and not only believed: the effect of every epoch, and the rate of every slice over time.

import type { TopLevelSpec } from "vega-lite";
import type { Comparison, Epochs } from "../data.js";
import { pace, paceTitle, percent, share } from "../numbers.js";
import { PLAIN, SHORT, armScales } from "../theme.js";

export function epochs(data: Epochs): TopLevelSpec {
  const values = data.number.flatMap((number, idx) => {
    const effect = data.effectPct[idx] ?? null;
    if (effect === null) return [];
    const says = {
      "": `epoch ${number}`,
      tax: percent(effect),
      "stolen CPU": share(data.stealPct[idx] ?? null),
      "foreign CPU": share(data.foreignPct[idx] ?? null),
    };
    return [{ number, effect, state: data.noisy[idx] ? "disturbed epoch" : "epoch", says }];
  });
  const tax = data.tax;
  const effects = values.map((it) => it.effect);
  const ends = [...effects, 0, tax?.v ?? 0, tax?.lo ?? 0, tax?.hi ?? 0];
  const room = 0.05 * (Math.max(...ends) - Math.min(...ends)) || 1;
  const domain = [Math.min(...ends) - room, Math.max(...ends) + room];
  const y = {
    field: "effect",
    type: "quantitative" as const,
    title: `tax of ${data.arm}, %`,
    scale: { domain, nice: false },
    axis: { tickCount: 6 },
  };
  const band =
    tax === null
      ? []
      : [{ lo: tax.lo ?? domain[0], hi: tax.hi ?? domain[1], v: tax.v, says: { "": "estimate", tax: tax.text } }];
  const tooltip = { field: "says", type: "nominal" as const };
  const states = ["epoch", "disturbed epoch"];
  const legend = data.noisy.some((it) => it) ? undefined : null;
  return {
    height: 220,
    layer: [
      {
        data: { values: band },
        mark: { type: "rect", color: "var(--accent)", opacity: 0.14 },
        encoding: { y: { ...y, field: "lo" }, y2: { field: "hi" }, tooltip },
      },
      {
        data: { values: band },
        mark: { type: "rule", color: "var(--accent)", strokeWidth: 2 },
        encoding: { y: { ...y, field: "v" }, tooltip },
      },
      {
        data: { values: [{ zero: 0 }] },
        mark: { type: "rule", color: "var(--line)" },
        encoding: { y: { ...y, field: "zero" } },
      },
      {
        data: { values },
        mark: { type: "point", filled: true, size: 60, opacity: 0.9 },
        encoding: {
          x: {
            field: "number",
            type: "quantitative",
            title: "epoch",
            scale: { zero: false, nice: false, padding: 12 },
            axis: { grid: false, tickMinStep: 1, format: "d" },
          },
          y,
          shape: { field: "state", type: "nominal", scale: { domain: states, range: ["circle", "cross"] }, legend },
          color: {
            field: "state",
            type: "nominal",
            scale: { domain: states, range: ["var(--accent)", "var(--steal)"] },
            legend,
          },
          tooltip,
        },
      },
    ],
  } as TopLevelSpec;
}

export function slices(data: Comparison): TopLevelSpec {
  const it = data.slices!;
  const values = it.rate.flatMap((perS, idx) => {
    if (perS === null) return [];
    const arm = data.arms[it.arm[idx] ?? -1] ?? "?";
    const at = it.startS[idx] as number;
    return [
      {
        at,
        perS,
        arm,
        says: { "": `${arm}, epoch ${it.epoch[idx]}`, pace: pace(perS, it.unit), at: `${at.toFixed(2)} s` },
      },
    ];
  });
  const disturbed = it.disturbed.map((epoch) => ({
    ...epoch,
    kind: epoch.steal ? "stolen CPU" : "foreign CPU",
    says: { "": `epoch ${epoch.epoch}`, disturbed: epoch.text },
  }));
  const scales = armScales(data.arms);
  const isMany = values.length > 600;
  const x = {
    field: "at",
    type: "quantitative" as const,
    title: "seconds since the comparison began",
    scale: { nice: false, zero: false, padding: 6 },
    axis: { grid: false, tickCount: 10 },
  };
  const y = {
    field: "perS",
    type: "quantitative" as const,
    title: paceTitle(it.unit),
    scale: { zero: true },
    axis: { labelExpr: it.unit === "s" ? PLAIN : SHORT, tickCount: 6 },
  };
  const kinds = ["stolen CPU", "foreign CPU"];
  return {
    height: 240,
    layer: [
      ...(disturbed.length === 0
        ? []
        : [
            {
              data: { values: disturbed },
              mark: { type: "rect" as const, opacity: 0.3 },
              encoding: {
                x: { ...x, field: "fromS" },
                x2: { field: "toS" },
                fill: {
                  field: "kind",
                  type: "nominal" as const,
                  scale: { domain: kinds, range: ["var(--steal)", "var(--foreign)"] },
                  legend: { values: [...new Set(disturbed.map((one) => one.kind))] },
                },
                tooltip: { field: "says", type: "nominal" as const },
              },
            },
          ]),
      {
        data: { values },
        mark: { type: "point", filled: true, size: isMany ? 12 : 30, opacity: isMany ? 0.6 : 0.85 },
        encoding: {
          x,
          y,
          color: { field: "arm", type: "nominal", scale: scales.color },
          shape: { field: "arm", type: "nominal", scale: scales.shape },
          tooltip: { field: "says", type: "nominal" },
        },
      },
    ],
  } as TopLevelSpec;
}

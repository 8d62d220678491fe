// Colours and type of all charts. Colours are the page's own variables, so that light, dark and paper need no second
// drawing; shapes differ too, because colour alone carries no meaning.

import type { Config } from "vega-lite";

export const ARM_COLOURS = [0, 1, 2, 3, 4, 5].map((idx) => `var(--arm-${idx})`);
export const ARM_SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down"];
export const ARM_DASHES = [
  [1, 0],
  [6, 3],
  [2, 2],
  [8, 2, 2, 2],
  [4, 4],
  [1, 3],
];

const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";

export const config: Config = {
  background: "transparent",
  font: FONT,
  aria: false,
  view: { stroke: "transparent" },
  axis: {
    domainColor: "var(--line)",
    gridColor: "var(--grid)",
    tickColor: "var(--line)",
    labelColor: "var(--muted)",
    titleColor: "var(--muted)",
    titleFontWeight: "normal",
    labelFontSize: 12,
    titleFontSize: 12,
    labelOverlap: "greedy",
  },
  legend: {
    labelColor: "var(--text)",
    titleColor: "var(--muted)",
    labelFontSize: 12,
    orient: "top",
    title: null,
    symbolSize: 70,
    symbolOpacity: 1,
  },
  text: { fill: "var(--text)", fontSize: 12 },
};

/** Ticks as 20k and 1.5M, and zero without a unit. */
export const SHORT = "format(datum.value, '~s')";

/** Ticks as they are: 0.08. */
export const PLAIN = "format(datum.value, '~g')";

/** Ticks of a logarithmic axis that holds these values: 1, 2, 5, 10 …, fewer where it is long. */
export function logTicks(values: number[]): number[] {
  const [least, most] = [Math.min(...values), Math.max(...values)].map(Math.log10) as [number, number];
  const steps = most - least > 2.5 ? [1] : most - least > 1.2 ? [1, 3] : [1, 2, 3, 5, 7];
  const ticks: number[] = [];
  for (let power = Math.floor(least); power <= most; power += 1) ticks.push(...steps.map((step) => step * 10 ** power));
  return ticks.filter((tick) => Math.log10(tick) >= least && Math.log10(tick) <= most);
}

/** Scales that give each arm its colour, shape and dash. */
export function armScales(arms: string[]) {
  const take = <T>(all: T[]): T[] => arms.map((_, idx) => all[idx % all.length] as T);
  return {
    color: { domain: arms, range: take(ARM_COLOURS) },
    shape: { domain: arms, range: take(ARM_SHAPES) },
    dash: { domain: arms, range: take(ARM_DASHES) },
  };
}

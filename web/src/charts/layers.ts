// Where a request's CPU time goes on each arm: bars whose parts are layers. Many layers need more than colours: each
// has a number, which stands in its part or beside it, and in the list above. Parts too small for that are one part, whose
// layers its words name.

import type { TopLevelSpec } from "vega-lite";
import type { Why } from "../data.js";
import { ARM_COLOURS } from "../theme.js";

const STEP = 84;
const BAR = 30;
/** What a character is wide, and what is left free around words. */
const CHARACTER_PX = 7;
const MARGIN_PX = 10;
/** Of an arm's time; at 300 pixels three such parts beside each other have room for a number each. */
const LEAST_SHARE = 0.02;
/** Where numbers stand that their part has no room for, seen from the middle of the bar: each in turn, so that none meets
 * another. */
const BESIDE_PX = [-24, 24, -37];
const SMALL = `+ the others, under ${100 * LEAST_SHARE} % each`;

export function layers({ arms, layers }: Why): TopLevelSpec {
  const named = layers.map((it, idx) => ({ ...it, numbered: `${idx + 1} ${it.name}`, number: String(idx + 1) }));
  const values = arms.flatMap((arm, side) => partsOf(side, arm, named));
  const most = Math.max(...values.map(({ to }) => to));
  const y = {
    field: "arm",
    type: "nominal" as const,
    sort: null,
    title: null,
    axis: { ticks: false, domain: false, labelFontSize: 13 },
  };
  const all = [...named.map(({ numbered }) => numbered), SMALL];
  const domain = all.filter((it) => values.some(({ numbered }) => numbered === it));
  const range = domain.map((_, idx) => ARM_COLOURS[idx % ARM_COLOURS.length] as string);
  const scale = { domain: [0, most], nice: false };
  const room = (words: string) =>
    `datum.value / ${most} * width > ${CHARACTER_PX} * length(datum.${words}) + ${MARGIN_PX}`;
  const text = {
    y,
    x: { field: "middle", type: "quantitative" as const, scale },
    tooltip: { field: "says", type: "nominal" as const },
  };
  return {
    height: STEP * 2,
    data: { values },
    layer: [
      {
        mark: { type: "bar", height: BAR, stroke: "var(--page)", strokeWidth: 1 },
        encoding: {
          y,
          x: { field: "from", type: "quantitative", title: "µs per request", scale, axis: { tickCount: 6 } },
          x2: { field: "to" },
          color: {
            field: "numbered",
            type: "nominal",
            scale: { domain, range },
            legend: { columns: { signal: "max(1, floor(width / 260))" }, labelLimit: 240 },
          },
          tooltip: { field: "says", type: "nominal" },
        },
      },
      {
        transform: [
          { calculate: `${room("numbered")} ? datum.numbered : datum.number`, as: "label" },
          { filter: room("label") },
        ],
        mark: { type: "text", fill: "var(--on-part)", fontSize: 12, fontWeight: 600 },
        encoding: { ...text, text: { field: "label" } },
      },
      ...BESIDE_PX.map((dy, turn) => ({
        transform: [{ filter: `!(${room("number")}) && datum.turn === ${turn}` }],
        mark: { type: "text" as const, fill: "var(--text)", fontSize: 11, dy },
        encoding: { ...text, text: { field: "number" } },
      })),
    ],
  };
}

type Named = Why["layers"][number] & { numbered: string; number: string };

/** The parts of an arm's bar from left to right. */
function partsOf(side: number, arm: string, named: Named[]) {
  const known = named.flatMap((it) => {
    const figure = it.us[side];
    return figure === null || figure === undefined || figure.v <= 0 ? [] : [{ ...it, figure }];
  });
  const sum = known.reduce((sum, { figure }) => sum + figure.v, 0);
  const isSmall = ({ figure }: (typeof known)[number]) => figure.v < LEAST_SHARE * sum;
  const shown = known
    .filter((it) => !isSmall(it))
    .map(({ name, numbered, number, figure, difference }) => {
      const says: Record<string, string> = { "": `${arm}, ${name}`, "per request": figure.text, difference };
      return { numbered, number, value: figure.v, says };
    });
  const small = known.filter(isSmall);
  if (small.length > 0) {
    const each = small.map(({ numbered, figure }) => [numbered, figure.text]);
    const value = small.reduce((sum, { figure }) => sum + figure.v, 0);
    const says = { "": `${arm}, the others`, ...Object.fromEntries(each) };
    shown.push({ numbered: SMALL, number: "+", value, says });
  }
  let from = 0;
  return shown.map((it, idx) => {
    const part = { ...it, arm, from, to: from + it.value, middle: from + it.value / 2, turn: idx % BESIDE_PX.length };
    from = part.to;
    return part;
  });
}

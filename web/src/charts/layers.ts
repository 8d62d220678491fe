// Where a request's CPU time goes on each arm: bars whose parts are layers. Many layers need more than colours: each
// has a number, which stands in its part where there is room, and in the list above.

import type { TopLevelSpec } from "vega-lite";
import type { Why } from "../data.js";
import { ARM_COLOURS } from "../theme.js";

const STEP = 52;
/** What a character is wide, and what is left free around words. */
const CHARACTER_PX = 7;
const MARGIN_PX = 10;

export function layers({ arms, layers }: Why): TopLevelSpec {
  const named = layers.map((it, idx) => ({ ...it, numbered: `${idx + 1} ${it.name}`, number: String(idx + 1) }));
  const start = [0, 0];
  const values = named.flatMap(({ name, numbered, number, us, difference }) =>
    us.flatMap((figure, side) => {
      const from = start[side] ?? 0;
      if (figure === null || figure.v <= 0) return [];
      start[side] = from + figure.v;
      return {
        arm: arms[side],
        numbered,
        number,
        from,
        to: from + figure.v,
        middle: from + figure.v / 2,
        value: figure.v,
        says: { "": `${arms[side]}, ${name}`, "per request": figure.text, difference },
      };
    }),
  );
  const most = Math.max(...start);
  const y = {
    field: "arm",
    type: "nominal" as const,
    sort: null,
    title: null,
    axis: { ticks: false, domain: false, labelFontSize: 13 },
  };
  const domain = named.map(({ numbered }) => numbered);
  const range = domain.map((_, idx) => ARM_COLOURS[idx % ARM_COLOURS.length] as string);
  const scale = { domain: [0, most], nice: false };
  const room = `datum.value / ${most} * width`;
  return {
    height: STEP * 2,
    data: { values },
    layer: [
      {
        mark: { type: "bar", height: 30, stroke: "var(--page)", strokeWidth: 1 },
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
          {
            calculate: `${room} > ${CHARACTER_PX} * length(datum.numbered) + ${MARGIN_PX} ? datum.numbered : datum.number`,
            as: "label",
          },
          { filter: `${room} > ${CHARACTER_PX} * length(datum.label) + ${MARGIN_PX}` },
        ],
        mark: { type: "text", fill: "var(--on-part)", fontSize: 12, fontWeight: 600 },
        encoding: {
          y,
          x: { field: "middle", type: "quantitative", scale },
          text: { field: "label" },
          tooltip: { field: "says", type: "nominal" },
        },
      },
    ],
  };
}

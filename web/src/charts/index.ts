// Which chart a figure of the page asks for.

import type { TopLevelSpec } from "vega-lite";
import type { RecordData } from "../data.js";
import { bill } from "./bill.js";
import { difference, percentiles } from "./latency.js";
import { layers } from "./layers.js";
import { overview } from "./overview.js";
import { sweep } from "./sweep.js";
import { epochs, slices } from "./time.js";

/** The spec of chart `kind` with what `idx` (and `part`, the pair of arms) names; `null` for one that is unknown. */
export function spec(record: RecordData, kind: string, idx: number, part: number): TopLevelSpec | null {
  const comparison = record.comparisons[idx];
  const one = record.sweeps[idx];
  const series = one?.series[part];
  const pair = comparison?.epochs[part];
  switch (kind) {
    case "overview": {
      const found = record.overviews[idx];
      return found === undefined ? null : overview(found);
    }
    case "sweep":
      return one === undefined || series === undefined ? null : sweep(one, series);
    case "percentiles":
      return comparison === undefined ? null : percentiles(comparison);
    case "difference":
      return comparison === undefined ? null : difference(comparison);
    case "bill":
      return !comparison?.bill ? null : bill(comparison.bill);
    case "layers": {
      const why = comparison?.whys[part];
      return why === undefined ? null : layers(why);
    }
    case "epochs":
      return pair === undefined ? null : epochs(pair);
    case "slices":
      return comparison === undefined || comparison.slices === null ? null : slices(comparison);
    default:
      return null;
  }
}

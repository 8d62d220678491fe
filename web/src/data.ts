// What the page holds as JSON: written by crates/report/src/html/form.rs, read here.
// Numbers are drawn; every figure with an interval brings its text, so that a chart says the digits of the table.

/** A value with the ends of its interval; `null` where an end is unbounded. */
export interface Figure {
  v: number;
  lo: number | null;
  hi: number | null;
  text: string;
}

/** One verdict of the overview. */
export interface Verdict {
  label: string;
  tax: Figure | null;
  micros: string;
  verdict: string;
  tone: "good" | "loss" | "unsure";
}

/** The verdicts of a group, with the largest tax that is not worth naming. */
export interface Overview {
  deltaPct: number;
  verdicts: Verdict[];
}

/** A figure of one arm at one place of the axis. */
export interface SweepPoint extends Figure {
  x: number;
  arm: string;
}

/** One figure of all arms over connections or over a rate. */
export interface Series {
  name: string;
  /** What its axis counts. */
  unit: string;
  log: boolean;
  points: SweepPoint[];
}

export interface Sweep {
  axis: string;
  arms: string[];
  series: Series[];
}

/** Latency of an arm below which so many percent of its requests lie, or a difference of two such; µs. */
export interface Percentile extends Figure {
  pct: number;
}

/** The other arm's percentiles minus the baseline's. */
export interface Difference {
  arm: string;
  baseline: string;
  /** Of all requests together: no interval. */
  pooled: Percentile[];
  /** Judged epoch by epoch, with intervals. */
  judged: Percentile[];
}

/** What a request's time went to on each arm. */
export interface Bill {
  /** `µs` or `ms`. */
  unit: string;
  parts: { arm: string; part: string; value: number; text: string }[];
}

/** Epochs of a pair of arms, column by column. */
export interface Epochs {
  arm: string;
  tax: Figure | null;
  number: number[];
  effectPct: (number | null)[];
  stealPct: (number | null)[];
  foreignPct: (number | null)[];
  noisy: boolean[];
}

/** Slices in the order of time, column by column. */
export interface Slices {
  /** What `rate` counts: requests (`/s`) or bytes (`B`) per second, seconds of a run (`s`), µs of a response (`us`). */
  unit: string;
  epoch: number[];
  arm: number[];
  startS: number[];
  rate: (number | null)[];
  /** Epochs that are drawn as disturbed. */
  disturbed: { epoch: number; fromS: number; toS: number; text: string; steal: boolean }[];
}

/** Call chains of two arms as a tree: frames in the order of a walk that goes down first, column by column. */
export interface Chains {
  requests: [number, number];
  names: string[];
  /** How many frames called it; 0 is all processes together. */
  depth: number[];
  /** Its place in `names`. */
  name: number[];
  /** CPU time in itself and not in what it calls, by arm. */
  ns: [number[], number[]];
}

/** Where a request's CPU time goes on a pair of arms. */
export interface Why {
  arms: [string, string];
  /** µs per request by arm. */
  layers: { name: string; us: [Figure | null, Figure | null]; difference: string }[];
  chains: Chains | null;
}

export interface Comparison {
  place: string;
  arms: string[];
  percentiles: { arm: string; points: Percentile[] }[];
  differences: Difference[];
  bill: Bill | null;
  epochs: Epochs[];
  slices: Slices | null;
  whys: Why[];
}

/** All of one record. */
export interface RecordData {
  name: string;
  overviews: Overview[];
  sweeps: Sweep[];
  comparisons: Comparison[];
  /** HdrHistogram interval log; empty without samples. */
  hdr: string;
}

// Call chains of two arms as one tree: what each frame costs a request, and where frames stand in a picture.
// Frames are numbered as a walk meets them that goes down first, so that all below a frame follow it. A chain may be
// long: nothing here calls itself.

import type { Chains } from "../data.js";

/** What is drawn: both arms together with their difference, or one alone. */
export type Side = "both" | 0 | 1;

/** A drawn rectangle, in pixels from the left; `frame` is null for siblings too narrow to be drawn one by one. */
export interface Place {
  frame: number | null;
  depth: number;
  x: number;
  width: number;
  /** The frames that it stands for. */
  count: number;
}

/** Narrower frames are drawn together. */
const LEAST_PX = 0.3;
/** So wide is the least that is drawn of narrow ones together. */
const LEAST_TOGETHER_PX = 1;

export class Tree {
  readonly names: string[];
  readonly name: number[];
  readonly depth: number[];
  /** µs per request of each frame in itself, by arm. */
  readonly own: [Float64Array, Float64Array];
  /** The same with all that it calls. */
  readonly us: [Float64Array, Float64Array];
  readonly parent: Int32Array;
  /** The first frame that is no longer below. */
  readonly end: Int32Array;
  /** The largest difference of a frame. */
  readonly most: number;

  constructor(chains: Chains) {
    const n = chains.depth.length;
    [this.names, this.name, this.depth] = [chains.names, chains.name, chains.depth];
    const perRequest = (side: 0 | 1) => {
      const all = Float64Array.from(chains.ns[side], (ns) => ns / 1e3 / chains.requests[side]);
      return all;
    };
    this.own = [perRequest(0), perRequest(1)];
    this.us = [this.own[0].slice(), this.own[1].slice()];
    this.parent = new Int32Array(n).fill(-1);
    this.end = new Int32Array(n).fill(n);
    this.link();
    let most = 0;
    for (let frame = 1; frame < n; frame += 1) most = Math.max(most, Math.abs(this.difference(frame)));
    this.most = most;
  }

  private link(): void {
    const open: number[] = [];
    this.depth.forEach((depth, frame) => {
      while (open.length > depth) this.end[open.pop() as number] = frame;
      this.parent[frame] = open.at(-1) ?? -1;
      open.push(frame);
    });
    for (const us of this.us)
      for (let frame = us.length - 1; frame > 0; frame -= 1) {
        const parent = this.parent[frame] as number;
        us[parent] = (us[parent] as number) + (us[frame] as number);
      }
  }

  /** The other arm's µs per request less the baseline's. */
  difference(frame: number): number {
    return (this.us[1][frame] as number) - (this.us[0][frame] as number);
  }

  /** What makes a frame wide: µs per request. */
  size(frame: number, side: Side): number {
    const [base, other] = [this.us[0][frame] as number, this.us[1][frame] as number];
    return side === "both" ? base + other : side === 0 ? base : other;
  }

  label(frame: number): string {
    return this.names[this.name[frame] as number] ?? "";
  }

  /** The frames that called this one, the outermost first. */
  callers(frame: number): number[] {
    const found: number[] = [];
    for (let at = this.parent[frame] as number; at >= 0; at = this.parent[at] as number) found.unshift(at);
    return found;
  }

  /** Where everything below `top` stands in so many pixels; its callers stand above it in full width. */
  places(top: number, side: Side, width: number): Place[] {
    const found: Place[] = this.callers(top).map((frame, depth) => ({ frame, depth, x: 0, width, count: 1 }));
    // One scale for both arms, so that the cheaper one is narrower.
    const full = side === "both" ? this.size(top, side) : Math.max(this.size(top, 0), this.size(top, 1));
    if (!(full > 0)) return found;
    const px = width / full;
    const open: Place[] = [{ frame: top, depth: found.length, x: 0, width: px * this.size(top, side), count: 1 }];
    for (let place = open.pop(); place !== undefined; place = open.pop()) {
      found.push(place);
      if (place.frame !== null) open.push(...this.below(place.frame, place, side, px).reverse());
    }
    return found;
  }

  /** What `frame` calls, from left to right. */
  private below(frame: number, at: Place, side: Side, px: number): Place[] {
    const found: Place[] = [];
    const depth = at.depth + 1;
    let x = at.x;
    let narrow: Place | null = null;
    const close = () => {
      if (narrow !== null && narrow.width >= LEAST_TOGETHER_PX) found.push(narrow);
      narrow = null;
    };
    const end = this.end[frame] as number;
    for (let called = frame + 1; called < end; called = this.end[called] as number) {
      const width = px * this.size(called, side);
      if (width >= LEAST_PX) {
        close();
        found.push({ frame: called, depth, x, width, count: 1 });
      } else if (width > 0) {
        narrow ??= { frame: null, depth, x, width: 0, count: 0 };
        narrow.width += width;
        narrow.count += 1;
      }
      x += width;
    }
    close();
    return found;
  }

  /** The frames whose name holds `words`, and what they cost a request on each arm, those in each other once. */
  search(words: string): { frames: Set<number>; us: [number, number] } {
    const wanted = words.toLowerCase();
    const isNamed = this.names.map((it) => it.toLowerCase().includes(wanted));
    const frames = new Set<number>();
    const us: [number, number] = [0, 0];
    let counted = 0;
    this.name.forEach((name, frame) => {
      if (!isNamed[name]) return;
      frames.add(frame);
      if (frame < counted) return;
      counted = this.end[frame] as number;
      us[0] += this.us[0][frame] as number;
      us[1] += this.us[1][frame] as number;
    });
    return { frames, us };
  }
}

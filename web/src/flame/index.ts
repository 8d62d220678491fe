// The flame graph of two arms: callers above what they call, as wide as a request's CPU time in them. Frames are
// elements of the page, so that the browser cuts their text and the keyboard reaches them.

import type { RecordData, Why } from "../data.js";
import { micros, signedMicros } from "../numbers.js";
import { hide, show } from "../tooltip.js";
import { Controls } from "./controls.js";
import { type Place, type Side, Tree } from "./tree.js";

const ROW_PX = 20;
/** Frames that are narrower have no text. */
const LEAST_TEXT_PX = 30;
/** Frames that are narrower say their name without their figure. */
const LEAST_FIGURE_PX = 120;
/** Differences below this share of the largest one have no line. */
const LEAST_SHARE = 0.02;

export class Flame {
  private readonly why: Why | undefined;
  private tree: Tree | null = null;
  private controls: Controls | null = null;
  private readonly graph = document.createElement("div");
  private side: Side = "both";
  /** The frames that were zoomed to, the last one at the end. */
  private way = [0];
  private focused = 0;
  private matches = new Set<number>();
  private places: Place[] = [];
  private elements = new Map<number, HTMLElement>();
  private drawnWidth = 0;

  constructor(
    readonly box: HTMLElement,
    record: RecordData,
  ) {
    const { idx = "0", part = "0" } = box.dataset;
    this.why = record.comparisons[Number(idx)]?.whys[Number(part)];
  }

  /** Draws it for the width that the page gives it, unless it stands there already. */
  draw(): void {
    const { why } = this;
    if (why === undefined || why.chains === null) return;
    if (this.tree === null) {
      this.tree = new Tree(why.chains);
      this.begin(why.arms);
    }
    // A scroll bar must not change the width that makes it appear.
    if (this.graph.clientWidth === this.drawnWidth) return;
    this.redraw();
    this.box.dataset.drawn = "yes";
  }

  private begin(arms: [string, string]): void {
    this.controls = new Controls(arms, {
      look: (side) => {
        this.side = side;
        this.redraw();
      },
      search: (words) => this.search(words),
      back: () => this.back(),
      reset: () => this.zoom(0),
    });
    const { graph } = this;
    graph.className = "frames";
    graph.setAttribute("role", "tree");
    graph.setAttribute(
      "aria-label",
      "Call chains. Arrow keys go from frame to frame, Enter zooms to one, Escape goes back.",
    );
    const frameOf = (event: Event) => {
      const element = (event.target as Element).closest<HTMLElement>("[data-frame]");
      return element === null ? null : Number(element.dataset.frame);
    };
    graph.onclick = (event) => {
      const frame = frameOf(event);
      if (frame !== null) this.zoom(frame);
    };
    graph.onkeydown = (event) => this.key(event);
    graph.onpointermove = (event) => {
      const frame = frameOf(event);
      if (frame === null) hide();
      else show(this.says(frame), event.clientX, event.clientY);
    };
    graph.onpointerleave = hide;
    graph.addEventListener("focusin", (event) => {
      const frame = frameOf(event);
      if (frame !== null) this.visit(frame);
    });
    graph.addEventListener("focusout", hide);
    this.box.replaceChildren(this.controls.element, graph);
  }

  private redraw(): void {
    const tree = this.tree as Tree;
    const { graph } = this;
    this.drawnWidth = graph.clientWidth;
    const hadFocus = graph.contains(document.activeElement);
    const top = this.way.at(-1) ?? 0;
    this.places = tree.places(top, this.side, this.drawnWidth);
    this.elements = new Map();
    const rows = document.createElement("div");
    let deepest = 0;
    for (const place of this.places) {
      deepest = Math.max(deepest, place.depth);
      rows.append(place.frame === null ? rest(place) : this.frame(place, place.frame, place.depth < tree.depth[top]!));
    }
    rows.style.height = `${(deepest + 1) * ROW_PX}px`;
    graph.replaceChildren(rows);
    hide();
    if (!this.elements.has(this.focused)) this.focused = top;
    const stop = this.elements.get(this.focused);
    if (stop !== undefined) stop.tabIndex = 0;
    if (hadFocus) stop?.focus();
    this.controls?.tell({ side: this.side, isZoomed: top !== 0 });
  }

  private frame(place: Place, frame: number, isCaller: boolean): HTMLElement {
    const tree = this.tree as Tree;
    const element = stand("frame", place);
    element.dataset.frame = String(frame);
    element.tabIndex = -1;
    element.setAttribute("role", "treeitem");
    element.setAttribute("aria-level", String(place.depth + 1));
    element.setAttribute("aria-label", this.words(frame));
    if (isCaller) element.classList.add("caller");
    if (this.matches.has(frame)) element.classList.add("match");
    if (this.side === "both") tint(element, tree.difference(frame) / (tree.most || 1));
    if (place.width >= LEAST_TEXT_PX) element.append(span("name", tree.label(frame)));
    if (place.width >= LEAST_FIGURE_PX) element.append(" ", span("figure", this.figure(frame)));
    this.elements.set(frame, element);
    return element;
  }

  private says(frame: number): Record<string, string> {
    const tree = this.tree as Tree;
    const [base, other] = this.why?.arms ?? ["", ""];
    const own = (tree.own[1][frame] as number) - (tree.own[0][frame] as number);
    return {
      "": tree.label(frame),
      [base]: micros(tree.us[0][frame] as number),
      [other]: micros(tree.us[1][frame] as number),
      difference: `${signedMicros(tree.difference(frame))} per request`,
      "of it in itself": signedMicros(own),
    };
  }

  /** What is read aloud: what stands in the frame comes first. */
  private words(frame: number): string {
    const [[, name], ...said] = Object.entries(this.says(frame)) as [[string, string], ...[string, string][]];
    return `${name} ${this.figure(frame)}; ${said.map((it) => it.join(" ")).join(", ")}`;
  }

  /** The figure that belongs to what is shown. */
  private figure(frame: number): string {
    const tree = this.tree as Tree;
    return this.side === "both" ? signedMicros(tree.difference(frame)) : micros(tree.size(frame, this.side));
  }

  /** The frame that has the focus, with its figures beside it. */
  private visit(frame: number): void {
    const element = this.elements.get(frame);
    if (element === undefined) return;
    const before = this.elements.get(this.focused);
    if (before !== undefined) before.tabIndex = -1;
    element.tabIndex = 0;
    this.focused = frame;
    if (!element.matches(":focus-visible")) return;
    const { left, bottom } = element.getBoundingClientRect();
    show(this.says(frame), left, bottom);
  }

  private key(event: KeyboardEvent): void {
    if (event.key === "Enter" || event.key === " ") this.zoom(this.focused);
    else if (event.key === "Escape") this.back();
    else {
      const next = this.next(event.key);
      if (next === undefined) return;
      this.elements.get(next)?.focus();
    }
    event.preventDefault();
  }

  /** The frame that a key goes to; `undefined` for another key. */
  private next(key: string): number | undefined {
    const frames = this.places.filter((it): it is Place & { frame: number } => it.frame !== null);
    const at = frames.find(({ frame }) => frame === this.focused) ?? frames[0];
    if (at === undefined) return undefined;
    const row = () => frames.filter(({ depth }) => depth === at.depth).map(({ frame }) => frame);
    const beside = (by: number) => row()[row().indexOf(at.frame) + by] ?? at.frame;
    switch (key) {
      case "ArrowUp":
        return Math.max(0, this.tree?.parent[at.frame] ?? 0);
      case "ArrowDown":
        return frames.find(({ frame }) => this.tree?.parent[frame] === at.frame)?.frame ?? at.frame;
      case "ArrowLeft":
        return beside(-1);
      case "ArrowRight":
        return beside(1);
      case "Home":
        return 0;
      case "End":
        return row().at(-1);
      default:
        return undefined;
    }
  }

  /** Gives a frame the full width; 0 is all. */
  private zoom(frame: number): void {
    if (frame === this.way.at(-1)) return;
    this.way = frame === 0 ? [0] : [...this.way, frame];
    this.focused = frame;
    this.redraw();
    this.graph.scrollTop = 0;
  }

  private back(): void {
    if (this.way.length === 1) return hide();
    this.focused = this.way.pop() ?? 0;
    this.redraw();
  }

  private search(words: string): void {
    const tree = this.tree as Tree;
    const found = words === "" ? null : tree.search(words);
    this.matches = found?.frames ?? new Set();
    for (const [frame, element] of this.elements) element.classList.toggle("match", this.matches.has(frame));
    if (found === null) return this.controls?.found("");
    const [base, other] = this.why?.arms ?? ["", ""];
    const [baseUs, otherUs] = found.us;
    const n = found.frames.size;
    const difference = signedMicros(otherUs - baseUs);
    this.controls?.found(
      n === 0
        ? "No frame has such a name."
        : `${n} ${n === 1 ? "frame" : "frames"}, per request: ${base} ${micros(baseUs)}, ${other} ${micros(otherUs)}, ` +
            `difference ${difference}.`,
    );
  }
}

/** An element at its place; wide ones keep a gap to the next. */
function stand(className: string, { x, width, depth }: Place): HTMLElement {
  const element = document.createElement("div");
  element.className = className;
  element.style.left = `${x}px`;
  element.style.top = `${depth * ROW_PX}px`;
  element.style.width = `${width > 3 ? width - 1 : width}px`;
  return element;
}

/** What is too narrow to be drawn one by one. */
function rest(place: Place): HTMLElement {
  const element = stand("frame rest", place);
  element.setAttribute("aria-hidden", "true");
  if (place.width >= LEAST_TEXT_PX) element.append(span("name", `${place.count} more`));
  return element;
}

/** Colour and line by the share of the largest difference; the root brings out small ones. */
function tint(element: HTMLElement, share: number): void {
  if (Math.abs(share) < LEAST_SHARE) return;
  element.classList.add(share > 0 ? "dearer" : "cheaper");
  element.style.setProperty("--heat", `${Math.round(100 * Math.sqrt(Math.min(1, Math.abs(share))))}%`);
}

function span(className: string, words: string): HTMLElement {
  const element = document.createElement("span");
  element.className = className;
  element.textContent = words;
  return element;
}

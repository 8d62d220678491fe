// The keyboard's way through a chart: arrow keys go from figure to figure, as the pointer would.

import type { View } from "vega";
import { hide, show, spoken } from "./tooltip.js";

interface Item {
  tooltip?: unknown;
  bounds: { x1: number; x2: number; y1: number; y2: number };
  mark?: { group?: Group };
  items?: Item[];
}
type Group = Item & { x?: number; y?: number };

interface Stop {
  says: unknown;
  x: number;
  y: number;
}

export class Walk {
  private stops: Stop[] | null = null;
  private at = -1;

  constructor(
    private readonly box: HTMLElement,
    private readonly view: View,
  ) {
    box.onkeydown = (event) => this.key(event);
    box.onblur = () => this.leave();
  }

  private key(event: KeyboardEvent): void {
    const steps: Record<string, number> = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
    if (event.key === "Escape") return this.leave();
    const stops = this.found();
    if (stops.length === 0) return;
    if (event.key === "Home") this.at = 0;
    else if (event.key === "End") this.at = stops.length - 1;
    else if (event.key in steps) this.at = (this.at + (steps[event.key] as number) + stops.length) % stops.length;
    else return;
    event.preventDefault();
    this.visit(stops[this.at] as Stop);
  }

  private visit(stop: Stop): void {
    const [left, top] = this.view.origin();
    const canvas = (this.box.querySelector("svg") ?? this.box).getBoundingClientRect();
    const scale = canvas.width / (this.box.querySelector("svg")?.width.baseVal.value || canvas.width);
    const [x, y] = [canvas.left + (left + stop.x) * scale, canvas.top + (top + stop.y) * scale];
    show(stop.says, x, y);
    ring(this.box, x, y);
    announce(spoken(stop.says));
  }

  private leave(): void {
    this.at = -1;
    hide();
    this.box.querySelector(".ring")?.remove();
  }

  /** All marks with figures, from left to right. */
  private found(): Stop[] {
    if (this.stops === null) {
      const stops: Stop[] = [];
      const root = (this.view.scenegraph() as unknown as { root: Item }).root;
      collect(root, 0, 0, stops);
      const seen = new Set<string>();
      this.stops = stops
        .sort((a, b) => a.x - b.x)
        .filter(({ says }) => !seen.has(spoken(says)) && seen.add(spoken(says)));
    }
    return this.stops;
  }
}

function collect(item: Group, x: number, y: number, stops: Stop[]): void {
  if (item.tooltip !== undefined && item.tooltip !== null) {
    const { x1, x2, y1, y2 } = item.bounds;
    stops.push({ says: item.tooltip, x: x + (x1 + x2) / 2, y: y + (y1 + y2) / 2 });
  }
  for (const inner of item.items ?? [])
    collect(
      inner,
      x + (inner.items !== undefined ? ((inner as Group).x ?? 0) : 0),
      y + (inner.items !== undefined ? ((inner as Group).y ?? 0) : 0),
      stops,
    );
}

/** A ring around the figure that is told. */
function ring(box: HTMLElement, x: number, y: number): void {
  let mark = box.querySelector<HTMLElement>(".ring");
  if (mark === null) {
    mark = document.createElement("div");
    mark.className = "ring";
    box.append(mark);
  }
  const at = box.getBoundingClientRect();
  mark.style.left = `${x - at.left}px`;
  mark.style.top = `${y - at.top}px`;
}

/** Tells it to screen readers. */
function announce(words: string): void {
  const live = document.getElementById("told");
  if (live !== null) live.textContent = words;
}

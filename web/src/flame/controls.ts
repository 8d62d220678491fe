// What stands above a flame graph: which arm is seen, the way back, the search and what it found.

import type { Side } from "./tree.js";

/** What the controls ask for. */
export interface Wishes {
  look: (side: Side) => void;
  search: (words: string) => void;
  back: () => void;
  reset: () => void;
}

const SIDES: Side[] = ["both", 0, 1];

export class Controls {
  readonly element = document.createElement("div");
  private readonly sides: HTMLButtonElement[];
  private readonly zoomed: HTMLButtonElement[];
  private readonly result = document.createElement("p");

  constructor(arms: [string, string], wishes: Wishes) {
    const words = ["Difference", ...arms.map((arm) => `${arm} alone`)];
    this.sides = SIDES.map((side, idx) => button(words[idx] ?? "", () => wishes.look(side)));
    this.zoomed = [button("Back", wishes.back), button("Show all", wishes.reset)];
    const search = document.createElement("input");
    search.type = "search";
    search.spellcheck = false;
    search.oninput = () => wishes.search(search.value.trim());
    const label = document.createElement("label");
    label.append("Find ", search);
    this.result.className = "note";
    this.result.setAttribute("role", "status");
    this.element.className = "controls";
    this.element.append(group("What is shown", this.sides), group("Zoom", this.zoomed), label, this.result);
  }

  /** Tells which side is seen, and whether there is a way back. */
  tell({ side, isZoomed }: { side: Side; isZoomed: boolean }): void {
    this.sides.forEach((it, idx) => it.setAttribute("aria-pressed", String(SIDES[idx] === side)));
    // A button that was pressed keeps the focus, so that it is only said to have no use.
    for (const it of this.zoomed) it.setAttribute("aria-disabled", String(!isZoomed));
  }

  /** Tells what a search found. */
  found(words: string): void {
    this.result.textContent = words;
  }
}

function button(words: string, act: () => void): HTMLButtonElement {
  const element = document.createElement("button");
  element.type = "button";
  element.textContent = words;
  element.onclick = act;
  return element;
}

function group(label: string, buttons: HTMLButtonElement[]): HTMLElement {
  const element = document.createElement("span");
  element.setAttribute("role", "group");
  element.setAttribute("aria-label", label);
  element.append(...buttons);
  return element;
}

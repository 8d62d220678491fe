// The figures under the pointer or the keyboard's focus. Text only: nothing of a record becomes markup.

import type { TooltipHandler } from "vega";

let box: HTMLElement | null = null;

function element(): HTMLElement {
  if (box === null) {
    box = document.createElement("div");
    box.className = "tooltip";
    box.setAttribute("aria-hidden", "true");
    box.hidden = true;
    document.body.append(box);
  }
  return box;
}

/** What a tooltip says, as one line for those who listen. */
export function spoken(value: unknown): string {
  return rows(value)
    .map(([name, text]) => (name === "" ? text : `${name}: ${text}`))
    .join("; ");
}

function rows(value: unknown): [string, string][] {
  if (value === null || typeof value !== "object") return [["", String(value)]];
  return Object.entries(value).map(([name, text]) => [name, String(text)]);
}

/** Shows `value` near a point of the window. */
export function show(value: unknown, x: number, y: number): void {
  const tip = element();
  const list = document.createElement("dl");
  for (const [name, text] of rows(value)) {
    const term = document.createElement("dt");
    term.textContent = name;
    const words = document.createElement("dd");
    words.textContent = text;
    list.append(term, words);
  }
  tip.replaceChildren(list);
  tip.hidden = false;
  const room = 12;
  const left = Math.min(x + room, document.documentElement.clientWidth - tip.offsetWidth - room);
  const below = y + room;
  const isBelow = below + tip.offsetHeight < window.innerHeight;
  tip.style.left = `${Math.max(room, left)}px`;
  tip.style.top = `${Math.max(room, isBelow ? below : y - tip.offsetHeight - room)}px`;
}

export function hide(): void {
  element().hidden = true;
}

/** For Vega: called with `null` when the pointer leaves a mark. */
export const handler: TooltipHandler = (_handler, event, _item, value) => {
  if (value === null || value === undefined || value === "") hide();
  else show(value, (event as MouseEvent).clientX, (event as MouseEvent).clientY);
};

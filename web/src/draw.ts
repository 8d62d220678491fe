// One figure of the page: drawn when it comes into view, again when its width changes.

import { View, parse } from "vega";
import { expressionInterpreter } from "vega-interpreter";
import { compile } from "vega-lite";
import { spec } from "./charts/index.js";
import type { RecordData } from "./data.js";
import { Walk } from "./walk.js";
import { config } from "./theme.js";
import { handler } from "./tooltip.js";

const LEAST_WIDTH = 200;

export class Chart {
  private view: View | null = null;
  private drawnWidth = 0;

  constructor(
    readonly box: HTMLElement,
    private readonly record: RecordData,
  ) {}

  /** Draws it for the width that the page gives it, unless it stands there already. */
  async draw(): Promise<void> {
    const width = Math.max(LEAST_WIDTH, Math.floor(this.box.clientWidth));
    if (Math.abs(width - this.drawnWidth) < 8) return;
    this.drawnWidth = width;
    const { chart = "", idx = "0", part = "0" } = this.box.dataset;
    const found = spec(this.record, chart, Number(idx), Number(part));
    if (found === null) return;
    const sized = { ...found, width, autosize: { type: "fit-x" as const, contains: "padding" as const } };
    const compiled = compile(sized as never, { config }).spec;
    this.view?.finalize();
    this.box.replaceChildren();
    // The interpreter keeps expressions from being compiled as code, which the page's own policy forbids.
    const view = new View(parse(compiled, undefined, { ast: true }), {
      expr: expressionInterpreter,
      renderer: "svg",
      container: this.box,
      hover: true,
    } as never);
    this.view = view.tooltip(handler);
    await view.runAsync();
    // The box itself is named and told; the drawing's parts would only be noise.
    this.box.querySelector("svg")?.setAttribute("aria-hidden", "true");
    this.box.dataset.drawn = "yes";
    new Walk(this.box, view);
  }
}

// Screenshots for docs/: `node test/screenshots.mjs PAGE FOLDER`. The first screens, in both schemes, at three widths.

import { join } from "node:path";
import { drawAll, drawn, launch, open } from "./browser.mjs";

const HEIGHT = 1250;
const SHOTS = [
  [400, "light"],
  [400, "dark"],
  [1000, "light"],
  [1000, "dark"],
  [1600, "light"],
  [1600, "dark"],
];

const [page, folder] = process.argv.slice(2);
const browser = await launch();
for (const [width, colorScheme] of SHOTS) {
  const opened = await open(browser, page, { width, height: HEIGHT, colorScheme });
  await drawn(opened.page);
  await drawAll(opened.page);
  await opened.page.screenshot({ path: join(folder, `report-${width}-${colorScheme}.png`) });
  await opened.page.close();
}
await browser.close();

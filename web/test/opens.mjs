// How long a page takes from its address to the charts in view: `node test/opens.mjs PAGE`.

import { drawn, launch, open } from "./browser.mjs";

const ROUNDS = 5;

const browser = await launch();
const times = [];
for (let round = 0; round < ROUNDS; round += 1) {
  const start = performance.now();
  const { page } = await open(browser, process.argv[2]);
  await drawn(page);
  times.push(performance.now() - start);
  await page.close();
}
await browser.close();
times.sort((a, b) => a - b);
const [least, median, most] = [times[0], times[Math.floor(ROUNDS / 2)], times[ROUNDS - 1]].map(
  (ms) => `${(ms / 1e3).toFixed(2)} s`,
);
console.log(
  `${process.argv[2].split("/").at(-1)}: charts in view after ${median} (${least} to ${most}, ${ROUNDS} rounds)`,
);

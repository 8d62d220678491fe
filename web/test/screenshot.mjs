// The screenshot that README and book show: `node test/screenshot.mjs PAGE FILE`.

import { drawAll, drawn, launch, open } from "./browser.mjs";

const [page, file] = process.argv.slice(2);
const browser = await launch();
const opened = await open(browser, page, { width: 1000, height: 1250, colorScheme: "light" });
await drawn(opened.page);
await drawAll(opened.page);
await opened.page.screenshot({ path: file });
await browser.close();

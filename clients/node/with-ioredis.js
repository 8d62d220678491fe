// GETs with ioredis.
import { Redis } from "ioredis";

import { library, place, serve } from "./loop.js";

const { host, port, password, rows } = place();
const client = new Redis({ host, port, password });

await serve({ rows }, library("ioredis"), (key) => client.get(`looptax:${String(key).padStart(12, "0")}`));
await client.quit();

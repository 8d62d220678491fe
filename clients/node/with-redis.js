// GETs with redis (node-redis).
import { createClient } from "redis";

import { library, place, serve } from "./loop.js";

const at = place();
const socket = at.socket ? { path: at.socket } : { host: at.host, port: at.port };
const client = createClient({ socket, password: at.password });
await client.connect();

await serve(at, library("redis"), (key) => client.get(`looptax:${String(key).padStart(12, "0")}`));
await client.close();

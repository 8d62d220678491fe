// Point selects with pg: a named statement, prepared at its first use.
import path from "node:path";
import pg from "pg";

import { library, place, serve } from "./loop.js";

const at = place();
if (at.socket) {
  // pg expects the socket's folder, and the port from the socket's name.
  at.host = path.dirname(at.socket);
  at.port = Number(at.socket.slice(at.socket.lastIndexOf(".") + 1));
}
const { host, port, user, password, database } = at;
const client = new pg.Client({ host, port, user, password, database });
await client.connect();

await serve(at, library("pg"), async (key) => {
  const text = "SELECT c FROM sbtest1 WHERE id = $1";
  const { rows } = await client.query({ name: "point", text, values: [key] });
  return rows[0].c;
});
await client.end();

// Point selects with mysql2, which prepares the statement at its first use.
import mysql from "mysql2/promise";

import { library, place, serve } from "./loop.js";

const at = place();
const connection = await mysql.createConnection({
  host: at.host,
  port: at.port,
  socketPath: at.socket,
  user: at.user,
  password: at.password,
  database: at.database,
});

await serve(at, library("mysql2"), async (key) => {
  const [rows] = await connection.execute("SELECT c FROM sbtest1 WHERE id = ?", [key]);
  return rows[0].c;
});
await connection.end();

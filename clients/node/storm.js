// Many connects at once with a Node driver: see ../README.md.
import path from "node:path";
import { createInterface } from "node:readline";

import { library, place } from "./loop.js";

const [name] = process.argv.splice(2, 1);
const at = place();
const { user, password, database } = at;

const drivers = {
  async mysql2() {
    const { default: mysql } = await import("mysql2/promise");
    const where = at.socket ? { socketPath: at.socket } : { host: at.host, port: at.port };
    return async () => {
      const connection = await mysql.createConnection({ ...where, user, password, database });
      connection.on("error", () => {});
      return () => connection.destroy();
    };
  },
  async pg() {
    const { default: pg } = await import("pg");
    // pg expects the socket's folder, and the port from the socket's name.
    const host = at.socket ? path.dirname(at.socket) : at.host;
    const port = at.socket ? Number(at.socket.slice(at.socket.lastIndexOf(".") + 1)) : at.port;
    return async () => {
      const client = new pg.Client({ host, port, user, password, database });
      client.on("error", () => {});
      await client.connect();
      return () => client.end().catch(() => {});
    };
  },
};

const connect = await drivers[name]();
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
console.log(`ready ${library(name)}, Node ${process.versions.node}`);
for (;;) {
  const { value, done } = await lines.next();
  if (done) break;
  const n = Number(value);
  console.log("set");
  await lines.next();
  const [closing, failed] = [[], []];
  const all = Array.from({ length: n }, () =>
    connect().then(
      (close) => closing.push(close),
      (error) => failed.push(error.code ?? error.message),
    ),
  );
  const patience = Number(process.env.LOOP_PATIENCE_S) * 1000;
  const over = new Promise((resolve) => setTimeout(resolve, patience).unref());
  await Promise.race([Promise.all(all), over]);
  console.log(closing.length, failed.length, n - closing.length - failed.length, failed[0] ?? "");
  for (const close of closing) close();
}
process.exit(0);

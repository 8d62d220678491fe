// The code that every loop in Node shares: the conversation on stdin and stdout, the clock, the keys.
// See ../README.md for the conversation. Imported by one program per library.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

/** Parses `unix:/path` or `tcp:host:port`. */
export function place() {
  const [kind, ...rest] = (process.argv[2] ?? "").split(":");
  const found = {
    user: process.env.LOOP_USER,
    password: process.env.LOOP_PASSWORD,
    database: process.env.LOOP_DATABASE,
    rows: Number(process.env.LOOP_ROWS),
  };
  if (kind === "unix") {
    found.socket = rest.join(":");
  } else if (kind === "tcp") {
    found.host = rest[0];
    found.port = Number(rest[1]);
  } else {
    throw new Error("usage: ADDRESS, unix:/path or tcp:host:port");
  }
  return found;
}

/** Returns a library with the installed version. */
export function library(name) {
  const { version } = createRequire(import.meta.url)(`${name}/package.json`);
  return `${name} ${version}`;
}

/** For each line of stdin, a number of requests: sends them, and prints how long they took. */
export async function serve({ rows }, name, ask) {
  console.log(`ready ${name}, Node ${process.versions.node}`);
  let key = 0;
  for await (const line of createInterface({ input: process.stdin })) {
    const n = Number(line);
    const before = process.cpuUsage();
    const begin = process.hrtime.bigint();
    try {
      for (let i = 0; i < n; i++) {
        key = (key + 7919) % rows;
        if (!(await ask(key + 1))) throw new Error("an empty value");
      }
    } catch (error) {
      if (!process.env.LOOP_TELLS) throw error;
      console.log(`failed ${[error.code, error.message].filter(Boolean).join(" ").replaceAll("\n", " ").slice(0, 90)}`);
      continue;
    }
    const seconds = Number(process.hrtime.bigint() - begin) / 1e9;
    const used = process.cpuUsage(before);
    const figures = [seconds, used.user / 1e6, used.system / 1e6];
    console.log(`${n} ${figures.map((figure) => figure.toFixed(6)).join(" ")}`);
  }
}

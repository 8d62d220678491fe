// Connects as each Node driver does with the text that `looptax dsn` prints.
//
// usage: node drive.js DIALECT, with jobs on stdin as README.md says
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const query = process.env.DIALECT_QUERY;

// The text is an expression about these names.
const pasted = (text, names) => new Function(...Object.keys(names), `return ${text};`)(...Object.values(names));

const version = (name) => {
  const manifest = new URL(`node_modules/${name}/package.json`, import.meta.url);
  return `${name} ${JSON.parse(readFileSync(manifest)).version}`;
};

async function mysql2(text) {
  const { default: mysql } = await import("mysql2");
  const connection = pasted(text, { mysql }).promise();
  try {
    const [[row]] = await connection.query(query);
    return Object.values(row)[0];
  } finally {
    connection.destroy();
  }
}

async function mariadb(text) {
  const { default: mariadb } = await import("mariadb");
  const connection = await pasted(text, { mariadb });
  const [row] = await connection.query(query);
  await connection.end();
  return Object.values(row)[0];
}

async function pg(text) {
  const { default: { Client } } = await import("pg");
  const client = pasted(text, { Client });
  await client.connect();
  const { rows: [row] } = await client.query(query);
  await client.end();
  return Object.values(row)[0];
}

async function postgres(text) {
  const { default: postgres } = await import("postgres");
  const sql = pasted(text, { postgres });
  try {
    const [row] = await sql.unsafe(query);
    return Object.values(row)[0];
  } finally {
    await sql.end({ timeout: 0 });
  }
}

async function mongodb(text) {
  const mongodb = await import("mongodb");
  class MongoClient extends mongodb.MongoClient {
    constructor(url) {
      super(url, { serverSelectionTimeoutMS: 3000 });
    }
  }
  const client = pasted(text, { MongoClient });
  try {
    const admin = client.db("admin");
    const { authInfo } = await admin.command({ connectionStatus: 1 });
    const { you } = await admin.command({ whatsmyuri: 1 });
    const hex = (word) => Buffer.from(word).toString("hex").toUpperCase();
    const words = [authInfo.authenticatedUsers[0].user, client.db().databaseName];
    return [...words.map(hex), you.replaceAll(" ", "-")].join(" ");
  } finally {
    await client.close();
  }
}

async function ioredis(text) {
  const { Redis } = await import("ioredis");
  const redis = pasted(text, { Redis });
  // Without a listener it would print; the answer to the command says the same.
  redis.on("error", () => redis.disconnect());
  try {
    return await redis.call("CLIENT", "INFO");
  } finally {
    redis.disconnect();
  }
}

async function nodeRedis(text) {
  const { createClient } = await import("redis");
  const client = pasted(text, { createClient });
  let failure;
  client.on("error", (error) => { failure ??= error; client.destroy(); });
  try {
    await client.connect();
    return await client.sendCommand(["CLIENT", "INFO"]);
  } catch (error) {
    throw failure ?? error;
  } finally {
    if (client.isOpen) client.destroy();
  }
}

const WAYS = {
  "mysql.mysql2": [mysql2, "mysql2"],
  "mysql.mariadb": [mariadb, "mariadb"],
  "postgres.pg": [pg, "pg"],
  "postgres.postgres": [postgres, "postgres"],
  "redis.ioredis": [ioredis, "ioredis"],
  "mongodb.mongodb": [mongodb, "mongodb"],
  "redis.node-redis": [nodeRedis, "redis"],
};

const [way, name] = WAYS[process.argv[2]];
const print = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
print({ driver: version(name), language: `Node ${process.versions.node}` });
for await (const line of createInterface({ input: process.stdin })) {
  try {
    print({ seen: String(await way(JSON.parse(line).text)) });
  } catch (error) {
    print({ error: `${error.name}: ${error.message || error.code || error}`.slice(0, 500) });
  }
}
process.exit();

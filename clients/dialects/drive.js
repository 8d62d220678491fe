// Connects as each Node driver does with the text that `looptax dsn` prints.
//
// usage: node drive.js DIALECT, with jobs on stdin as README.md says
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const query = process.env.DIALECT_QUERY;

// The text is an expression that uses these names.
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
  // Without a listener the library would print the error; the result of the command also contains it.
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

// Files, for `cargo lab oracle spellings`: a CommonJS module that makes a client, or the lines of an environment.

const require = createRequire(import.meta.url);

const exported = (text) => {
  const module = { exports: undefined };
  new Function("require", "module", text)(require, module);
  return module.exports;
};

const environment = (text) => Object.fromEntries(text.split("\n").filter((line) => line.includes("=")).map((line) => {
  const [name, ...rest] = line.split("=");
  const value = rest.join("=");
  return [name, value.startsWith('"') ? JSON.parse(value) : value];
}));

async function connected(mysqlConnection) {
  try {
    await mysqlConnection.promise().connect();
  } finally {
    mysqlConnection.destroy();
  }
}

async function spelledPg(client) {
  client.on("error", () => {});
  try {
    await client.connect();
  } finally {
    client.end().catch(() => {});
  }
}

async function spelledIoredis(redis) {
  redis.on("error", () => redis.disconnect());
  try {
    await redis.call("PING");
  } finally {
    redis.disconnect();
  }
}

async function spelledKnex(config) {
  const knex = require("knex")({ ...config, pool: { min: 0, max: 1 }, acquireConnectionTimeout: 3000 });
  try {
    await knex.raw("SELECT 1");
  } finally {
    await knex.destroy();
  }
}

async function spelledSequelize(config) {
  const { Sequelize } = require("sequelize");
  const sequelize = new Sequelize({ ...config, logging: false, retry: { max: 1 } });
  try {
    await sequelize.authenticate();
  } finally {
    await sequelize.close();
  }
}

const SPELLINGS = {
  "knex-mysql": [(text) => spelledKnex(exported(text)), "knex", "mysql2"],
  "knex-pgsql": [(text) => spelledKnex(exported(text)), "knex", "pg"],
  "sequelize-mysql": [(text) => spelledSequelize(JSON.parse(text).production), "sequelize", "mysql2"],
  "sequelize-pgsql": [(text) => spelledSequelize(JSON.parse(text).production), "sequelize", "pg"],
  "node-mysql2": [(text) => connected(exported(text)), "mysql2"],
  "node-pg": [(text) => spelledPg(exported(text)), "pg"],
  "node-mysql2-url": [(text) => connected(require("mysql2").createConnection(environment(text).DATABASE_URL)), "mysql2"],
  "node-pg-url": [(text) => spelledPg(new (require("pg").Client)(environment(text).DATABASE_URL)), "pg"],
  "node-ioredis": [(text) => spelledIoredis(new (require("ioredis").Redis)(environment(text).REDIS_URL)), "ioredis"],
};

const WAYS = {
  "mysql.mysql2": [mysql2, "mysql2"],
  "mysql.mariadb": [mariadb, "mariadb"],
  "postgres.pg": [pg, "pg"],
  "postgres.postgres": [postgres, "postgres"],
  "redis.ioredis": [ioredis, "ioredis"],
  "mongodb.mongodb": [mongodb, "mongodb"],
  "redis.node-redis": [nodeRedis, "redis"],
  ...Object.fromEntries(Object.entries(SPELLINGS).map(([name, way]) => [`spelling.${name}`, way])),
};

// Lines that a library prints must not be read as answers.
console.log = console.info = console.warn = console.error;

const [way, ...names] = WAYS[process.argv[2]];
const print = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
print({ driver: names.map(version).join(", "), language: `Node ${process.versions.node}` });
for await (const line of createInterface({ input: process.stdin })) {
  try {
    print({ seen: String(await way(JSON.parse(line).text)) });
  } catch (error) {
    print({ error: `${error.name}: ${error.message || error.code || error}`.slice(0, 500) });
  }
}
process.exit();

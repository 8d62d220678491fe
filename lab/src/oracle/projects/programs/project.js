// The application of a project in Node. It reads .env, and sends requests to its server until the file PROJECT_ALIVE is
// removed.
//
// usage: node project.js FORM, in the project's folder; PROJECT_LOG, PROJECT_ALIVE, PROJECT_MARK, PROJECT_MODE
const fs = require('fs');
const { createRequire } = require('module');

// The drivers are in another folder.
const load = createRequire(process.env.PROJECT_MODULES + '/');
const MYSQL = 'SELECT (SELECT host FROM information_schema.processlist WHERE id = CONNECTION_ID()) AS host, word FROM mark';
const POSTGRES = "SELECT COALESCE(host(inet_client_addr()), 'localhost') AS host, word FROM mark";

// If a name occurs twice, its last line counts.
function dotenv(path) {
  const values = {};
  for (const line of fs.readFileSync(path, 'utf8').split(/\r?\n/)) {
    const found = line.match(/^\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*?)\s*$/);
    if (!found) continue;
    const [, name, text] = found;
    const single = text.match(/^'([^']*)'/);
    const double = text.match(/^"((?:[^"\\]|\\.)*)"/);
    const raw = double ? double[1].replace(/\\(.)/g, '$1') : text.replace(/(^|\s)#.*$/, '').trimEnd();
    values[name] = single ? single[1] : raw.replace(/\$\{(\w+)\}/g, (_, it) => values[it] ?? '');
  }
  return values;
}

const env = dotenv('.env');
const wayOf = (host) => (host === 'localhost' ? 'socket' : 'tcp');

const forms = {
  pg: async () => {
    const { Client } = load('pg');
    const client = new Client({ connectionString: env.DATABASE_URL });
    client.on('error', () => {});
    await client.connect();
    return {
      name: 'postgres',
      ask: async () => {
        const { host, word } = (await client.query(POSTGRES)).rows[0];
        return [wayOf(host), word];
      },
      close: () => client.end(),
    };
  },
  mysql2: async () => {
    const client = await load('mysql2/promise').createConnection(env.DATABASE_URL);
    client.on('error', () => {});
    return {
      name: 'mysql',
      ask: async () => {
        const [rows] = await client.query(MYSQL);
        return [wayOf(rows[0].host), rows[0].word];
      },
      close: () => client.end(),
    };
  },
  ioredis: async () => {
    const { Redis } = load('ioredis');
    const client = new Redis(env.REDIS_URL, { lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 });
    let last = null;
    client.on('error', (error) => (last = error));
    await client.connect().catch((error) => {
      throw last ?? error;
    });
    return {
      name: 'redis',
      ask: async () => {
        const [, address] = (await client.call('CLIENT', 'INFO')).match(/ addr=(\S+)/);
        return [address.startsWith('/') ? 'socket' : 'tcp', await client.get('mark')];
      },
      close: () => client.disconnect(),
    };
  },
};

const note = (what) => fs.appendFileSync(process.env.PROJECT_LOG, `${(Date.now() / 1000).toFixed(3)} ${what}\n`);
const form = process.argv[2];
const name = { pg: 'postgres', mysql2: 'mysql', ioredis: 'redis' }[form];

async function main() {
  fs.writeFileSync(process.env.PROJECT_PID, String(process.pid));
  note('start');
  let held = null;
  while (fs.existsSync(process.env.PROJECT_ALIVE)) {
    let isRight = false;
    try {
      held ??= await forms[form]();
      const [way, word] = await held.ask();
      isRight = word === process.env.PROJECT_MARK;
      note(isRight ? `ok ${name} ${way}` : `fail ${name} another server answered`);
    } catch (error) {
      note(`fail ${name} ${String(error.message || error.code || error).split(/\s+/).join(' ')}`);
    }
    if (held && (!isRight || process.env.PROJECT_MODE === 'short')) {
      await Promise.resolve(held.close()).catch(() => {});
      held = null;
    }
    await new Promise((done) => setTimeout(done, 150));
  }
  process.exit(0);
}

main();

// A small service with a pool of connections; .env is read once, when it starts.
const fs = require('fs');
const http = require('http');
const mysql = require('mysql');

for (const line of fs.readFileSync(__dirname + '/.env', 'utf8').split('\n')) {
  const [, name, value] = line.match(/^(\w+)=(.*)$/) || [];
  if (name && !(name in process.env)) process.env[name] = value;
}
const pool = mysql.createPool(process.env.DATABASE_URL);
const questions = {
  '/': 'SELECT text AS answer FROM greetings',
  '/way': 'SELECT host AS answer FROM information_schema.processlist WHERE id = CONNECTION_ID()',
};
http
  .createServer((request, response) => {
    pool.query(questions[request.url], (error, rows) => {
      response.statusCode = error ? 500 : 200;
      response.end(error ? String(error) : rows[0].answer);
    });
  })
  .listen(Number(process.env.PORT), '127.0.0.1');

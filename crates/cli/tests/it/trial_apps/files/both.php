<?php
// A page that asks the database and notes in Redis, by Redis's own word, which way it came there.

$database = new mysqli('127.0.0.1', '«user»', '«password»', '«database»', «port»);
$redis = new Redis();
$redis->connect('127.0.0.1', «redis_port»);
$redis->auth('«redis_password»');
preg_match('/ addr=(\S+) /', $redis->rawCommand('CLIENT', 'INFO'), $found);
$redis->hIncrBy('ways', strpos($found[1], '127.0.0.1:') === 0 ? 'tcp' : 'unix', 1);
echo $database->query('SELECT text FROM greetings')->fetch_row()[0];

<?php
// A page that queries the database, and counts in Redis which transport Redis reports for this page's connection.

$database = new mysqli('127.0.0.1', '«user»', '«password»', '«database»', «port»);
$redis = new Redis();
$redis->connect('127.0.0.1', «redis_port»);
$redis->auth('«redis_password»');
preg_match('/ addr=(\S+) /', $redis->rawCommand('CLIENT', 'INFO'), $found);
$redis->hIncrBy('ways', strpos($found[1], '127.0.0.1:') === 0 ? 'tcp' : 'unix', 1);
echo $database->query('SELECT text FROM greetings')->fetch_row()[0];

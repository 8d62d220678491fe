<?php
// GETs with phpredis.

require __DIR__ . '/loop.php';

$place = new Place($argv);
$redis = new Redis();
if ($place->socket === null) {
    $redis->connect($place->host, $place->port);
} else {
    $redis->connect($place->socket);
}
$redis->auth($place->password);

serve($place, 'phpredis ' . phpversion('redis'), function (int $key) use ($redis): string {
    return (string) $redis->get(sprintf('looptax:%012d', $key));
});

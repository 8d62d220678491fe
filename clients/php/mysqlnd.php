<?php
// Point selects with mysqli over mysqlnd: one prepared statement, whose result is fetched.

require __DIR__ . '/loop.php';

$place = new Place($argv);
$mysqli = new mysqli(
    $place->socket === null ? $place->host : 'localhost',
    $place->user,
    $place->password,
    $place->database,
    $place->port,
    $place->socket,
);
$statement = $mysqli->prepare('SELECT c FROM sbtest1 WHERE id = ?');
$id = 0;
$statement->bind_param('i', $id);

serve($place, $mysqli->client_info, function (int $key) use ($statement, &$id): string {
    $id = $key;
    $statement->execute();
    return $statement->get_result()->fetch_row()[0];
});

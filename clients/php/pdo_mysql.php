<?php
// Point selects with PDO over mysqlnd: one statement, prepared by the server.

require __DIR__ . '/loop.php';

$place = new Place($argv);
$where = $place->socket === null
    ? "host={$place->host};port={$place->port}"
    : "unix_socket={$place->socket}";
$pdo = new PDO("mysql:$where;dbname={$place->database}", $place->user, $place->password);
$pdo->setAttribute(PDO::ATTR_EMULATE_PREPARES, false);
$statement = $pdo->prepare('SELECT c FROM sbtest1 WHERE id = ?');
$library = 'pdo_mysql over ' . $pdo->getAttribute(PDO::ATTR_CLIENT_VERSION);

serve($place, $library, function (int $key) use ($statement): string {
    $statement->execute([$key]);
    $value = $statement->fetchColumn();
    $statement->closeCursor();
    return $value;
});

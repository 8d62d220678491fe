<?php
// Point selects with PDO over libpq: one prepared statement, whose result is fetched.

require __DIR__ . '/loop.php';

$place = new Place($argv);
if ($place->socket !== null) {
    // libpq expects the socket's folder, and the port from the socket's name.
    $place->host = dirname($place->socket);
    $place->port = (int) substr(strrchr($place->socket, '.'), 1);
}
$pdo = new PDO(
    "pgsql:host={$place->host};port={$place->port};dbname={$place->database}",
    $place->user,
    $place->password,
);
$statement = $pdo->prepare('SELECT c FROM sbtest1 WHERE id = ?');
$library = 'pdo_pgsql over libpq ' . $pdo->getAttribute(PDO::ATTR_CLIENT_VERSION);

serve($place, $library, function (int $key) use ($statement): string {
    $statement->execute([$key]);
    return $statement->fetchColumn();
});

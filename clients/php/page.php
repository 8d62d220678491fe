<?php
// A page that queries the database with mysqli on a connection that PHP keeps from page to page.
// Run by PHP-FPM: see ../python/with_php_fpm.py.

mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);

$mysqli = new mysqli(
    'p:' . $_GET['host'],
    getenv('LOOP_USER'),
    getenv('LOOP_PASSWORD'),
    getenv('LOOP_DATABASE'),
    (int) $_GET['port'],
);
$statement = $mysqli->prepare('SELECT c FROM sbtest1 WHERE id = ?');
$statement->execute([(int) $_GET['key']]);
echo $statement->get_result()->fetch_row()[0];

<?php
// A page that connects, asks its database, and counts.
$database = new mysqli('127.0.0.1', getenv('TRIAL_USER'), getenv('TRIAL_PASSWORD'), getenv('TRIAL_DATABASE'), (int) getenv('TRIAL_PORT'));
$n = 0;
for ($key = 0; $key < 54; $key++) {
    $row = $database->query("select $key + 1 as n")->fetch_row();
    $n += $row[0];
}
echo "<html><body>$n</body></html>\n";

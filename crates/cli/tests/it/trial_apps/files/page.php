<?php
// A page that queries the database over a separate connection.

$database = new mysqli('127.0.0.1', '«user»', '«password»', '«database»', «port»);
echo $database->query('SELECT text FROM greetings')->fetch_row()[0];

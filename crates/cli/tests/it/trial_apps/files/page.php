<?php
// A page that asks the database, with a connection of its own.

$database = new mysqli('127.0.0.1', '«user»', '«password»', '«database»', «port»);
echo $database->query('SELECT text FROM greetings')->fetch_row()[0];

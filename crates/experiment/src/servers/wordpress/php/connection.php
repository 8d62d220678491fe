<?php
// A connection without a page: shows how many statements the server counts before a page's first query.

define( 'SHORTINIT', true );
require __DIR__ . '/config.php';
require __DIR__ . '/answer.php';

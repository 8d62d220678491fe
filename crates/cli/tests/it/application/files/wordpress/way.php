<?php
// Prints the client address that the server reports for this page's connection.

require __DIR__ . '/wp-load.php';
echo $wpdb->get_var( 'SELECT host FROM information_schema.processlist WHERE id = CONNECTION_ID()' );

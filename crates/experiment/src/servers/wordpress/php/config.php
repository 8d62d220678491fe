<?php
// What wp-config.php is to other sites. Account and place are in account.php, which each start writes
// anew; the transport and the site come with each request, from looptax alone.

$looptax = require __DIR__ . '/account.php';

define( 'DB_NAME', $looptax['database'] );
define( 'DB_USER', $looptax['user'] );
define( 'DB_PASSWORD', $looptax['password'] );
define( 'DB_HOST', $_SERVER['LOOPTAX_DB_HOST'] );
define( 'DB_CHARSET', 'utf8mb4' );
define( 'DB_COLLATE', '' );
$table_prefix = $_SERVER['LOOPTAX_SITE'] . '_';

// Without these WordPress keeps keys of its own in the database, and asks for them.
foreach ( array( 'AUTH', 'SECURE_AUTH', 'LOGGED_IN', 'NONCE' ) as $purpose ) {
	define( $purpose . '_KEY', hash( 'sha256', $purpose . ' key ' . DB_PASSWORD ) );
	define( $purpose . '_SALT', hash( 'sha256', $purpose . ' salt ' . DB_PASSWORD ) );
}

define( 'WP_HOME', 'http://looptax.invalid' );
define( 'WP_SITEURL', 'http://looptax.invalid' );
define( 'WP_CONTENT_DIR', __DIR__ . '/content' );

// Nothing leaves the machine, nothing runs beside a page, nothing is changed.
define( 'WP_HTTP_BLOCK_EXTERNAL', true );
define( 'DISABLE_WP_CRON', true );
define( 'AUTOMATIC_UPDATER_DISABLED', true );
define( 'DISALLOW_FILE_MODS', true );
define( 'WP_DEBUG', false );

// No object cache, no page cache, and the times of $wpdb.
define( 'WP_CACHE', false );
define( 'SAVEQUERIES', true );

define( 'ABSPATH', $looptax['wordpress'] . '/' );
require ABSPATH . 'wp-settings.php';

<?php
/**
 * The base configuration for WordPress
 *
 * @link https://wordpress.org/documentation/article/editing-wp-config-php/
 */

// ** Database settings ** //
/** The name of the database for WordPress */
define( 'DB_NAME', '«database»' );

/** Database username */
define( 'DB_USER', '«user»' );

/** Database password */
define( 'DB_PASSWORD', '«password»' );

/** Database hostname */
define( 'DB_HOST', '127.0.0.1:«port»' );

/** Database charset to use in creating database tables. */
define( 'DB_CHARSET', 'utf8mb4' );
define( 'DB_COLLATE', '' );

foreach ( array( 'AUTH', 'SECURE_AUTH', 'LOGGED_IN', 'NONCE' ) as $purpose ) {
	define( $purpose . '_KEY', hash( 'sha256', $purpose . ' key' ) );
	define( $purpose . '_SALT', hash( 'sha256', $purpose . ' salt' ) );
}

$table_prefix = 'wp_';

define( 'WP_DEBUG', false );
// WordPress sends no requests to other machines, and no page request does background work.
define( 'WP_HTTP_BLOCK_EXTERNAL', true );
define( 'DISABLE_WP_CRON', true );
define( 'AUTOMATIC_UPDATER_DISABLED', true );

/* That's all, stop editing! Happy publishing. */

/** Absolute path to the WordPress directory. */
if ( ! defined( 'ABSPATH' ) ) {
	define( 'ABSPATH', __DIR__ . '/' );
}

/** Sets up WordPress vars and included files. */
require_once ABSPATH . 'wp-settings.php';

<?php
// Represents the plugins of a site: options that WordPress does not load at once, and that are read one by one
// when needed. The file is in mu-plugins, so WordPress loads it by itself.

const LOOPTAX_SETTINGS = 12;

function looptax_settings() {
	return array_map(
		function ( $number ) {
			return "looptax_setting_$number";
		},
		range( 1, LOOPTAX_SETTINGS )
	);
}

if ( 'full' === $_SERVER['LOOPTAX_SITE'] ) {
	add_action(
		'wp_head',
		function () {
			array_map( 'get_option', looptax_settings() );
		}
	);
}

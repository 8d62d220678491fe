<?php
// Stands for the plugins of a site: settings that are not loaded with the others, each read when it is
// needed. Lies in mu-plugins, so that WordPress loads it by itself.

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

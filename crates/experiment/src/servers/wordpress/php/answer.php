<?php
// Appends the figures of a request to its page: what $wpdb counted and timed, and what the server reports
// about the connection. The server is asked only after the clock has been read.

function looptax_answer() {
	global $wpdb;
	$page_s  = microtime( true ) - $_SERVER['REQUEST_TIME_FLOAT'];
	$timed   = is_array( $wpdb->queries ) ? $wpdb->queries : array();
	$query_s = array_sum( array_column( $timed, 1 ) );
	$before  = hrtime( true );
	$link    = $wpdb->dbh;
	// This query is the last one that is counted for the page: the number includes the query itself.
	$questions = $link->query( "SHOW SESSION STATUS LIKE 'Questions'" )->fetch_row()[1];
	$peer      = $link->query( 'SELECT host FROM information_schema.processlist WHERE id = CONNECTION_ID()' )->fetch_row()[0];
	$answer    = array(
		'page_us'          => 1e6 * $page_s,
		'query_us'         => 1e6 * $query_s,
		'queries'          => $wpdb->num_queries,
		'timed'            => count( $timed ),
		'questions'        => (int) $questions,
		'peer'             => $peer,
		'host_info'        => $link->host_info,
		'has_object_cache' => function_exists( 'wp_using_ext_object_cache' ) && (bool) wp_using_ext_object_cache(),
		'has_opcache'      => function_exists( 'opcache_get_status' ) && (bool) opcache_get_status( false ),
		'proof_us'         => ( hrtime( true ) - $before ) / 1e3,
	);
	echo "\nlooptax ", json_encode( $answer ), "\n";
}

register_shutdown_function( 'looptax_answer' );

<?php
// The content of the sites: `bare` has only posts, `full` has what a real site has collected over the years.

const LOOPTAX_POSTS = 30;
const LOOPTAX_COMMENTS = 12;

function looptax_fill( $site ) {
	switch_theme( 'twentytwentyone' );
	// Removes the content of every new site: a post, a page and a draft of a privacy policy.
	foreach ( array( 1, 2, 3 ) as $post ) {
		wp_delete_post( $post, true );
	}
	update_option( 'wp_page_for_privacy_policy', 0 );
	// The web installer also stores the language.
	update_option( 'WPLANG', '' );
	update_option( 'sidebars_widgets', array( 'wp_inactive_widgets' => array(), 'sidebar-1' => array() ) );
	$posts = looptax_posts();
	if ( 'full' === $site ) {
		looptax_terms( $posts );
		looptax_comments( $posts );
		looptax_menus( $posts );
		looptax_widgets();
		looptax_options();
	}
}

function looptax_posts() {
	$posts = array();
	for ( $number = 1; $number <= LOOPTAX_POSTS; $number++ ) {
		$posts[] = wp_insert_post(
			array(
				'post_title'   => "Post $number",
				'post_content' => str_repeat( "<p>Sentence after sentence of post $number, as posts have them.</p>\n", 20 ),
				'post_status'  => 'publish',
				'post_author'  => 1,
				'post_date'    => sprintf( '2019-%02d-%02d 12:00:00', 1 + intdiv( $number, 5 ), 1 + $number % 5 ),
			)
		);
	}
	return $posts;
}

function looptax_terms( $posts ) {
	$categories = array();
	for ( $number = 1; $number <= 8; $number++ ) {
		$categories[] = wp_insert_term( "Category $number", 'category' )['term_id'];
	}
	foreach ( $posts as $idx => $post ) {
		wp_set_post_terms( $post, array( $categories[ $idx % 8 ], $categories[ ( $idx + 3 ) % 8 ] ), 'category' );
		wp_set_post_terms( $post, array( 'tag ' . $idx % 7, 'tag ' . ( $idx + 2 ) % 7 ), 'post_tag' );
	}
}

// The latest comments are on a post that neither the front page nor a menu shows. Otherwise chance would decide
// which post has the latest comment, and how many queries a page makes.
function looptax_comments( $posts ) {
	foreach ( $posts as $idx => $post ) {
		$parent = 0;
		$day    = 30 - abs( $idx - 12 );
		for ( $number = 1; $number <= LOOPTAX_COMMENTS; $number++ ) {
			$comment = wp_insert_comment(
				array(
					'comment_post_ID'      => $post,
					'comment_author'       => "Reader $number",
					'comment_author_email' => "reader$number@looptax.invalid",
					'comment_content'      => 'What a reader has to say about it.',
					'comment_parent'       => 0 === $number % 3 ? $parent : 0,
					'comment_approved'     => 1,
					'comment_date'         => sprintf( '2019-10-%02d %02d:00:00', $day, $number ),
					'comment_date_gmt'     => sprintf( '2019-10-%02d %02d:00:00', $day, $number ),
				)
			);
			$parent = $comment;
		}
	}
}

function looptax_menus( $posts ) {
	$locations = array();
	foreach ( array( 'primary', 'footer' ) as $location ) {
		$menu = wp_create_nav_menu( $location );
		foreach ( array_slice( $posts, 0, 5 ) as $post ) {
			wp_update_nav_menu_item(
				$menu,
				0,
				array(
					'menu-item-object'    => 'post',
					'menu-item-object-id' => $post,
					'menu-item-type'      => 'post_type',
					'menu-item-status'    => 'publish',
				)
			);
		}
		$locations[ $location ] = $menu;
	}
	set_theme_mod( 'nav_menu_locations', $locations );
}

function looptax_widgets() {
	$placed = array();
	foreach ( array( 'recent-posts', 'recent-comments', 'archives', 'categories', 'tag_cloud', 'calendar', 'pages' ) as $widget ) {
		update_option( "widget_$widget", array( 2 => array( 'title' => $widget ), '_multiwidget' => 1 ) );
		$placed[] = "$widget-2";
	}
	update_option( 'sidebars_widgets', array( 'wp_inactive_widgets' => array(), 'sidebar-1' => $placed ) );
}

function looptax_options() {
	foreach ( looptax_settings() as $name ) {
		add_option( $name, array( 'is_on' => true, 'text' => str_repeat( 'x', 200 ) ), '', 'no' );
	}
}

//! The command line in common uses, with real private servers and with a scripted server.
//!
//! If a server is not installed, its tests are skipped, with a count on stderr. No test depends on how fast the machine
//! is: runs are short because they have few epochs, and every wait ends with an event.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "these are tests, in folders of their own")]

mod accounts;
mod action;
mod application;
mod arms;
mod bad_input;
mod begin;
mod capture;
mod check;
mod check_app;
mod check_hostile;
mod connect;
mod doctor;
mod dsn;
mod dump;
mod echo;
mod exec;
mod features;
mod find;
mod find_hops;
mod find_stack;
mod find_unprivileged;
mod fixture;
mod fleet;
mod full_disk;
mod help;
mod json;
mod json_stream;
mod killed;
mod leftovers;
mod lent;
mod live;
mod load;
mod mcp;
mod minute;
mod mongodb;
mod mysql;
mod programs;
mod record;
mod redirect_arm;
mod remedies;
mod reproduce;
mod run;
mod run_container;
mod run_options;
mod run_rules;
mod running;
mod sarif;
mod script;
mod secrets;
mod show;
mod show_page;
mod silent;
mod site;
mod slow;
mod storms;
mod strangers;
mod switch;
mod switch_apps;
mod switch_containers;
mod switch_containers_web;
mod switch_server;
mod trial_apps;
mod trojans;
mod unfit_answers;
mod versions;
mod watch;
mod why;
mod wordpress;
mod workloads;

# Point selects with Perl's DBI: `loop.pl DRIVER ADDRESS`, where the driver is MariaDB or Pg. Only over TCP.
use strict;
use warnings;
use DBI;
use Time::HiRes qw(time);

my ($driver, $address) = @ARGV;
my ($host, $port) = ($address // '') =~ /^tcp:(.*):(\d+)$/ or die "usage: loop.pl DRIVER tcp:host:port\n";
my ($user, $password, $database, $rows) = @ENV{qw(LOOP_USER LOOP_PASSWORD LOOP_DATABASE LOOP_ROWS)};
my $name = $driver eq 'Pg' ? 'dbname' : 'database';
my $dbh = DBI->connect("dbi:$driver:$name=$database;host=$host;port=$port", $user, $password, {RaiseError => 1});
my $select = $dbh->prepare('SELECT c FROM sbtest1 WHERE id = ?');

$| = 1;
printf "ready DBD::%s %s, Perl %vd\n", $driver, "DBD::$driver"->VERSION, $^V;
my $key = 0;
while (my $n = <STDIN>) {
    $n += 0;
    my ($user_before, $system_before) = times;
    my $begin = time;
    for (1 .. $n) {
        $key = ($key + 7919) % $rows;
        $select->execute($key + 1);
        my ($value) = $select->fetchrow_array;
        die "an empty value\n" unless $value;
        $select->finish;
    }
    my $seconds = time - $begin;
    my ($user_after, $system_after) = times;
    printf "%d %.6f %.6f %.6f\n", $n, $seconds, $user_after - $user_before, $system_after - $system_before;
}

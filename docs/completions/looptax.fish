# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_looptax_global_optspecs
    string join \n arms= baseline= remedies from-namespace c/connections= workload= list distribution= max-samples= D/define= protocol= pipeline= value-size= placement= client= client-like= rate= rate-sweep arrivals= think= reconnect-every= sweep= socket= trust-peer rows= pool-mode= fixed= quick precise warm-up= slice-ms= seed= dry-run live json= html= o/output= md= csv= openmetrics= benchmark-json= folded= pprof= verbose at= label= no-history wait between= max-load= stop-file= write own-server y/yes exec= exec-unix= exec-tcp= exec-timeout= request-size= reply-size= stream-bytes= write-size= nodelay= color= q/quiet h/help V/version
end

function __fish_looptax_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_looptax_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_looptax_using_subcommand
    set -l cmd (__fish_looptax_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c looptax -n "__fish_looptax_needs_command" -l arms -d 'Ways to the server to hold against each other: unix, tcp, tcp6; abstract, a socket\'s abstract name; tls and tls-unix; bridge, nat and proxy, as a container is reached by its address or its published port; redirect, opened as TCP and moved to the socket, as `looptax run` does. One that cannot be had is named, and the others are measured. Default: unix,tcp, and tls on a MySQL or PostgreSQL server that offers it' -r
complete -c looptax -n "__fish_looptax_needs_command" -l baseline -d 'The arm the others are held against. Default: the first of --arms' -r
complete -c looptax -n "__fish_looptax_needs_command" -s c -l connections -d 'Connections per arm, one comparison each. Default: 1,16; 1 on a running server' -r
complete -c looptax -n "__fish_looptax_needs_command" -l workload -d 'What is asked: point-select, read-write, tpcb …, get, set, mixed:9:1 …, ping, stream (--list shows all). Default: point-select, get or ping; on a running server without --write what can be asked without writing. Several are measured one after the other' -r
complete -c looptax -n "__fish_looptax_needs_command" -l distribution -d 'How often each key is asked for: uniform, or zipf:S (the k-th key as k to the power of -S)' -r
complete -c looptax -n "__fish_looptax_needs_command" -l max-samples -d 'Keep single latencies up to this size, in MiB, for percentiles; later epochs keep counts alone' -r
complete -c looptax -n "__fish_looptax_needs_command" -s D -l define -d 'Set a variable of script:FILE' -r
complete -c looptax -n "__fish_looptax_needs_command" -l protocol -d 'SQL statements go out prepared, or whole as text' -r -f -a "prepared\t'Prepared once per connection'
text\t'Whole, each time'"
complete -c looptax -n "__fish_looptax_needs_command" -l pipeline -d 'Redis, memcached and echo: requests in one send; a request is then the whole batch' -r
complete -c looptax -n "__fish_looptax_needs_command" -l value-size -d 'Redis, memcached: size of a value in bytes. Default: 64, an element of lpush 3' -r
complete -c looptax -n "__fish_looptax_needs_command" -l placement -d 'Where the two ends of a connection run: same (one core), split (two cores), free (the scheduler decides), client-pinned (only our own threads are pinned). Default: same decides, with a short look at the others; client-pinned on a running server' -r
complete -c looptax -n "__fish_looptax_needs_command" -l client -d 'How the client waits: poll, poll-first, block, event, or all in one interleaved schedule. Default: poll up to 64 connections (poll-first for `PostgreSQL`, as libpq waits), event above; block where only that makes sense (stream)' -r
complete -c looptax -n "__fish_looptax_needs_command" -l client-like -d 'Wait as a real client does: php, java, jdbc, go, node, python, or a library such as libmariadb, libpq, pgjdbc, hiredis, redis-py. What it means depends on the server. What the client computes beside waiting is left out' -r
complete -c looptax -n "__fish_looptax_needs_command" -l rate -d 'Send at this rate instead of as fast as answers come, whether answers are in or not, one comparison each: 50k (per second, over all connections of an arm), or 40%,80% of what the slower arm can serve, which is found first. Latency then counts from when a request was due' -r
complete -c looptax -n "__fish_looptax_needs_command" -l arrivals -d 'Gaps between the requests of --rate: independent of one another, or all equal' -r -f -a "poisson\t'Exponential'
fixed\t'Equal'"
complete -c looptax -n "__fish_looptax_needs_command" -l think -d 'Pause between an answer and the connection\'s next request: 200us, 5ms' -r
complete -c looptax -n "__fish_looptax_needs_command" -l reconnect-every -d 'Close each connection after so many requests and open another, which counts with the next request' -r
complete -c looptax -n "__fish_looptax_needs_command" -l sweep -d 'Connections 1, 2, 4 … as 1..1024, or a list as 1,16,256: throughput and latency of each arm over connections, with the event client, and poll beside it at 64' -r
complete -c looptax -n "__fish_looptax_needs_command" -l socket -d 'Socket of the running server, or its folder. Default: that of the process on the port, what the server says, and what else proves to be its' -r -F
complete -c looptax -n "__fish_looptax_needs_command" -l rows -d 'Rows (keys) of a private server: 100000, 500k, 10M' -r
complete -c looptax -n "__fish_looptax_needs_command" -l pool-mode -d 'private:pgbouncer: for how long a client has a connection to PostgreSQL for itself. Before its version 1.21 it keeps prepared statements in session mode alone: the others want --protocol text then' -r -f -a "session\t'As long as it is connected'
transaction\t'For a transaction'
statement\t'For a statement'"
complete -c looptax -n "__fish_looptax_needs_command" -l fixed -d 'One look after a fixed time (10s) or number of epochs (20), without early stopping' -r
complete -c looptax -n "__fish_looptax_needs_command" -l warm-up -d 'How long everything runs unmeasured first (0s: two epochs). Default: 2 to 10 s, until the rate is steady; one epoch, whatever is said, on a running server that is not --own-server' -r
complete -c looptax -n "__fish_looptax_needs_command" -l slice-ms -d 'Length of a slice in milliseconds. Default: 50, or 1000 for free placement' -r
complete -c looptax -n "__fish_looptax_needs_command" -l seed -d 'Repeat the schedule of an earlier run (the seed stands in its record)' -r
complete -c looptax -n "__fish_looptax_needs_command" -l json -d 'Print the result as JSON instead of the text; --json=FILE prints the text and writes the JSON there' -r -F
complete -c looptax -n "__fish_looptax_needs_command" -l html -d 'Write a page to look at and share there, as `report` does' -r -F
complete -c looptax -n "__fish_looptax_needs_command" -s o -l output -d 'Where the record goes; a file of that name is replaced. Default: a folder of its own in `$XDG_DATA_HOME/looptax/runs`, from where `analyze`, `report`, `diff` and `gate` take it by the name of the run' -r -F
complete -c looptax -n "__fish_looptax_needs_command" -l md -d 'Write Markdown for a pull request or an issue there; `-` prints it instead of the table' -r -F
complete -c looptax -n "__fish_looptax_needs_command" -l csv -d 'Write the figures as CSV there; `-` prints them' -r -F
complete -c looptax -n "__fish_looptax_needs_command" -l openmetrics -d 'Write OpenMetrics text there, for the node exporter\'s textfile folder, readable by all whatever the umask is; `-` prints it' -r -F
complete -c looptax -n "__fish_looptax_needs_command" -l benchmark-json -d 'Write JSON for continuous-benchmark actions (customSmallerIsBetter) there; `-` prints it' -r -F
complete -c looptax -n "__fish_looptax_needs_command" -l folded -d 'Write the call chains of `why` there, folded as flame graph programs read them: arm, process and functions with `;` between them, then nanoseconds of CPU time per 1000 requests; `-` prints them' -r -F
complete -c looptax -n "__fish_looptax_needs_command" -l pprof -d 'Write the same chains there as `go tool pprof` and its like read them, each with its arm as a label: `pprof -tagroot arm FILE`; `-` prints the bytes' -r -F
complete -c looptax -n "__fish_looptax_needs_command" -l at -d 'Say what TCP comes to at this rate of requests, as in `--at 800/s`: its share of one core, and whether that is worth a change. A bare `looptax` takes the rates that it sees' -r
complete -c looptax -n "__fish_looptax_needs_command" -l label -d 'Call this run so in `history` and `diff`; `diff before-kernel after-kernel` then takes the newest run of each name' -r
complete -c looptax -n "__fish_looptax_needs_command" -l between -d 'Begin within this part of the day alone, by the machine\'s own clock: 02:00-04:00, or 22:00-03:00 over midnight. At another time the run is refused, or waits with --wait' -r
complete -c looptax -n "__fish_looptax_needs_command" -l max-load -d 'Begin on a quiet machine alone: the load average of the last minute, for each processor, is at most this, as in 0.2. On another the run is refused, or waits with --wait' -r
complete -c looptax -n "__fish_looptax_needs_command" -l stop-file -d 'Do not begin while this file is there: the run is refused, or waits with --wait. Default: /etc/looptax/stop where --between or --max-load is given' -r -F
complete -c looptax -n "__fish_looptax_needs_command" -l exec -d 'Run this command on either arm, again and again, instead of sending requests. {transport} becomes the tool\'s own flags for address and account: mysql, mariadb, mysqldump, mariadb-dump, mysqlslap, mariadb-slap, psql, `pg_dump`, pgbench, sysbench, redis-cli, redis-benchmark, valkey-cli, valkey-benchmark. Words are split as a shell would; there is no shell, so that pipes need `sh -c \'…\'` with --exec-unix and --exec-tcp. What it prints is thrown away' -r
complete -c looptax -n "__fish_looptax_needs_command" -l exec-unix -d 'The command for the unix arm, for any program; needs no TARGET. With one, its environment has `LOOPTAX_SOCKET`, `LOOPTAX_HOST`, `LOOPTAX_PORT`, `LOOPTAX_USER`, `LOOPTAX_PASSWORD` and `LOOPTAX_DATABASE`' -r
complete -c looptax -n "__fish_looptax_needs_command" -l exec-tcp -d 'The command for the tcp arm' -r
complete -c looptax -n "__fish_looptax_needs_command" -l exec-timeout -d 'A run that takes longer (90s, 10m) is stopped, with all that it has started, and ends the measurement' -r
complete -c looptax -n "__fish_looptax_needs_command" -l request-size -d 'Size of a request of `ping` in bytes, 8 to 1M (K, M and G are 2^10, 2^20 and 2^30). Default: 64' -r
complete -c looptax -n "__fish_looptax_needs_command" -l reply-size -d 'Size of a reply of `ping` in bytes, 8 to 1M. Default: 64' -r
complete -c looptax -n "__fish_looptax_needs_command" -l stream-bytes -d 'Bytes that one request of `stream` sends, 8 to 4G. Default: 4M' -r
complete -c looptax -n "__fish_looptax_needs_command" -l write-size -d 'Size of one write of `stream` in bytes, 8 to 1M. Default: 128K' -r
complete -c looptax -n "__fish_looptax_needs_command" -l nodelay -d 'Whether both ends set `TCP_NODELAY`, as database clients and servers do. Default: on' -r -f -a "on\t'Small packets leave at once'
off\t'They wait for others (Nagle\'s algorithm)'"
complete -c looptax -n "__fish_looptax_needs_command" -l color -d 'When to colour the output' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c looptax -n "__fish_looptax_needs_command" -l remedies -d 'What would help programs that go over --baseline today (tcp, unless it is given)? The socket, no TLS, the host\'s network, several requests at once, connections that stay open, placement: each is measured for this workload, and all are ranked. 16 connections unless -c says otherwise, and --quick unless --precise or --fixed'
complete -c looptax -n "__fish_looptax_needs_command" -l from-namespace -d 'Open unix and tls-unix from another network and mount namespace, as a container does that shares the folder of the socket and nothing else'
complete -c looptax -n "__fish_looptax_needs_command" -l list -d 'List the workloads and do nothing'
complete -c looptax -n "__fish_looptax_needs_command" -l rate-sweep -d '--rate 10% to 95%: both arms\' latency over the load'
complete -c looptax -n "__fish_looptax_needs_command" -l trust-peer -d 'Log in also where the kernel does not show that the server is at the other end: whoever listens there may have the password then. Without it root\'s processes, your own and those of the system\'s accounts for servers hear one'
complete -c looptax -n "__fish_looptax_needs_command" -l quick -d 'At most 40 epochs, some 20 s per comparison. A run without targets is quick'
complete -c looptax -n "__fish_looptax_needs_command" -l precise -d 'Go on until the interval is narrow, and check that the slice length does not matter'
complete -c looptax -n "__fish_looptax_needs_command" -l dry-run -d 'Print the plan and do nothing'
complete -c looptax -n "__fish_looptax_needs_command" -l live -d 'Show the run on the whole terminal while it lasts: both arms, the interval so far, latencies, what comes next, time left. q ends the run and keeps what it has'
complete -c looptax -n "__fish_looptax_needs_command" -l verbose -d 'Say all that is known of each comparison; without it each kind of warning is said once'
complete -c looptax -n "__fish_looptax_needs_command" -l no-history -d 'Leave this run out of the history'
complete -c looptax -n "__fish_looptax_needs_command" -l wait -d 'Wait in turn where another looptax measures on this machine, instead of disturbing each other'
complete -c looptax -n "__fish_looptax_needs_command" -l write -d 'On a running server: may write a scratch schema of its own, dropped afterwards'
complete -c looptax -n "__fish_looptax_needs_command" -l own-server -d 'On a running server: it is mine and idle, lift the limits on connections and time'
complete -c looptax -n "__fish_looptax_needs_command" -s y -l yes -d 'Agree to the plan for a running server without being asked'
complete -c looptax -n "__fish_looptax_needs_command" -s q -l quiet -d 'No progress, no plan: only the result'
complete -c looptax -n "__fish_looptax_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c looptax -n "__fish_looptax_needs_command" -s V -l version -d 'Print version'
complete -c looptax -n "__fish_looptax_needs_command" -a "compare" -d 'Hold several transports of the same server against each other'
complete -c looptax -n "__fish_looptax_needs_command" -a "selfcheck" -d 'Does this machine allow honest verdicts? A/A runs, injected delays, slice length'
complete -c looptax -n "__fish_looptax_needs_command" -a "find" -d 'Which servers run here, on which sockets, and who pays for TCP'
complete -c looptax -n "__fish_looptax_needs_command" -a "check" -d 'Would the switch to the socket work? Path, permission, account, backlog'
complete -c looptax -n "__fish_looptax_needs_command" -a "dsn" -d 'The same connection over the socket, in each driver\'s own words'
complete -c looptax -n "__fish_looptax_needs_command" -a "switch" -d 'Move an application to the socket: plan, agree, write, reload, prove it, and back where that fails'
complete -c looptax -n "__fish_looptax_needs_command" -a "run" -d 'Run an unmodified program, its connections to local databases moved to their sockets'
complete -c looptax -n "__fish_looptax_needs_command" -a "trial" -d 'What the socket would bring your own application: its pages over TCP and over the socket in turns, nothing changed'
complete -c looptax -n "__fish_looptax_needs_command" -a "why" -d 'Where the difference goes: a request\'s CPU time by layer of kernel and programs, over each transport'
complete -c looptax -n "__fish_looptax_needs_command" -a "analyze" -d 'Judge a saved record again: the same verdict, bit for bit'
complete -c looptax -n "__fish_looptax_needs_command" -a "history" -d 'What was measured on this machine'
complete -c looptax -n "__fish_looptax_needs_command" -a "diff" -d 'Hold two runs against each other: was this kernel, or this configuration, better?'
complete -c looptax -n "__fish_looptax_needs_command" -a "gate" -d 'For continuous integration: does an arm lose more than it may? 1 yes, 0 no, 3 the measurement does not say'
complete -c looptax -n "__fish_looptax_needs_command" -a "replay" -d 'Published comparisons again on this machine, published beside measured'
complete -c looptax -n "__fish_looptax_needs_command" -a "report" -d 'Records as one page to look at and share: tables, charts, raw data; nothing outside itself'
complete -c looptax -n "__fish_looptax_needs_command" -a "report-to" -d 'Send what this machine\'s clients and records say to a collector of many machines, once: for a timer'
complete -c looptax -n "__fish_looptax_needs_command" -a "fleet" -d 'Many machines: the collector that they report to'
complete -c looptax -n "__fish_looptax_needs_command" -a "internal" -d 'For looptax itself'
complete -c looptax -n "__fish_looptax_needs_command" -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l arms -d 'Ways to the server to hold against each other: unix, tcp, tcp6; abstract, a socket\'s abstract name; tls and tls-unix; bridge, nat and proxy, as a container is reached by its address or its published port; redirect, opened as TCP and moved to the socket, as `looptax run` does. One that cannot be had is named, and the others are measured. Default: unix,tcp, and tls on a MySQL or PostgreSQL server that offers it' -r
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l baseline -d 'The arm the others are held against. Default: the first of --arms' -r
complete -c looptax -n "__fish_looptax_using_subcommand compare" -s c -l connections -d 'Connections per arm, one comparison each. Default: 1,16; 1 on a running server' -r
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l workload -d 'What is asked: point-select, read-write, tpcb …, get, set, mixed:9:1 …, ping, stream (--list shows all). Default: point-select, get or ping; on a running server without --write what can be asked without writing. Several are measured one after the other' -r
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l distribution -d 'How often each key is asked for: uniform, or zipf:S (the k-th key as k to the power of -S)' -r
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l max-samples -d 'Keep single latencies up to this size, in MiB, for percentiles; later epochs keep counts alone' -r
complete -c looptax -n "__fish_looptax_using_subcommand compare" -s D -l define -d 'Set a variable of script:FILE' -r
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l protocol -d 'SQL statements go out prepared, or whole as text' -r -f -a "prepared\t'Prepared once per connection'
text\t'Whole, each time'"
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l pipeline -d 'Redis, memcached and echo: requests in one send; a request is then the whole batch' -r
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l value-size -d 'Redis, memcached: size of a value in bytes. Default: 64, an element of lpush 3' -r
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l placement -d 'Where the two ends of a connection run: same (one core), split (two cores), free (the scheduler decides), client-pinned (only our own threads are pinned). Default: same decides, with a short look at the others; client-pinned on a running server' -r
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l client -d 'How the client waits: poll, poll-first, block, event, or all in one interleaved schedule. Default: poll up to 64 connections (poll-first for `PostgreSQL`, as libpq waits), event above; block where only that makes sense (stream)' -r
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l client-like -d 'Wait as a real client does: php, java, jdbc, go, node, python, or a library such as libmariadb, libpq, pgjdbc, hiredis, redis-py. What it means depends on the server. What the client computes beside waiting is left out' -r
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l rate -d 'Send at this rate instead of as fast as answers come, whether answers are in or not, one comparison each: 50k (per second, over all connections of an arm), or 40%,80% of what the slower arm can serve, which is found first. Latency then counts from when a request was due' -r
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l arrivals -d 'Gaps between the requests of --rate: independent of one another, or all equal' -r -f -a "poisson\t'Exponential'
fixed\t'Equal'"
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l think -d 'Pause between an answer and the connection\'s next request: 200us, 5ms' -r
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l reconnect-every -d 'Close each connection after so many requests and open another, which counts with the next request' -r
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l sweep -d 'Connections 1, 2, 4 … as 1..1024, or a list as 1,16,256: throughput and latency of each arm over connections, with the event client, and poll beside it at 64' -r
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l socket -d 'Socket of the running server, or its folder. Default: that of the process on the port, what the server says, and what else proves to be its' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l rows -d 'Rows (keys) of a private server: 100000, 500k, 10M' -r
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l pool-mode -d 'private:pgbouncer: for how long a client has a connection to PostgreSQL for itself. Before its version 1.21 it keeps prepared statements in session mode alone: the others want --protocol text then' -r -f -a "session\t'As long as it is connected'
transaction\t'For a transaction'
statement\t'For a statement'"
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l fixed -d 'One look after a fixed time (10s) or number of epochs (20), without early stopping' -r
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l warm-up -d 'How long everything runs unmeasured first (0s: two epochs). Default: 2 to 10 s, until the rate is steady; one epoch, whatever is said, on a running server that is not --own-server' -r
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l slice-ms -d 'Length of a slice in milliseconds. Default: 50, or 1000 for free placement' -r
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l seed -d 'Repeat the schedule of an earlier run (the seed stands in its record)' -r
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l json -d 'Print the result as JSON instead of the text; --json=FILE prints the text and writes the JSON there' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l html -d 'Write a page to look at and share there, as `report` does' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand compare" -s o -l output -d 'Where the record goes; a file of that name is replaced. Default: a folder of its own in `$XDG_DATA_HOME/looptax/runs`, from where `analyze`, `report`, `diff` and `gate` take it by the name of the run' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l md -d 'Write Markdown for a pull request or an issue there; `-` prints it instead of the table' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l csv -d 'Write the figures as CSV there; `-` prints them' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l openmetrics -d 'Write OpenMetrics text there, for the node exporter\'s textfile folder, readable by all whatever the umask is; `-` prints it' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l benchmark-json -d 'Write JSON for continuous-benchmark actions (customSmallerIsBetter) there; `-` prints it' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l folded -d 'Write the call chains of `why` there, folded as flame graph programs read them: arm, process and functions with `;` between them, then nanoseconds of CPU time per 1000 requests; `-` prints them' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l pprof -d 'Write the same chains there as `go tool pprof` and its like read them, each with its arm as a label: `pprof -tagroot arm FILE`; `-` prints the bytes' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l at -d 'Say what TCP comes to at this rate of requests, as in `--at 800/s`: its share of one core, and whether that is worth a change. A bare `looptax` takes the rates that it sees' -r
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l label -d 'Call this run so in `history` and `diff`; `diff before-kernel after-kernel` then takes the newest run of each name' -r
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l between -d 'Begin within this part of the day alone, by the machine\'s own clock: 02:00-04:00, or 22:00-03:00 over midnight. At another time the run is refused, or waits with --wait' -r
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l max-load -d 'Begin on a quiet machine alone: the load average of the last minute, for each processor, is at most this, as in 0.2. On another the run is refused, or waits with --wait' -r
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l stop-file -d 'Do not begin while this file is there: the run is refused, or waits with --wait. Default: /etc/looptax/stop where --between or --max-load is given' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l exec -d 'Run this command on either arm, again and again, instead of sending requests. {transport} becomes the tool\'s own flags for address and account: mysql, mariadb, mysqldump, mariadb-dump, mysqlslap, mariadb-slap, psql, `pg_dump`, pgbench, sysbench, redis-cli, redis-benchmark, valkey-cli, valkey-benchmark. Words are split as a shell would; there is no shell, so that pipes need `sh -c \'…\'` with --exec-unix and --exec-tcp. What it prints is thrown away' -r
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l exec-unix -d 'The command for the unix arm, for any program; needs no TARGET. With one, its environment has `LOOPTAX_SOCKET`, `LOOPTAX_HOST`, `LOOPTAX_PORT`, `LOOPTAX_USER`, `LOOPTAX_PASSWORD` and `LOOPTAX_DATABASE`' -r
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l exec-tcp -d 'The command for the tcp arm' -r
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l exec-timeout -d 'A run that takes longer (90s, 10m) is stopped, with all that it has started, and ends the measurement' -r
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l request-size -d 'Size of a request of `ping` in bytes, 8 to 1M (K, M and G are 2^10, 2^20 and 2^30). Default: 64' -r
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l reply-size -d 'Size of a reply of `ping` in bytes, 8 to 1M. Default: 64' -r
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l stream-bytes -d 'Bytes that one request of `stream` sends, 8 to 4G. Default: 4M' -r
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l write-size -d 'Size of one write of `stream` in bytes, 8 to 1M. Default: 128K' -r
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l nodelay -d 'Whether both ends set `TCP_NODELAY`, as database clients and servers do. Default: on' -r -f -a "on\t'Small packets leave at once'
off\t'They wait for others (Nagle\'s algorithm)'"
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l color -d 'When to colour the output' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l remedies -d 'What would help programs that go over --baseline today (tcp, unless it is given)? The socket, no TLS, the host\'s network, several requests at once, connections that stay open, placement: each is measured for this workload, and all are ranked. 16 connections unless -c says otherwise, and --quick unless --precise or --fixed'
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l from-namespace -d 'Open unix and tls-unix from another network and mount namespace, as a container does that shares the folder of the socket and nothing else'
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l list -d 'List the workloads and do nothing'
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l rate-sweep -d '--rate 10% to 95%: both arms\' latency over the load'
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l trust-peer -d 'Log in also where the kernel does not show that the server is at the other end: whoever listens there may have the password then. Without it root\'s processes, your own and those of the system\'s accounts for servers hear one'
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l quick -d 'At most 40 epochs, some 20 s per comparison. A run without targets is quick'
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l precise -d 'Go on until the interval is narrow, and check that the slice length does not matter'
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l dry-run -d 'Print the plan and do nothing'
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l live -d 'Show the run on the whole terminal while it lasts: both arms, the interval so far, latencies, what comes next, time left. q ends the run and keeps what it has'
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l verbose -d 'Say all that is known of each comparison; without it each kind of warning is said once'
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l no-history -d 'Leave this run out of the history'
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l wait -d 'Wait in turn where another looptax measures on this machine, instead of disturbing each other'
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l write -d 'On a running server: may write a scratch schema of its own, dropped afterwards'
complete -c looptax -n "__fish_looptax_using_subcommand compare" -l own-server -d 'On a running server: it is mine and idle, lift the limits on connections and time'
complete -c looptax -n "__fish_looptax_using_subcommand compare" -s y -l yes -d 'Agree to the plan for a running server without being asked'
complete -c looptax -n "__fish_looptax_using_subcommand compare" -s q -l quiet -d 'No progress, no plan: only the result'
complete -c looptax -n "__fish_looptax_using_subcommand compare" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c looptax -n "__fish_looptax_using_subcommand selfcheck" -l runs -d 'A/A runs on each arm' -r
complete -c looptax -n "__fish_looptax_using_subcommand selfcheck" -l fixed -d 'A fixed number of epochs per run, without early stopping' -r
complete -c looptax -n "__fish_looptax_using_subcommand selfcheck" -l only -d 'Which checks to run' -r -f -a "aa\t'The same arm on both sides must show no difference'
inject\t'A known delay must come out'
slices\t'50 ms and 500 ms slices must agree'"
complete -c looptax -n "__fish_looptax_using_subcommand selfcheck" -l client -d 'How the client waits' -r
complete -c looptax -n "__fish_looptax_using_subcommand selfcheck" -l seed -d 'Seed of the first run; the next run takes the next one' -r
complete -c looptax -n "__fish_looptax_using_subcommand selfcheck" -l json -d 'Print the result as JSON instead of the text; --json=FILE prints the text and writes the JSON there' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand selfcheck" -l color -d 'When to colour the output' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c looptax -n "__fish_looptax_using_subcommand selfcheck" -l wait -d 'Wait in turn where another looptax measures on this machine, instead of disturbing each other'
complete -c looptax -n "__fish_looptax_using_subcommand selfcheck" -s q -l quiet -d 'No progress, no plan: only the result'
complete -c looptax -n "__fish_looptax_using_subcommand selfcheck" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c looptax -n "__fish_looptax_using_subcommand find" -l record -d 'Take that cost from this record of `compare`. Default: the newest of each kind of server in the history' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand find" -l openmetrics -d 'Write gauges of what is found there, as OpenMetrics: for the node exporter\'s folder of text files, readable by all whatever the umask is; `-` prints them' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand find" -l json -d 'Print the result as JSON instead of the text; --json=FILE prints the text and writes the JSON there' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand find" -l color -d 'When to colour the output' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c looptax -n "__fish_looptax_using_subcommand find" -l once -d 'One look, without rates: two looks take a second'
complete -c looptax -n "__fish_looptax_using_subcommand find" -l watch -d 'Look again every two seconds, until Ctrl-C'
complete -c looptax -n "__fish_looptax_using_subcommand find" -l measure -d 'Measure what a request over TCP costs here (ten seconds, built-in echo server), for the CPU time that is lost'
complete -c looptax -n "__fish_looptax_using_subcommand find" -l wait -d 'Wait in turn where another looptax measures on this machine, instead of disturbing each other'
complete -c looptax -n "__fish_looptax_using_subcommand find" -s q -l quiet -d 'No progress, no plan: only the result'
complete -c looptax -n "__fish_looptax_using_subcommand find" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c looptax -n "__fish_looptax_using_subcommand check" -l app -d 'An application\'s configuration file instead: wp-config.php, .env, settings.py, database.yml and those of some hundred others. Each connection in it is checked, with the lines to change' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand check" -l as -d 'Which application\'s FILE it is, where its name and its words leave that open' -r
complete -c looptax -n "__fish_looptax_using_subcommand check" -l pid -d 'The client\'s process: its user and groups, its view of the folders, its confinement. Without a DSN or FILE its connections are looked for: in its environment, in the configuration files of its working folder, and among the servers that it is connected to over TCP' -r
complete -c looptax -n "__fish_looptax_using_subcommand check" -l user -d 'The client\'s user: www-data. Default: whoever runs this' -r
complete -c looptax -n "__fish_looptax_using_subcommand check" -l socket -d 'The server\'s socket, or its folder. Default: that of the server that listens on the DSN\'s port here' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand check" -s c -l connections -d 'Connections that come at once when the client starts: PHP-FPM\'s `pm.max_children`, workers times pool size' -r
complete -c looptax -n "__fish_looptax_using_subcommand check" -l json -d 'Print the result as JSON instead of the text; --json=FILE prints the text and writes the JSON there' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand check" -l color -d 'When to colour the output' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c looptax -n "__fish_looptax_using_subcommand check" -l trust-peer -d 'Log in also where the kernel does not show that the server is at the other end: whoever listens there may have the password then. Without it root\'s processes, your own and those of the system\'s accounts for servers hear one'
complete -c looptax -n "__fish_looptax_using_subcommand check" -l verbose -d 'Say every point, and how it is known'
complete -c looptax -n "__fish_looptax_using_subcommand check" -s q -l quiet -d 'No progress, no plan: only the result'
complete -c looptax -n "__fish_looptax_using_subcommand check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c looptax -n "__fish_looptax_using_subcommand dsn" -l for -d 'Only for these: a driver, framework or application (mysqli, pgx, wordpress), or a language (php, python); all: every one' -r
complete -c looptax -n "__fish_looptax_using_subcommand dsn" -l socket -d 'The server\'s socket, or its folder. Default: the URL\'s own, or that of the server that listens on the URL\'s port here, or the usual one' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand dsn" -l json -d 'Print the result as JSON instead of the text; --json=FILE prints the text and writes the JSON there' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand dsn" -l color -d 'When to colour the output' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c looptax -n "__fish_looptax_using_subcommand dsn" -l explain -d 'Say which transport each driver takes for this URL as it stands, and why'
complete -c looptax -n "__fish_looptax_using_subcommand dsn" -l show-password -d 'Print the password where it belongs, instead of ****'
complete -c looptax -n "__fish_looptax_using_subcommand dsn" -s q -l quiet -d 'No progress, no plan: only the result'
complete -c looptax -n "__fish_looptax_using_subcommand dsn" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c looptax -n "__fish_looptax_using_subcommand switch" -l pid -d 'A process of the application: its connections are those that are proved. Without FILE the file that they come from is looked for in its working folder' -r
complete -c looptax -n "__fish_looptax_using_subcommand switch" -l user -d 'As whom the application runs: www-data. Default: the user of the processes that are connected now' -r
complete -c looptax -n "__fish_looptax_using_subcommand switch" -l only -d 'Which of the file\'s connections, by the numbers that the plan gives them' -r
complete -c looptax -n "__fish_looptax_using_subcommand switch" -l as -d 'Which application\'s file it is, where its name and its words leave that open' -r
complete -c looptax -n "__fish_looptax_using_subcommand switch" -l socket -d 'The server\'s socket, or its folder. Default: that of the server that listens on the connection\'s port here' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand switch" -s c -l connections -d 'Connections that come at once when the application starts: PHP-FPM\'s `pm.max_children`, workers times pool size' -r
complete -c looptax -n "__fish_looptax_using_subcommand switch" -l reload -d 'Run this in a shell once the file is written, so that the application reads it; again after the old file was put back' -r
complete -c looptax -n "__fish_looptax_using_subcommand switch" -l url -d 'A page of the application: it has to be as before, but for what differs between two requests anyway' -r
complete -c looptax -n "__fish_looptax_using_subcommand switch" -l within -d 'How long connections are waited for: 60s, 5m' -r
complete -c looptax -n "__fish_looptax_using_subcommand switch" -l admin -d 'An administrator of the server, for --fix-account, --fix-hba and their --undo; the password in `LOOPTAX_ADMIN_PASSWORD`: `mysql://root@localhost/?socket=/run/mysqld/mysqld.sock`. Root may fix `pg_hba.conf` without one' -r
complete -c looptax -n "__fish_looptax_using_subcommand switch" -l undo -d 'Put the old files back: of this switch, or of the last one' -r
complete -c looptax -n "__fish_looptax_using_subcommand switch" -l finish -d 'Write what is left to be written of a switch that was interrupted' -r
complete -c looptax -n "__fish_looptax_using_subcommand switch" -l json -d 'Print the result as JSON instead of the text; --json=FILE prints the text and writes the JSON there' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand switch" -l color -d 'When to colour the output' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c looptax -n "__fish_looptax_using_subcommand switch" -l compose -d 'FILE is a Compose file: the folder of the socket becomes a named volume of the application\'s service and the server\'s, and the application\'s variables name the socket there. Without it such lines are only said'
complete -c looptax -n "__fish_looptax_using_subcommand switch" -l trust-peer -d 'Log in also where the kernel does not show that the server is at the other end: whoever listens there may have the password then. Without it root\'s processes, your own and those of the system\'s accounts for servers hear one'
complete -c looptax -n "__fish_looptax_using_subcommand switch" -l dry-run -d 'Say what would be done; change nothing'
complete -c looptax -n "__fish_looptax_using_subcommand switch" -s y -l yes -d 'Ask nothing, and do it'
complete -c looptax -n "__fish_looptax_using_subcommand switch" -l force -d 'Write also what another program writes anew (Ansible, Puppet, …), and files that have other names'
complete -c looptax -n "__fish_looptax_using_subcommand switch" -l fix-account -d 'Where the account lacks what it takes on the socket: run the statements that the plan shows, with --admin. They are a switch of their own, and --undo takes them back'
complete -c looptax -n "__fish_looptax_using_subcommand switch" -l fix-hba -d 'Where `pg_hba.conf` lets nobody in over the socket: write the line that the plan shows above the one that decides now, and have the server read it. It is a switch of its own, and --undo takes it back'
complete -c looptax -n "__fish_looptax_using_subcommand switch" -l patch -d 'Print what would be written as a unified diff, for configuration management; change nothing. Passwords stand in it where they stand in the file'
complete -c looptax -n "__fish_looptax_using_subcommand switch" -l list -d 'Say which switches there were, and what lies at their files\' places now'
complete -c looptax -n "__fish_looptax_using_subcommand switch" -s q -l quiet -d 'No progress, no plan: only the result'
complete -c looptax -n "__fish_looptax_using_subcommand switch" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c looptax -n "__fish_looptax_using_subcommand run" -l map -d 'Move this address to this socket: 127.0.0.1:3306=/run/mysqld/mysqld.sock, `[::1]:5432=@name` for an abstract one. Then nothing is looked for, and nothing doubted' -r
complete -c looptax -n "__fish_looptax_using_subcommand run" -l also -d 'Move this address as well, beside what is found: for a server that a look finds no pair of, or that the command starts itself, as PHP-FPM' -r
complete -c looptax -n "__fish_looptax_using_subcommand run" -l only -d 'Only the servers on these ports' -r
complete -c looptax -n "__fish_looptax_using_subcommand run" -l check -d 'A connection that the command makes: `mysql://user@127.0.0.1/db`, its password in it or in `LOOPTAX_PASSWORD`. It is tried once over either transport first, and its port stays on TCP where the socket would refuse it or give it more; the rules of PostgreSQL count besides' -r
complete -c looptax -n "__fish_looptax_using_subcommand run" -l without -d 'Do without a feature of the kernel (for tests): listener, kcmp, pidfs …' -r
complete -c looptax -n "__fish_looptax_using_subcommand run" -l color -d 'When to colour the output' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c looptax -n "__fish_looptax_using_subcommand run" -l no-check -d 'Log in nowhere beforehand, also where the command\'s arguments or environment name a connection'
complete -c looptax -n "__fish_looptax_using_subcommand run" -l trust-peer -d 'Log in also where the kernel does not show that the server is at the other end: whoever listens there may have the password then. Without it root\'s processes, your own and those of the system\'s accounts for servers hear one'
complete -c looptax -n "__fish_looptax_using_subcommand run" -l require-check -d 'Leave a port on TCP where only a login could tell whether the socket leads to the same account (MariaDB, MySQL before version 8), and none is known: neither by `--check` nor from the command\'s arguments or environment'
complete -c looptax -n "__fish_looptax_using_subcommand run" -l dry-run -d 'Say what would be moved, and what `check` thinks of it; run nothing'
complete -c looptax -n "__fish_looptax_using_subcommand run" -l stats -d 'Say at the end where each connection went, and why; and of each server why it stays on TCP. Also with `-q`'
complete -c looptax -n "__fish_looptax_using_subcommand run" -s v -l verbose -d 'Say of each connection at once where it went, and of each server why it stays on TCP'
complete -c looptax -n "__fish_looptax_using_subcommand run" -l strict -d 'Fail where nothing can be moved at all, instead of running the command as it is: no server, or a kernel that does not allow it. A single connection that stays on TCP is no failure'
complete -c looptax -n "__fish_looptax_using_subcommand run" -l keep-running -d 'Let the command go on when looptax is killed (`kill -9`), instead of killing it as well'
complete -c looptax -n "__fish_looptax_using_subcommand run" -s q -l quiet -d 'No progress, no plan: only the result'
complete -c looptax -n "__fish_looptax_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c looptax -n "__fish_looptax_using_subcommand trial" -l url -d 'A page of the application, by http:// or https:// at an address of this machine. Several are asked for in a drawn order' -r
complete -c looptax -n "__fish_looptax_using_subcommand trial" -l urls -d 'A file with an address on each line' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand trial" -l from-log -d 'An access log in the combined format: its pages that were asked for by GET and answered with 200, as often as they were; --url says where' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand trial" -l header -d 'A header of every request: `Cookie: session=…`. What follows a name that is secret is kept in no record' -r
complete -c looptax -n "__fish_looptax_using_subcommand trial" -l method -d 'How pages are asked for. Whatever a method changes in the application, the trial changes many times' -r
complete -c looptax -n "__fish_looptax_using_subcommand trial" -s c -l clients -d 'Pages asked for at a time' -r
complete -c looptax -n "__fish_looptax_using_subcommand trial" -l rate -d 'Ask for so many pages per second, due at random, whether answers are in or not; a page\'s time then counts from when it was due. Default: each client asks as soon as it has its answer' -r
complete -c looptax -n "__fish_looptax_using_subcommand trial" -l exec-load -d 'This command makes the load, whole runs of it: it should do a fixed amount of work, for the time of a run is what is measured. Words are split as a shell would; there is no shell, so that pipes and loops need `sh -c \'…\'`. --url is for the first look' -r
complete -c looptax -n "__fish_looptax_using_subcommand trial" -l exec-timeout -d 'A run of --exec-load that takes longer is stopped, and ends the trial' -r
complete -c looptax -n "__fish_looptax_using_subcommand trial" -l ready -d 'The application is ready when this address takes connections. Default: that of the first page' -r
complete -c looptax -n "__fish_looptax_using_subcommand trial" -l start-limit -d 'How long the application may take until it is ready' -r
complete -c looptax -n "__fish_looptax_using_subcommand trial" -l page-limit -d 'How long a page may take' -r
complete -c looptax -n "__fish_looptax_using_subcommand trial" -l user -d 'Run the application as this user; takes root' -r
complete -c looptax -n "__fish_looptax_using_subcommand trial" -l arms -d 'The two ways: unix,tcp, or tcp,tcp to see what no difference looks like' -r
complete -c looptax -n "__fish_looptax_using_subcommand trial" -l map -d 'Move this address to this socket: 127.0.0.1:3306=/run/mysqld/mysqld.sock, `[::1]:5432=@name` for an abstract one. Then nothing is looked for, and nothing doubted' -r
complete -c looptax -n "__fish_looptax_using_subcommand trial" -l also -d 'Move this address as well, beside what is found: for a server that a look finds no pair of, or that the command starts itself, as PHP-FPM' -r
complete -c looptax -n "__fish_looptax_using_subcommand trial" -l only -d 'Only the servers on these ports' -r
complete -c looptax -n "__fish_looptax_using_subcommand trial" -l check -d 'A connection that the command makes: `mysql://user@127.0.0.1/db`, its password in it or in `LOOPTAX_PASSWORD`. It is tried once over either transport first, and its port stays on TCP where the socket would refuse it or give it more; the rules of PostgreSQL count besides' -r
complete -c looptax -n "__fish_looptax_using_subcommand trial" -l fixed -d 'One look after a fixed time (60s) or number of epochs (20), without early stopping' -r
complete -c looptax -n "__fish_looptax_using_subcommand trial" -l seed -d 'Repeat the order of an earlier trial (the seed stands in its record)' -r
complete -c looptax -n "__fish_looptax_using_subcommand trial" -l json -d 'Print the result as JSON instead of the text; --json=FILE prints the text and writes the JSON there' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand trial" -l html -d 'Write a page to look at and share there, as `report` does' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand trial" -s o -l output -d 'Where the record goes; a file of that name is replaced. Default: a folder of its own in `$XDG_DATA_HOME/looptax/runs`, from where `analyze`, `report`, `diff` and `gate` take it by the name of the run' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand trial" -l md -d 'Write Markdown for a pull request or an issue there; `-` prints it instead of the table' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand trial" -l csv -d 'Write the figures as CSV there; `-` prints them' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand trial" -l openmetrics -d 'Write OpenMetrics text there, for the node exporter\'s textfile folder, readable by all whatever the umask is; `-` prints it' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand trial" -l benchmark-json -d 'Write JSON for continuous-benchmark actions (customSmallerIsBetter) there; `-` prints it' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand trial" -l folded -d 'Write the call chains of `why` there, folded as flame graph programs read them: arm, process and functions with `;` between them, then nanoseconds of CPU time per 1000 requests; `-` prints them' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand trial" -l pprof -d 'Write the same chains there as `go tool pprof` and its like read them, each with its arm as a label: `pprof -tagroot arm FILE`; `-` prints the bytes' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand trial" -l at -d 'Say what TCP comes to at this rate of requests, as in `--at 800/s`: its share of one core, and whether that is worth a change. A bare `looptax` takes the rates that it sees' -r
complete -c looptax -n "__fish_looptax_using_subcommand trial" -l label -d 'Call this run so in `history` and `diff`; `diff before-kernel after-kernel` then takes the newest run of each name' -r
complete -c looptax -n "__fish_looptax_using_subcommand trial" -l inject-us -d 'Wait so many microseconds in each page of the second arm (for tests)' -r
complete -c looptax -n "__fish_looptax_using_subcommand trial" -l start-ms -d 'Measure the pages of a start for so many milliseconds (for tests)' -r
complete -c looptax -n "__fish_looptax_using_subcommand trial" -l color -d 'When to colour the output' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c looptax -n "__fish_looptax_using_subcommand trial" -l restart -d 'Start the application anew for each turn, with a warm-up of its own: for one that keeps its connections. Found out where it is not said'
complete -c looptax -n "__fish_looptax_using_subcommand trial" -l each -d 'Try each server\'s way by itself as well, where the application uses several: at most three'
complete -c looptax -n "__fish_looptax_using_subcommand trial" -l no-check -d 'Log in nowhere beforehand, also where the command\'s arguments or environment name a connection'
complete -c looptax -n "__fish_looptax_using_subcommand trial" -l trust-peer -d 'Log in also where the kernel does not show that the server is at the other end: whoever listens there may have the password then. Without it root\'s processes, your own and those of the system\'s accounts for servers hear one'
complete -c looptax -n "__fish_looptax_using_subcommand trial" -l require-check -d 'Leave a port on TCP where only a login could tell whether the socket leads to the same account (MariaDB, MySQL before version 8), and none is known: neither by `--check` nor from the command\'s arguments or environment'
complete -c looptax -n "__fish_looptax_using_subcommand trial" -l quick -d 'At most 40 epochs'
complete -c looptax -n "__fish_looptax_using_subcommand trial" -l precise -d 'Go on until the interval is narrow'
complete -c looptax -n "__fish_looptax_using_subcommand trial" -l dry-run -d 'Say what would be done, and start nothing'
complete -c looptax -n "__fish_looptax_using_subcommand trial" -s y -l yes -d 'Agree to the plan without being asked'
complete -c looptax -n "__fish_looptax_using_subcommand trial" -l verbose -d 'Say all that is known of each comparison; without it each kind of warning is said once'
complete -c looptax -n "__fish_looptax_using_subcommand trial" -l no-history -d 'Leave this run out of the history'
complete -c looptax -n "__fish_looptax_using_subcommand trial" -l wait -d 'Wait in turn where another looptax measures on this machine, instead of disturbing each other'
complete -c looptax -n "__fish_looptax_using_subcommand trial" -l hold -d 'Start the application, leave its connections on TCP, say `ready`, and end it when the input ends (for tests)'
complete -c looptax -n "__fish_looptax_using_subcommand trial" -s q -l quiet -d 'No progress, no plan: only the result'
complete -c looptax -n "__fish_looptax_using_subcommand trial" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c looptax -n "__fish_looptax_using_subcommand why" -l arms -d 'Ways to the server to hold against each other: unix, tcp, tcp6; abstract, a socket\'s abstract name; tls and tls-unix; bridge, nat and proxy, as a container is reached by its address or its published port; redirect, opened as TCP and moved to the socket, as `looptax run` does. One that cannot be had is named, and the others are measured. Default: unix,tcp, and tls on a MySQL or PostgreSQL server that offers it' -r
complete -c looptax -n "__fish_looptax_using_subcommand why" -l baseline -d 'The arm the others are held against. Default: the first of --arms' -r
complete -c looptax -n "__fish_looptax_using_subcommand why" -s c -l connections -d 'Connections per arm, one comparison each; with several, the server\'s hottest functions at each. Default: 1' -r
complete -c looptax -n "__fish_looptax_using_subcommand why" -l workload -d 'What is asked: point-select, read-write, tpcb …, get, set, mixed:9:1 …, ping, stream (`looptax compare --list` shows all). Default: point-select, get or ping; on a running server without --write what can be asked without writing. Several are measured one after the other' -r
complete -c looptax -n "__fish_looptax_using_subcommand why" -l distribution -d 'How often each key is asked for: uniform, or zipf:S (the k-th key as k to the power of -S)' -r
complete -c looptax -n "__fish_looptax_using_subcommand why" -l max-samples -d 'Keep single latencies up to this size, in MiB, for percentiles; later epochs keep counts alone' -r
complete -c looptax -n "__fish_looptax_using_subcommand why" -s D -l define -d 'Set a variable of script:FILE' -r
complete -c looptax -n "__fish_looptax_using_subcommand why" -l protocol -d 'SQL statements go out prepared, or whole as text' -r -f -a "prepared\t'Prepared once per connection'
text\t'Whole, each time'"
complete -c looptax -n "__fish_looptax_using_subcommand why" -l pipeline -d 'Redis, memcached and echo: requests in one send; a request is then the whole batch' -r
complete -c looptax -n "__fish_looptax_using_subcommand why" -l value-size -d 'Redis, memcached: size of a value in bytes. Default: 64, an element of lpush 3' -r
complete -c looptax -n "__fish_looptax_using_subcommand why" -l placement -d 'Where the two ends of a connection run: same (one core), split (two cores), free (the scheduler decides), client-pinned (only our own threads are pinned). Default: same; client-pinned on a running server' -r
complete -c looptax -n "__fish_looptax_using_subcommand why" -l client -d 'How the client waits: poll, poll-first, block, event, or all in one interleaved schedule. Default: poll up to 64 connections (poll-first for `PostgreSQL`, as libpq waits), event above; block where only that makes sense (stream)' -r
complete -c looptax -n "__fish_looptax_using_subcommand why" -l client-like -d 'Wait as a real client does: php, java, jdbc, go, node, python, or a library such as libmariadb, libpq, pgjdbc, hiredis, redis-py. What it means depends on the server. What the client computes beside waiting is left out' -r
complete -c looptax -n "__fish_looptax_using_subcommand why" -l rate -d 'Send at this rate instead of as fast as answers come, whether answers are in or not, one comparison each: 50k (per second, over all connections of an arm), or 40%,80% of what the slower arm can serve, which is found first. Latency then counts from when a request was due' -r
complete -c looptax -n "__fish_looptax_using_subcommand why" -l arrivals -d 'Gaps between the requests of --rate: independent of one another, or all equal' -r -f -a "poisson\t'Exponential'
fixed\t'Equal'"
complete -c looptax -n "__fish_looptax_using_subcommand why" -l think -d 'Pause between an answer and the connection\'s next request: 200us, 5ms' -r
complete -c looptax -n "__fish_looptax_using_subcommand why" -l reconnect-every -d 'Close each connection after so many requests and open another, which counts with the next request' -r
complete -c looptax -n "__fish_looptax_using_subcommand why" -l sweep -d 'Connections 1, 2, 4 … as 1..1024, or a list as 1,16,256, with the event client: the server\'s hottest functions at each, beside throughput and latency of each arm' -r
complete -c looptax -n "__fish_looptax_using_subcommand why" -l socket -d 'Socket of the running server, or its folder. Default: that of the process on the port, what the server says, and what else proves to be its' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand why" -l rows -d 'Rows (keys) of a private server: 100000, 500k, 10M' -r
complete -c looptax -n "__fish_looptax_using_subcommand why" -l pool-mode -d 'private:pgbouncer: for how long a client has a connection to PostgreSQL for itself. Before its version 1.21 it keeps prepared statements in session mode alone: the others want --protocol text then' -r -f -a "session\t'As long as it is connected'
transaction\t'For a transaction'
statement\t'For a statement'"
complete -c looptax -n "__fish_looptax_using_subcommand why" -l fixed -d 'How long is measured: a time (10s) or a number of epochs (18). A third of the epochs run without the sampler, and the verdict comes from those: 18 are the least that gives one. Default: 40s' -r
complete -c looptax -n "__fish_looptax_using_subcommand why" -l warm-up -d 'How long everything runs unmeasured first (0s: two epochs). Default: 2 to 10 s, until the rate is steady; one epoch, whatever is said, on a running server that is not --own-server' -r
complete -c looptax -n "__fish_looptax_using_subcommand why" -l slice-ms -d 'Length of a slice in milliseconds. Default: 50, or 1000 for free placement' -r
complete -c looptax -n "__fish_looptax_using_subcommand why" -l seed -d 'Repeat the schedule of an earlier run (the seed stands in its record)' -r
complete -c looptax -n "__fish_looptax_using_subcommand why" -l json -d 'Print the result as JSON instead of the text; --json=FILE prints the text and writes the JSON there' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand why" -l html -d 'Write a page to look at and share there, as `report` does' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand why" -s o -l output -d 'Where the record goes; a file of that name is replaced. Default: a folder of its own in `$XDG_DATA_HOME/looptax/runs`, from where `analyze`, `report`, `diff` and `gate` take it by the name of the run' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand why" -l md -d 'Write Markdown for a pull request or an issue there; `-` prints it instead of the table' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand why" -l csv -d 'Write the figures as CSV there; `-` prints them' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand why" -l openmetrics -d 'Write OpenMetrics text there, for the node exporter\'s textfile folder, readable by all whatever the umask is; `-` prints it' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand why" -l benchmark-json -d 'Write JSON for continuous-benchmark actions (customSmallerIsBetter) there; `-` prints it' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand why" -l folded -d 'Write the call chains of `why` there, folded as flame graph programs read them: arm, process and functions with `;` between them, then nanoseconds of CPU time per 1000 requests; `-` prints them' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand why" -l pprof -d 'Write the same chains there as `go tool pprof` and its like read them, each with its arm as a label: `pprof -tagroot arm FILE`; `-` prints the bytes' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand why" -l at -d 'Say what TCP comes to at this rate of requests, as in `--at 800/s`: its share of one core, and whether that is worth a change. A bare `looptax` takes the rates that it sees' -r
complete -c looptax -n "__fish_looptax_using_subcommand why" -l label -d 'Call this run so in `history` and `diff`; `diff before-kernel after-kernel` then takes the newest run of each name' -r
complete -c looptax -n "__fish_looptax_using_subcommand why" -l between -d 'Begin within this part of the day alone, by the machine\'s own clock: 02:00-04:00, or 22:00-03:00 over midnight. At another time the run is refused, or waits with --wait' -r
complete -c looptax -n "__fish_looptax_using_subcommand why" -l max-load -d 'Begin on a quiet machine alone: the load average of the last minute, for each processor, is at most this, as in 0.2. On another the run is refused, or waits with --wait' -r
complete -c looptax -n "__fish_looptax_using_subcommand why" -l stop-file -d 'Do not begin while this file is there: the run is refused, or waits with --wait. Default: /etc/looptax/stop where --between or --max-load is given' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand why" -l exec -d 'Run this command on either arm, again and again, instead of sending requests. {transport} becomes the tool\'s own flags for address and account: mysql, mariadb, mysqldump, mariadb-dump, mysqlslap, mariadb-slap, psql, `pg_dump`, pgbench, sysbench, redis-cli, redis-benchmark, valkey-cli, valkey-benchmark. Words are split as a shell would; there is no shell, so that pipes need `sh -c \'…\'` with --exec-unix and --exec-tcp. What it prints is thrown away' -r
complete -c looptax -n "__fish_looptax_using_subcommand why" -l exec-unix -d 'The command for the unix arm, for any program; needs no TARGET. With one, its environment has `LOOPTAX_SOCKET`, `LOOPTAX_HOST`, `LOOPTAX_PORT`, `LOOPTAX_USER`, `LOOPTAX_PASSWORD` and `LOOPTAX_DATABASE`' -r
complete -c looptax -n "__fish_looptax_using_subcommand why" -l exec-tcp -d 'The command for the tcp arm' -r
complete -c looptax -n "__fish_looptax_using_subcommand why" -l exec-timeout -d 'A run that takes longer (90s, 10m) is stopped, with all that it has started, and ends the measurement' -r
complete -c looptax -n "__fish_looptax_using_subcommand why" -l request-size -d 'Size of a request of `ping` in bytes, 8 to 1M (K, M and G are 2^10, 2^20 and 2^30). Default: 64' -r
complete -c looptax -n "__fish_looptax_using_subcommand why" -l reply-size -d 'Size of a reply of `ping` in bytes, 8 to 1M. Default: 64' -r
complete -c looptax -n "__fish_looptax_using_subcommand why" -l stream-bytes -d 'Bytes that one request of `stream` sends, 8 to 4G. Default: 4M' -r
complete -c looptax -n "__fish_looptax_using_subcommand why" -l write-size -d 'Size of one write of `stream` in bytes, 8 to 1M. Default: 128K' -r
complete -c looptax -n "__fish_looptax_using_subcommand why" -l nodelay -d 'Whether both ends set `TCP_NODELAY`, as database clients and servers do. Default: on' -r -f -a "on\t'Small packets leave at once'
off\t'They wait for others (Nagle\'s algorithm)'"
complete -c looptax -n "__fish_looptax_using_subcommand why" -l inject-ns -d 'Keep the client busy for so many nanoseconds before each request of the other arms (for tests)' -r
complete -c looptax -n "__fish_looptax_using_subcommand why" -l color -d 'When to colour the output' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c looptax -n "__fish_looptax_using_subcommand why" -l remedies -d 'What would help programs that go over --baseline today (tcp, unless it is given)? The socket, no TLS, the host\'s network, several requests at once, connections that stay open, placement: each is measured for this workload, and all are ranked. 16 connections unless -c says otherwise, and --quick unless --precise or --fixed'
complete -c looptax -n "__fish_looptax_using_subcommand why" -l from-namespace -d 'Open unix and tls-unix from another network and mount namespace, as a container does that shares the folder of the socket and nothing else'
complete -c looptax -n "__fish_looptax_using_subcommand why" -l list -d 'List the workloads and do nothing'
complete -c looptax -n "__fish_looptax_using_subcommand why" -l rate-sweep -d '--rate 10% to 95%: both arms\' latency over the load'
complete -c looptax -n "__fish_looptax_using_subcommand why" -l trust-peer -d 'Log in also where the kernel does not show that the server is at the other end: whoever listens there may have the password then. Without it root\'s processes, your own and those of the system\'s accounts for servers hear one'
complete -c looptax -n "__fish_looptax_using_subcommand why" -l quick -d 'At most 40 epochs, some 20 s per comparison, of which a third count for the verdict'
complete -c looptax -n "__fish_looptax_using_subcommand why" -l precise -d 'Go on until the interval is narrow, and check that the slice length does not matter'
complete -c looptax -n "__fish_looptax_using_subcommand why" -l dry-run -d 'Print the plan and do nothing'
complete -c looptax -n "__fish_looptax_using_subcommand why" -l live -d 'Show the run on the whole terminal while it lasts: both arms, the interval so far, latencies, what comes next, time left. q ends the run and keeps what it has'
complete -c looptax -n "__fish_looptax_using_subcommand why" -l verbose -d 'Say all that is known of each comparison; without it each kind of warning is said once'
complete -c looptax -n "__fish_looptax_using_subcommand why" -l no-history -d 'Leave this run out of the history'
complete -c looptax -n "__fish_looptax_using_subcommand why" -l wait -d 'Wait in turn where another looptax measures on this machine, instead of disturbing each other'
complete -c looptax -n "__fish_looptax_using_subcommand why" -l write -d 'On a running server: may write a scratch schema of its own, dropped afterwards'
complete -c looptax -n "__fish_looptax_using_subcommand why" -l own-server -d 'On a running server: it is mine and idle, lift the limits on connections and time'
complete -c looptax -n "__fish_looptax_using_subcommand why" -s y -l yes -d 'Agree to the plan for a running server without being asked'
complete -c looptax -n "__fish_looptax_using_subcommand why" -s q -l quiet -d 'No progress, no plan: only the result'
complete -c looptax -n "__fish_looptax_using_subcommand why" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c looptax -n "__fish_looptax_using_subcommand analyze" -l json -d 'Print the result as JSON instead of the text; --json=FILE prints the text and writes the JSON there' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand analyze" -l at -d 'Say what TCP comes to at this rate of requests, as in `--at 800/s`: its share of one core, and whether that is worth a change. A bare `looptax` takes the rates that it sees' -r
complete -c looptax -n "__fish_looptax_using_subcommand analyze" -l md -d 'Write Markdown for a pull request or an issue there; `-` prints it instead of the table' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand analyze" -l csv -d 'Write the figures as CSV there; `-` prints them' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand analyze" -l openmetrics -d 'Write OpenMetrics text there, for the node exporter\'s textfile folder, readable by all whatever the umask is; `-` prints it' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand analyze" -l benchmark-json -d 'Write JSON for continuous-benchmark actions (customSmallerIsBetter) there; `-` prints it' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand analyze" -l folded -d 'Write the call chains of `why` there, folded as flame graph programs read them: arm, process and functions with `;` between them, then nanoseconds of CPU time per 1000 requests; `-` prints them' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand analyze" -l pprof -d 'Write the same chains there as `go tool pprof` and its like read them, each with its arm as a label: `pprof -tagroot arm FILE`; `-` prints the bytes' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand analyze" -l color -d 'When to colour the output' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c looptax -n "__fish_looptax_using_subcommand analyze" -l verbose -d 'Say all that is known of each comparison; without it each kind of warning is said once'
complete -c looptax -n "__fish_looptax_using_subcommand analyze" -s q -l quiet -d 'No progress, no plan: only the result'
complete -c looptax -n "__fish_looptax_using_subcommand analyze" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c looptax -n "__fish_looptax_using_subcommand history; and not __fish_seen_subcommand_from list show rm help" -s n -l most -d 'So many runs at most' -r
complete -c looptax -n "__fish_looptax_using_subcommand history; and not __fish_seen_subcommand_from list show rm help" -l json -d 'Print the result as JSON instead of the text; --json=FILE prints the text and writes the JSON there' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand history; and not __fish_seen_subcommand_from list show rm help" -l color -d 'When to colour the output' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c looptax -n "__fish_looptax_using_subcommand history; and not __fish_seen_subcommand_from list show rm help" -s q -l quiet -d 'No progress, no plan: only the result'
complete -c looptax -n "__fish_looptax_using_subcommand history; and not __fish_seen_subcommand_from list show rm help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c looptax -n "__fish_looptax_using_subcommand history; and not __fish_seen_subcommand_from list show rm help" -f -a "list" -d 'The latest runs, the newest first'
complete -c looptax -n "__fish_looptax_using_subcommand history; and not __fish_seen_subcommand_from list show rm help" -f -a "show" -d 'A run again, from its record'
complete -c looptax -n "__fish_looptax_using_subcommand history; and not __fish_seen_subcommand_from list show rm help" -f -a "rm" -d 'Forget runs. A record that was given a place of its own stays there'
complete -c looptax -n "__fish_looptax_using_subcommand history; and not __fish_seen_subcommand_from list show rm help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c looptax -n "__fish_looptax_using_subcommand history; and __fish_seen_subcommand_from list" -s n -l most -d 'So many runs at most' -r
complete -c looptax -n "__fish_looptax_using_subcommand history; and __fish_seen_subcommand_from list" -l json -d 'Print the result as JSON instead of the text; --json=FILE prints the text and writes the JSON there' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand history; and __fish_seen_subcommand_from list" -l color -d 'When to colour the output' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c looptax -n "__fish_looptax_using_subcommand history; and __fish_seen_subcommand_from list" -s q -l quiet -d 'No progress, no plan: only the result'
complete -c looptax -n "__fish_looptax_using_subcommand history; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c looptax -n "__fish_looptax_using_subcommand history; and __fish_seen_subcommand_from show" -l color -d 'When to colour the output' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c looptax -n "__fish_looptax_using_subcommand history; and __fish_seen_subcommand_from show" -s q -l quiet -d 'No progress, no plan: only the result'
complete -c looptax -n "__fish_looptax_using_subcommand history; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c looptax -n "__fish_looptax_using_subcommand history; and __fish_seen_subcommand_from rm" -l color -d 'When to colour the output' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c looptax -n "__fish_looptax_using_subcommand history; and __fish_seen_subcommand_from rm" -s q -l quiet -d 'No progress, no plan: only the result'
complete -c looptax -n "__fish_looptax_using_subcommand history; and __fish_seen_subcommand_from rm" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c looptax -n "__fish_looptax_using_subcommand history; and __fish_seen_subcommand_from help" -f -a "list" -d 'The latest runs, the newest first'
complete -c looptax -n "__fish_looptax_using_subcommand history; and __fish_seen_subcommand_from help" -f -a "show" -d 'A run again, from its record'
complete -c looptax -n "__fish_looptax_using_subcommand history; and __fish_seen_subcommand_from help" -f -a "rm" -d 'Forget runs. A record that was given a place of its own stays there'
complete -c looptax -n "__fish_looptax_using_subcommand history; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c looptax -n "__fish_looptax_using_subcommand diff" -l json -d 'Print the result as JSON instead of the text; --json=FILE prints the text and writes the JSON there' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand diff" -l color -d 'When to colour the output' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c looptax -n "__fish_looptax_using_subcommand diff" -s q -l quiet -d 'No progress, no plan: only the result'
complete -c looptax -n "__fish_looptax_using_subcommand diff" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c looptax -n "__fish_looptax_using_subcommand gate" -l max-tax -d 'Most throughput that an arm may lose: 20%' -r
complete -c looptax -n "__fish_looptax_using_subcommand gate" -l max-page-time -d 'Of a trial: how much longer a page may take than over the baseline: +2%' -r
complete -c looptax -n "__fish_looptax_using_subcommand gate" -l arm -d 'Look at this arm alone. Default: every one but the baseline' -r
complete -c looptax -n "__fish_looptax_using_subcommand gate" -l color -d 'When to colour the output' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c looptax -n "__fish_looptax_using_subcommand gate" -s q -l quiet -d 'No progress, no plan: only the result'
complete -c looptax -n "__fish_looptax_using_subcommand gate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c looptax -n "__fish_looptax_using_subcommand replay" -l scale -d 'Amounts of percona\'s dump and of moonen\'s stream and messages as a share of the published ones, which are 1: 0.05. Default: what fits minutes; the result says how much smaller that is' -r
complete -c looptax -n "__fish_looptax_using_subcommand replay" -s o -l output -d 'Folder for the records behind the result, and for the result as `replay.json`; one with a result is refused. Default: one of its own in `$XDG_DATA_HOME/looptax/replays`' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand replay" -l json -d 'Print the result as JSON instead of the text; --json=FILE prints the text and writes the JSON there' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand replay" -l md -d 'Write the result as Markdown there; `-` prints it instead of the tables' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand replay" -l html -d 'Write a page with all parts side by side there' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand replay" -l epochs -d 'Epochs of every comparison: for tests' -r
complete -c looptax -n "__fish_looptax_using_subcommand replay" -l slice-ms -d 'Length of every slice: for tests' -r
complete -c looptax -n "__fish_looptax_using_subcommand replay" -l users -d 'Most connections of a sweep: for tests' -r
complete -c looptax -n "__fish_looptax_using_subcommand replay" -l color -d 'When to colour the output' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c looptax -n "__fish_looptax_using_subcommand replay" -l quick -d 'Fewer epochs and fewer points; dimitri stops at 256 connections'
complete -c looptax -n "__fish_looptax_using_subcommand replay" -l strict -d 'A part that could not be measured as a whole makes the exit code 2'
complete -c looptax -n "__fish_looptax_using_subcommand replay" -l dry-run -d 'Print the plan and do nothing'
complete -c looptax -n "__fish_looptax_using_subcommand replay" -l no-history -d 'Leave the runs out of the history'
complete -c looptax -n "__fish_looptax_using_subcommand replay" -l wait -d 'Wait in turn where another looptax measures on this machine, instead of disturbing each other'
complete -c looptax -n "__fish_looptax_using_subcommand replay" -s q -l quiet -d 'No progress, no plan: only the result'
complete -c looptax -n "__fish_looptax_using_subcommand replay" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c looptax -n "__fish_looptax_using_subcommand report" -s o -l output -d 'Where the page goes; `-` prints it. Default: the first record\'s name with `.html`, in this folder, unless it exists' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand report" -l color -d 'When to colour the output' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c looptax -n "__fish_looptax_using_subcommand report" -s q -l quiet -d 'No progress, no plan: only the result'
complete -c looptax -n "__fish_looptax_using_subcommand report" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c looptax -n "__fish_looptax_using_subcommand report-to" -l password-file -d 'The collector\'s password, in a file. Else it is in the address, or in `LOOPTAX_COLLECTOR_PASSWORD`' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand report-to" -l ca-file -d 'A PEM of who may have signed the collector\'s certificate, in place of the system\'s authorities' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand report-to" -l key-file -d 'The key of --anonymous: the same on all machines, and not on the collector' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand report-to" -l spool -d 'Where reports wait while the collector is away. Default: /var/lib/looptax/spool as root, else `looptax/spool` below `XDG_STATE_HOME`' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand report-to" -l records -d 'Which records of `compare` are told of: those that were not sent yet; all, of which what is too much for a report goes with the next ones; or none' -r -f -a "new\t'Those that no report told of'
all\t'Every one of the history'
none\t'None'"
complete -c looptax -n "__fish_looptax_using_subcommand report-to" -l jitter -d 'Sleep a random time up to this first, so that not all machines report at once' -r
complete -c looptax -n "__fish_looptax_using_subcommand report-to" -l stop-file -d 'Do nothing while this file is there' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand report-to" -l from -d 'Do not look at this machine: send on reports (JSON lines) that were gathered before, from a file, the files of a folder, or `-`. What is sent twice counts once' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand report-to" -l json -d 'Print the result as JSON instead of the text; --json=FILE prints the text and writes the JSON there' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand report-to" -l color -d 'When to colour the output' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c looptax -n "__fish_looptax_using_subcommand report-to" -l trust-peer -d 'Log in also where the kernel does not show that the server is at the other end: whoever listens there may have the password then. Without it root\'s processes, your own and those of the system\'s accounts for servers hear one'
complete -c looptax -n "__fish_looptax_using_subcommand report-to" -l anonymous -d 'Send names of users, programs and of the machine as keyed hashes'
complete -c looptax -n "__fish_looptax_using_subcommand report-to" -l dry-run -d 'Print the report\'s lines; send and keep nothing'
complete -c looptax -n "__fish_looptax_using_subcommand report-to" -s q -l quiet -d 'No progress, no plan: only the result'
complete -c looptax -n "__fish_looptax_using_subcommand report-to" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and not __fish_seen_subcommand_from init report hosts host pairs movers help" -l color -d 'When to colour the output' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and not __fish_seen_subcommand_from init report hosts host pairs movers help" -s q -l quiet -d 'No progress, no plan: only the result'
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and not __fish_seen_subcommand_from init report hosts host pairs movers help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and not __fish_seen_subcommand_from init report hosts host pairs movers help" -f -a "init" -d 'Make the collector\'s tables and views, or bring them to this version; again, it changes nothing'
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and not __fish_seen_subcommand_from init report hosts host pairs movers help" -f -a "report" -d 'What all machines lose, where to begin, what differs between them, who fell back, who is silent'
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and not __fish_seen_subcommand_from init report hosts host pairs movers help" -f -a "hosts" -d 'Machines with clients over TCP, those first that lose most'
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and not __fish_seen_subcommand_from init report hosts host pairs movers help" -f -a "host" -d 'One machine: its clients, what it measured, when it reported'
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and not __fish_seen_subcommand_from init report hosts host pairs movers help" -f -a "pairs" -d 'Programs and kinds of server over all machines, those first that lose most'
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and not __fish_seen_subcommand_from init report hosts host pairs movers help" -f -a "movers" -d 'Who goes another way than a week ago, and who fell back to TCP'
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and not __fish_seen_subcommand_from init report hosts host pairs movers help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from init" -l password-file -d 'The collector\'s password, in a file. Else it is in the address, or in `LOOPTAX_COLLECTOR_PASSWORD`' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from init" -l ca-file -d 'A PEM of who may have signed the collector\'s certificate, in place of the system\'s authorities' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from init" -l cluster -d 'ClickHouse: replicate and distribute the tables over this cluster' -r
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from init" -l keep -d 'After so many days rows go' -r
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from init" -l json -d 'Print the result as JSON instead of the text; --json=FILE prints the text and writes the JSON there' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from init" -l color -d 'When to colour the output' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from init" -l trust-peer -d 'Log in also where the kernel does not show that the server is at the other end: whoever listens there may have the password then. Without it root\'s processes, your own and those of the system\'s accounts for servers hear one'
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from init" -l print -d 'Print the statements, with the roles of who reports and who asks; connect to nothing'
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from init" -s q -l quiet -d 'No progress, no plan: only the result'
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from init" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from report" -l password-file -d 'The collector\'s password, in a file. Else it is in the address, or in `LOOPTAX_COLLECTOR_PASSWORD`' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from report" -l ca-file -d 'A PEM of who may have signed the collector\'s certificate, in place of the system\'s authorities' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from report" -l json -d 'Print the result as JSON instead of the text; --json=FILE prints the text and writes the JSON there' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from report" -l html -d 'Write a page that needs nothing outside itself' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from report" -l color -d 'When to colour the output' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from report" -l trust-peer -d 'Log in also where the kernel does not show that the server is at the other end: whoever listens there may have the password then. Without it root\'s processes, your own and those of the system\'s accounts for servers hear one'
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from report" -s q -l quiet -d 'No progress, no plan: only the result'
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from report" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from hosts" -l password-file -d 'The collector\'s password, in a file. Else it is in the address, or in `LOOPTAX_COLLECTOR_PASSWORD`' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from hosts" -l ca-file -d 'A PEM of who may have signed the collector\'s certificate, in place of the system\'s authorities' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from hosts" -l json -d 'Print the result as JSON instead of the text; --json=FILE prints the text and writes the JSON there' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from hosts" -l limit -d 'So many rows at most' -r
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from hosts" -l color -d 'When to colour the output' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from hosts" -l trust-peer -d 'Log in also where the kernel does not show that the server is at the other end: whoever listens there may have the password then. Without it root\'s processes, your own and those of the system\'s accounts for servers hear one'
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from hosts" -s q -l quiet -d 'No progress, no plan: only the result'
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from hosts" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from host" -l password-file -d 'The collector\'s password, in a file. Else it is in the address, or in `LOOPTAX_COLLECTOR_PASSWORD`' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from host" -l ca-file -d 'A PEM of who may have signed the collector\'s certificate, in place of the system\'s authorities' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from host" -l json -d 'Print the result as JSON instead of the text; --json=FILE prints the text and writes the JSON there' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from host" -l color -d 'When to colour the output' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from host" -l trust-peer -d 'Log in also where the kernel does not show that the server is at the other end: whoever listens there may have the password then. Without it root\'s processes, your own and those of the system\'s accounts for servers hear one'
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from host" -s q -l quiet -d 'No progress, no plan: only the result'
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from host" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from pairs" -l password-file -d 'The collector\'s password, in a file. Else it is in the address, or in `LOOPTAX_COLLECTOR_PASSWORD`' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from pairs" -l ca-file -d 'A PEM of who may have signed the collector\'s certificate, in place of the system\'s authorities' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from pairs" -l json -d 'Print the result as JSON instead of the text; --json=FILE prints the text and writes the JSON there' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from pairs" -l limit -d 'So many rows at most' -r
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from pairs" -l color -d 'When to colour the output' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from pairs" -l trust-peer -d 'Log in also where the kernel does not show that the server is at the other end: whoever listens there may have the password then. Without it root\'s processes, your own and those of the system\'s accounts for servers hear one'
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from pairs" -s q -l quiet -d 'No progress, no plan: only the result'
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from pairs" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from movers" -l password-file -d 'The collector\'s password, in a file. Else it is in the address, or in `LOOPTAX_COLLECTOR_PASSWORD`' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from movers" -l ca-file -d 'A PEM of who may have signed the collector\'s certificate, in place of the system\'s authorities' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from movers" -l json -d 'Print the result as JSON instead of the text; --json=FILE prints the text and writes the JSON there' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from movers" -l limit -d 'So many rows at most' -r
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from movers" -l color -d 'When to colour the output' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from movers" -l trust-peer -d 'Log in also where the kernel does not show that the server is at the other end: whoever listens there may have the password then. Without it root\'s processes, your own and those of the system\'s accounts for servers hear one'
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from movers" -s q -l quiet -d 'No progress, no plan: only the result'
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from movers" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from help" -f -a "init" -d 'Make the collector\'s tables and views, or bring them to this version; again, it changes nothing'
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from help" -f -a "report" -d 'What all machines lose, where to begin, what differs between them, who fell back, who is silent'
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from help" -f -a "hosts" -d 'Machines with clients over TCP, those first that lose most'
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from help" -f -a "host" -d 'One machine: its clients, what it measured, when it reported'
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from help" -f -a "pairs" -d 'Programs and kinds of server over all machines, those first that lose most'
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from help" -f -a "movers" -d 'Who goes another way than a week ago, and who fell back to TCP'
complete -c looptax -n "__fish_looptax_using_subcommand fleet; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c looptax -n "__fish_looptax_using_subcommand internal; and not __fish_seen_subcommand_from reaper echo-server port-proxy cli-docs schema reach help" -l color -d 'When to colour the output' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c looptax -n "__fish_looptax_using_subcommand internal; and not __fish_seen_subcommand_from reaper echo-server port-proxy cli-docs schema reach help" -s q -l quiet -d 'No progress, no plan: only the result'
complete -c looptax -n "__fish_looptax_using_subcommand internal; and not __fish_seen_subcommand_from reaper echo-server port-proxy cli-docs schema reach help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c looptax -n "__fish_looptax_using_subcommand internal; and not __fish_seen_subcommand_from reaper echo-server port-proxy cli-docs schema reach help" -f -a "reaper" -d 'Stops servers and removes folders when looptax is gone'
complete -c looptax -n "__fish_looptax_using_subcommand internal; and not __fish_seen_subcommand_from reaper echo-server port-proxy cli-docs schema reach help" -f -a "echo-server" -d 'The built-in echo server'
complete -c looptax -n "__fish_looptax_using_subcommand internal; and not __fish_seen_subcommand_from reaper echo-server port-proxy cli-docs schema reach help" -f -a "port-proxy" -d 'Copies between two addresses, as Docker\'s port proxy does'
complete -c looptax -n "__fish_looptax_using_subcommand internal; and not __fish_seen_subcommand_from reaper echo-server port-proxy cli-docs schema reach help" -f -a "cli-docs" -d 'Writes the option reference, man page and completions'
complete -c looptax -n "__fish_looptax_using_subcommand internal; and not __fish_seen_subcommand_from reaper echo-server port-proxy cli-docs schema reach help" -f -a "schema" -d 'Prints the JSON schema of a saved form'
complete -c looptax -n "__fish_looptax_using_subcommand internal; and not __fish_seen_subcommand_from reaper echo-server port-proxy cli-docs schema reach help" -f -a "reach" -d 'Goes the way to a socket as somebody else'
complete -c looptax -n "__fish_looptax_using_subcommand internal; and not __fish_seen_subcommand_from reaper echo-server port-proxy cli-docs schema reach help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c looptax -n "__fish_looptax_using_subcommand internal; and __fish_seen_subcommand_from reaper" -l color -d 'When to colour the output' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c looptax -n "__fish_looptax_using_subcommand internal; and __fish_seen_subcommand_from reaper" -s q -l quiet -d 'No progress, no plan: only the result'
complete -c looptax -n "__fish_looptax_using_subcommand internal; and __fish_seen_subcommand_from reaper" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c looptax -n "__fish_looptax_using_subcommand internal; and __fish_seen_subcommand_from echo-server" -l socket -d 'Socket to listen on' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand internal; and __fish_seen_subcommand_from echo-server" -l abstract -d 'Abstract socket to listen on' -r
complete -c looptax -n "__fish_looptax_using_subcommand internal; and __fish_seen_subcommand_from echo-server" -l tcp -d 'Addresses to listen on' -r
complete -c looptax -n "__fish_looptax_using_subcommand internal; and __fish_seen_subcommand_from echo-server" -l color -d 'When to colour the output' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c looptax -n "__fish_looptax_using_subcommand internal; and __fish_seen_subcommand_from echo-server" -l one-thread -d 'Serve all connections with one thread'
complete -c looptax -n "__fish_looptax_using_subcommand internal; and __fish_seen_subcommand_from echo-server" -l http -d 'Speak HTTP'
complete -c looptax -n "__fish_looptax_using_subcommand internal; and __fish_seen_subcommand_from echo-server" -s q -l quiet -d 'No progress, no plan: only the result'
complete -c looptax -n "__fish_looptax_using_subcommand internal; and __fish_seen_subcommand_from echo-server" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c looptax -n "__fish_looptax_using_subcommand internal; and __fish_seen_subcommand_from port-proxy" -l on -d 'Address to listen on' -r
complete -c looptax -n "__fish_looptax_using_subcommand internal; and __fish_seen_subcommand_from port-proxy" -l to -d 'Address to connect to' -r
complete -c looptax -n "__fish_looptax_using_subcommand internal; and __fish_seen_subcommand_from port-proxy" -l color -d 'When to colour the output' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c looptax -n "__fish_looptax_using_subcommand internal; and __fish_seen_subcommand_from port-proxy" -s q -l quiet -d 'No progress, no plan: only the result'
complete -c looptax -n "__fish_looptax_using_subcommand internal; and __fish_seen_subcommand_from port-proxy" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c looptax -n "__fish_looptax_using_subcommand internal; and __fish_seen_subcommand_from cli-docs" -l color -d 'When to colour the output' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c looptax -n "__fish_looptax_using_subcommand internal; and __fish_seen_subcommand_from cli-docs" -s q -l quiet -d 'No progress, no plan: only the result'
complete -c looptax -n "__fish_looptax_using_subcommand internal; and __fish_seen_subcommand_from cli-docs" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c looptax -n "__fish_looptax_using_subcommand internal; and __fish_seen_subcommand_from schema" -l color -d 'When to colour the output' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c looptax -n "__fish_looptax_using_subcommand internal; and __fish_seen_subcommand_from schema" -s q -l quiet -d 'No progress, no plan: only the result'
complete -c looptax -n "__fish_looptax_using_subcommand internal; and __fish_seen_subcommand_from schema" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c looptax -n "__fish_looptax_using_subcommand internal; and __fish_seen_subcommand_from reach" -l socket -d 'The socket' -r -F
complete -c looptax -n "__fish_looptax_using_subcommand internal; and __fish_seen_subcommand_from reach" -l view -d 'The process whose folders count' -r
complete -c looptax -n "__fish_looptax_using_subcommand internal; and __fish_seen_subcommand_from reach" -l uid -d 'User to become' -r
complete -c looptax -n "__fish_looptax_using_subcommand internal; and __fish_seen_subcommand_from reach" -l gid -d 'Group to become' -r
complete -c looptax -n "__fish_looptax_using_subcommand internal; and __fish_seen_subcommand_from reach" -l groups -d 'Further groups' -r
complete -c looptax -n "__fish_looptax_using_subcommand internal; and __fish_seen_subcommand_from reach" -l color -d 'When to colour the output' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c looptax -n "__fish_looptax_using_subcommand internal; and __fish_seen_subcommand_from reach" -s q -l quiet -d 'No progress, no plan: only the result'
complete -c looptax -n "__fish_looptax_using_subcommand internal; and __fish_seen_subcommand_from reach" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c looptax -n "__fish_looptax_using_subcommand internal; and __fish_seen_subcommand_from help" -f -a "reaper" -d 'Stops servers and removes folders when looptax is gone'
complete -c looptax -n "__fish_looptax_using_subcommand internal; and __fish_seen_subcommand_from help" -f -a "echo-server" -d 'The built-in echo server'
complete -c looptax -n "__fish_looptax_using_subcommand internal; and __fish_seen_subcommand_from help" -f -a "port-proxy" -d 'Copies between two addresses, as Docker\'s port proxy does'
complete -c looptax -n "__fish_looptax_using_subcommand internal; and __fish_seen_subcommand_from help" -f -a "cli-docs" -d 'Writes the option reference, man page and completions'
complete -c looptax -n "__fish_looptax_using_subcommand internal; and __fish_seen_subcommand_from help" -f -a "schema" -d 'Prints the JSON schema of a saved form'
complete -c looptax -n "__fish_looptax_using_subcommand internal; and __fish_seen_subcommand_from help" -f -a "reach" -d 'Goes the way to a socket as somebody else'
complete -c looptax -n "__fish_looptax_using_subcommand internal; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c looptax -n "__fish_looptax_using_subcommand help; and not __fish_seen_subcommand_from compare selfcheck find check dsn switch run trial why analyze history diff gate replay report report-to fleet internal help" -f -a "compare" -d 'Hold several transports of the same server against each other'
complete -c looptax -n "__fish_looptax_using_subcommand help; and not __fish_seen_subcommand_from compare selfcheck find check dsn switch run trial why analyze history diff gate replay report report-to fleet internal help" -f -a "selfcheck" -d 'Does this machine allow honest verdicts? A/A runs, injected delays, slice length'
complete -c looptax -n "__fish_looptax_using_subcommand help; and not __fish_seen_subcommand_from compare selfcheck find check dsn switch run trial why analyze history diff gate replay report report-to fleet internal help" -f -a "find" -d 'Which servers run here, on which sockets, and who pays for TCP'
complete -c looptax -n "__fish_looptax_using_subcommand help; and not __fish_seen_subcommand_from compare selfcheck find check dsn switch run trial why analyze history diff gate replay report report-to fleet internal help" -f -a "check" -d 'Would the switch to the socket work? Path, permission, account, backlog'
complete -c looptax -n "__fish_looptax_using_subcommand help; and not __fish_seen_subcommand_from compare selfcheck find check dsn switch run trial why analyze history diff gate replay report report-to fleet internal help" -f -a "dsn" -d 'The same connection over the socket, in each driver\'s own words'
complete -c looptax -n "__fish_looptax_using_subcommand help; and not __fish_seen_subcommand_from compare selfcheck find check dsn switch run trial why analyze history diff gate replay report report-to fleet internal help" -f -a "switch" -d 'Move an application to the socket: plan, agree, write, reload, prove it, and back where that fails'
complete -c looptax -n "__fish_looptax_using_subcommand help; and not __fish_seen_subcommand_from compare selfcheck find check dsn switch run trial why analyze history diff gate replay report report-to fleet internal help" -f -a "run" -d 'Run an unmodified program, its connections to local databases moved to their sockets'
complete -c looptax -n "__fish_looptax_using_subcommand help; and not __fish_seen_subcommand_from compare selfcheck find check dsn switch run trial why analyze history diff gate replay report report-to fleet internal help" -f -a "trial" -d 'What the socket would bring your own application: its pages over TCP and over the socket in turns, nothing changed'
complete -c looptax -n "__fish_looptax_using_subcommand help; and not __fish_seen_subcommand_from compare selfcheck find check dsn switch run trial why analyze history diff gate replay report report-to fleet internal help" -f -a "why" -d 'Where the difference goes: a request\'s CPU time by layer of kernel and programs, over each transport'
complete -c looptax -n "__fish_looptax_using_subcommand help; and not __fish_seen_subcommand_from compare selfcheck find check dsn switch run trial why analyze history diff gate replay report report-to fleet internal help" -f -a "analyze" -d 'Judge a saved record again: the same verdict, bit for bit'
complete -c looptax -n "__fish_looptax_using_subcommand help; and not __fish_seen_subcommand_from compare selfcheck find check dsn switch run trial why analyze history diff gate replay report report-to fleet internal help" -f -a "history" -d 'What was measured on this machine'
complete -c looptax -n "__fish_looptax_using_subcommand help; and not __fish_seen_subcommand_from compare selfcheck find check dsn switch run trial why analyze history diff gate replay report report-to fleet internal help" -f -a "diff" -d 'Hold two runs against each other: was this kernel, or this configuration, better?'
complete -c looptax -n "__fish_looptax_using_subcommand help; and not __fish_seen_subcommand_from compare selfcheck find check dsn switch run trial why analyze history diff gate replay report report-to fleet internal help" -f -a "gate" -d 'For continuous integration: does an arm lose more than it may? 1 yes, 0 no, 3 the measurement does not say'
complete -c looptax -n "__fish_looptax_using_subcommand help; and not __fish_seen_subcommand_from compare selfcheck find check dsn switch run trial why analyze history diff gate replay report report-to fleet internal help" -f -a "replay" -d 'Published comparisons again on this machine, published beside measured'
complete -c looptax -n "__fish_looptax_using_subcommand help; and not __fish_seen_subcommand_from compare selfcheck find check dsn switch run trial why analyze history diff gate replay report report-to fleet internal help" -f -a "report" -d 'Records as one page to look at and share: tables, charts, raw data; nothing outside itself'
complete -c looptax -n "__fish_looptax_using_subcommand help; and not __fish_seen_subcommand_from compare selfcheck find check dsn switch run trial why analyze history diff gate replay report report-to fleet internal help" -f -a "report-to" -d 'Send what this machine\'s clients and records say to a collector of many machines, once: for a timer'
complete -c looptax -n "__fish_looptax_using_subcommand help; and not __fish_seen_subcommand_from compare selfcheck find check dsn switch run trial why analyze history diff gate replay report report-to fleet internal help" -f -a "fleet" -d 'Many machines: the collector that they report to'
complete -c looptax -n "__fish_looptax_using_subcommand help; and not __fish_seen_subcommand_from compare selfcheck find check dsn switch run trial why analyze history diff gate replay report report-to fleet internal help" -f -a "internal" -d 'For looptax itself'
complete -c looptax -n "__fish_looptax_using_subcommand help; and not __fish_seen_subcommand_from compare selfcheck find check dsn switch run trial why analyze history diff gate replay report report-to fleet internal help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c looptax -n "__fish_looptax_using_subcommand help; and __fish_seen_subcommand_from history" -f -a "list" -d 'The latest runs, the newest first'
complete -c looptax -n "__fish_looptax_using_subcommand help; and __fish_seen_subcommand_from history" -f -a "show" -d 'A run again, from its record'
complete -c looptax -n "__fish_looptax_using_subcommand help; and __fish_seen_subcommand_from history" -f -a "rm" -d 'Forget runs. A record that was given a place of its own stays there'
complete -c looptax -n "__fish_looptax_using_subcommand help; and __fish_seen_subcommand_from fleet" -f -a "init" -d 'Make the collector\'s tables and views, or bring them to this version; again, it changes nothing'
complete -c looptax -n "__fish_looptax_using_subcommand help; and __fish_seen_subcommand_from fleet" -f -a "report" -d 'What all machines lose, where to begin, what differs between them, who fell back, who is silent'
complete -c looptax -n "__fish_looptax_using_subcommand help; and __fish_seen_subcommand_from fleet" -f -a "hosts" -d 'Machines with clients over TCP, those first that lose most'
complete -c looptax -n "__fish_looptax_using_subcommand help; and __fish_seen_subcommand_from fleet" -f -a "host" -d 'One machine: its clients, what it measured, when it reported'
complete -c looptax -n "__fish_looptax_using_subcommand help; and __fish_seen_subcommand_from fleet" -f -a "pairs" -d 'Programs and kinds of server over all machines, those first that lose most'
complete -c looptax -n "__fish_looptax_using_subcommand help; and __fish_seen_subcommand_from fleet" -f -a "movers" -d 'Who goes another way than a week ago, and who fell back to TCP'
complete -c looptax -n "__fish_looptax_using_subcommand help; and __fish_seen_subcommand_from internal" -f -a "reaper" -d 'Stops servers and removes folders when looptax is gone'
complete -c looptax -n "__fish_looptax_using_subcommand help; and __fish_seen_subcommand_from internal" -f -a "echo-server" -d 'The built-in echo server'
complete -c looptax -n "__fish_looptax_using_subcommand help; and __fish_seen_subcommand_from internal" -f -a "port-proxy" -d 'Copies between two addresses, as Docker\'s port proxy does'
complete -c looptax -n "__fish_looptax_using_subcommand help; and __fish_seen_subcommand_from internal" -f -a "cli-docs" -d 'Writes the option reference, man page and completions'
complete -c looptax -n "__fish_looptax_using_subcommand help; and __fish_seen_subcommand_from internal" -f -a "schema" -d 'Prints the JSON schema of a saved form'
complete -c looptax -n "__fish_looptax_using_subcommand help; and __fish_seen_subcommand_from internal" -f -a "reach" -d 'Goes the way to a socket as somebody else'

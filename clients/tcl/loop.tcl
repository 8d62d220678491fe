# GETs over one of Tcl's own sockets that connects in the background, as in event-driven Tcl programs: Tcl reports
# the channel as writable when it is connected. Only over TCP.
if {![regexp {^tcp:(.*):(\d+)$} [lindex $argv 0] -> host port]} {
    puts stderr "usage: loop.tcl tcp:host:port"
    exit 2
}
set redis [socket -async $host $port]
fconfigure $redis -blocking 0 -translation crlf -buffering line
set is_connected 0
fileevent $redis writable {set is_connected 1}
after 10000 {set is_connected -1}
vwait is_connected
fileevent $redis writable {}
if {$is_connected < 0 || [fconfigure $redis -error] ne ""} {
    puts stderr "no connection: [fconfigure $redis -error]"
    exit 1
}
fconfigure $redis -blocking 1

proc ask {command} {
    global redis
    puts $redis $command
    set line [gets $redis]
    if {[string index $line 0] eq "$"} {
        return [gets $redis]
    }
    return $line
}

if {[ask "AUTH $env(LOOP_PASSWORD)"] ne "+OK"} {
    puts stderr "the login was refused"
    exit 1
}
puts "ready Tcl's socket, Tcl [info patchlevel]"
flush stdout
set key 0
while {[gets stdin n] >= 0} {
    set begin [clock microseconds]
    for {set i 0} {$i < $n} {incr i} {
        set key [expr {($key + 7919) % $env(LOOP_ROWS)}]
        if {[ask [format "GET looptax:%012d" [expr {$key + 1}]]] eq ""} {
            puts stderr "an empty value"
            exit 1
        }
    }
    puts [format "%d %.6f 0" $n [expr {([clock microseconds] - $begin) / 1e6}]]
    flush stdout
}

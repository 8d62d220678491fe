#!/usr/bin/env escript
%% GETs over gen_tcp, whose sockets never block: the runtime waits for each connection in its event queue.
%% Only over TCP.

main([Address]) ->
    ["tcp", Host, Port] = string:split(Address, ":", all),
    Options = [binary, {packet, line}, {active, false}, {nodelay, true}],
    {ok, Socket} = gen_tcp:connect(Host, list_to_integer(Port), Options, 10000),
    <<"+OK", _/binary>> = ask(Socket, ["AUTH ", os:getenv("LOOP_PASSWORD")]),
    Rows = list_to_integer(os:getenv("LOOP_ROWS")),
    io:format("ready gen_tcp, Erlang/OTP ~s~n", [erlang:system_info(otp_release)]),
    serve(Socket, Rows, 0).

serve(Socket, Rows, Key) ->
    case io:get_line("") of
        eof -> ok;
        Line ->
            N = list_to_integer(string:trim(Line)),
            Begin = erlang:monotonic_time(microsecond),
            Last = lists:foldl(fun(_, At) -> request(Socket, Rows, At) end, Key, lists:seq(1, N)),
            Seconds = (erlang:monotonic_time(microsecond) - Begin) / 1.0e6,
            io:format("~b ~.6f 0~n", [N, Seconds]),
            serve(Socket, Rows, Last)
    end.

request(Socket, Rows, At) ->
    Key = (At + 7919) rem Rows,
    <<"$", _/binary>> = ask(Socket, io_lib:format("GET looptax:~12..0b", [Key + 1])),
    {ok, Value} = gen_tcp:recv(Socket, 0, 10000),
    true = byte_size(Value) > 2,
    Key.

ask(Socket, Command) ->
    ok = gen_tcp:send(Socket, [Command, "\r\n"]),
    {ok, Reply} = gen_tcp:recv(Socket, 0, 10000),
    Reply.

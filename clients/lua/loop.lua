-- Point selects with LuaSQL: `loop.lua DRIVER ADDRESS`, where the driver is mysql or postgres. Only over TCP.
local driver, host, port = arg[1], (arg[2] or ""):match("^tcp:(.*):(%d+)$")
assert(host, "usage: loop.lua DRIVER tcp:host:port")
local env = require("luasql." .. driver)[driver]()
local connection = assert(env:connect(
  os.getenv("LOOP_DATABASE"), os.getenv("LOOP_USER"), os.getenv("LOOP_PASSWORD"), host, tonumber(port)))
local rows = tonumber(os.getenv("LOOP_ROWS"))

print("ready LuaSQL " .. driver .. ", " .. _VERSION)
io.stdout:flush()
local key = 0
for line in io.lines() do
  local n, begin = tonumber(line), os.clock()
  local wall = os.time()
  for _ = 1, n do
    key = (key + 7919) % rows
    local cursor = assert(connection:execute("SELECT c FROM sbtest1 WHERE id = " .. (key + 1)))
    assert(#cursor:fetch() > 0, "an empty value")
    cursor:close()
  end
  -- Lua's own clock has a resolution of one second.
  local cpu = os.clock() - begin
  print(string.format("%d %.6f %.6f", n, math.max(os.time() - wall, cpu), cpu))
  io.stdout:flush()
end

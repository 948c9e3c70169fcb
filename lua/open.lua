-- open: end a sync: write window, total and stock, and let the voucher sell.
--
-- KEYS[1]  voucher hash    window, total, version, state
-- KEYS[2]  stock   string  units left
-- KEYS[3]  buyers  set     users that hold an order
-- KEYS[4]  tickets hash    user id -> order id
-- KEYS[5]  server  string  the server that this is
-- ARGV[1]  token   of this sync
-- ARGV[2]  total   units in all
-- ARGV[3]  begin   Unix ms, inclusive
-- ARGV[4]  end     Unix ms, exclusive
-- ARGV[5]  version of the voucher as SQL had it
-- ARGV[6]  channel that hears of it
-- ARGV[7]  voucher voucher id
-- USES     books
-- RETURNS  {"OPEN", left}  {"STALE"}  {"UNEVEN"}
-- REPLAY   safe: the second run finds what the first one opened and changes nothing
-- COST     O(1), at most 2 writes
local v = redis.call('HMGET', KEYS[1], 'token', 'version', 'state', 'server')
-- What one server loaded must not be opened by another that has only part of it.
if v[1] ~= ARGV[1] or (v[4] or '') ~= (redis.call('GET', KEYS[5]) or '') or (plain(v[2]) or 0) > tonumber(ARGV[5]) then
  return {'STALE'}
end
if v[3] == 'open' then
  return {'OPEN', redis.call('GET', KEYS[2])}
end
local held = redis.call('SCARD', KEYS[3])
if held ~= redis.call('HLEN', KEYS[4]) then
  return {'UNEVEN'}
end

local left = string.format('%.0f', math.max(0, tonumber(ARGV[2]) - held))
redis.call('PUBLISH', ARGV[6], ARGV[7])
redis.call('SET', KEYS[2], left)
redis.call('HSET', KEYS[1], 'state', 'open', 'total', ARGV[2], 'begin', ARGV[3], 'end', ARGV[4], 'version', ARGV[5])
return {'OPEN', left}

-- change: bring total and window of a voucher that sells in line with a version of SQL.
--
-- KEYS[1]  voucher hash    window, total, version, state
-- KEYS[2]  stock   string  units left
-- KEYS[3]  buyers  set     users that hold an order
-- KEYS[4]  tickets hash    user id -> order id
-- ARGV[1]  total   units in all
-- ARGV[2]  begin   Unix ms, inclusive
-- ARGV[3]  end     Unix ms, exclusive
-- ARGV[4]  version of the voucher as SQL has it
-- ARGV[5]  channel that hears of it
-- ARGV[6]  voucher voucher id
-- USES     books
-- RETURNS  {"CHANGED", left}  {"STALE"}  {"NOT_LOADED"}
-- REPLAY   safe: it writes the same again, and nothing over a newer version
-- COST     O(1), at most 2 writes
local v = redis.pcall('HMGET', KEYS[1], 'state', 'total', 'version')
if v[1] ~= 'open' or not balanced(plain(v[2]), plain(redis.pcall('GET', KEYS[2])), KEYS[3], KEYS[4]) then
  return {'NOT_LOADED'}
end
if (plain(v[3]) or 0) > tonumber(ARGV[4]) then
  return {'STALE'}
end

-- An equal version is written too: a cut that SQL refused may stand under it.
local left = string.format('%.0f', math.max(0, tonumber(ARGV[1]) - redis.call('SCARD', KEYS[3])))
redis.call('PUBLISH', ARGV[5], ARGV[6])
redis.call('SET', KEYS[2], left)
redis.call('HSET', KEYS[1], 'total', ARGV[1], 'begin', ARGV[2], 'end', ARGV[3], 'version', ARGV[4])
return {'CHANGED', left}

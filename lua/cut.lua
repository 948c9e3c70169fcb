-- cut: lower the total of a voucher that sells, before SQL does, and never below what is held.
--
-- KEYS[1]  voucher hash    window, total, version, state
-- KEYS[2]  stock   string  units left
-- KEYS[3]  buyers  set     users that hold an order, queued ones included
-- KEYS[4]  tickets hash    user id -> order id
-- ARGV[1]  total   units in all from now on
-- ARGV[2]  from    version that the voucher must have
-- ARGV[3]  to      version that the cut makes
-- ARGV[4]  channel that hears of it
-- ARGV[5]  voucher voucher id
-- USES     books
-- RETURNS  {"CUT", left}  {"BELOW_SOLD", held}  {"STALE"}  {"NOT_LOADED"}
-- REPLAY   safe: the second run finds the version that the first one made and answers STALE
-- COST     O(1), at most 2 writes
local v = redis.pcall('HMGET', KEYS[1], 'state', 'total', 'version')
if v[1] ~= 'open' or not balanced(plain(v[2]), plain(redis.pcall('GET', KEYS[2])), KEYS[3], KEYS[4]) then
  return {'NOT_LOADED'}
end
if v[3] ~= ARGV[2] then
  return {'STALE'}
end
local held = redis.call('SCARD', KEYS[3])
if tonumber(ARGV[1]) < held then
  return {'BELOW_SOLD', string.format('%.0f', held)}
end

local left = string.format('%.0f', tonumber(ARGV[1]) - held)
redis.call('PUBLISH', ARGV[4], ARGV[5])
redis.call('SET', KEYS[2], left)
redis.call('HSET', KEYS[1], 'total', ARGV[1], 'version', ARGV[3])
return {'CUT', left}

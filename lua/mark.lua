-- mark: let a user hold a unit by the order that has a live row, where the ticket is still the one that was read.
--
-- KEYS[1]  voucher hash    window, total, version, state
-- KEYS[2]  stock   string  units left
-- KEYS[3]  buyers  set     users that hold an order
-- KEYS[4]  tickets hash    user id -> order id
-- ARGV[1]  user    user id
-- ARGV[2]  read    order id that the ticket named when it was read, "" for none
-- ARGV[3]  live    order id of the live row
-- ARGV[4]  channel that hears of it
-- ARGV[5]  voucher voucher id
-- USES     books
-- RETURNS  {"MARKED", left}  {"NOT_HELD"}  {"NOT_LOADED"}
-- REPLAY   safe: the second run finds another ticket than the one that was read
-- COST     O(1), at most 3 writes
local user, live = ARGV[1], ARGV[3]

local v = redis.pcall('HMGET', KEYS[1], 'state', 'total')
local total = plain(v[2])
if v[1] ~= 'open' or not balanced(total, plain(redis.pcall('GET', KEYS[2])), KEYS[3], KEYS[4]) then
  return {'NOT_LOADED'}
end
if (redis.call('HGET', KEYS[4], user) or '') ~= ARGV[2] then
  return {'NOT_HELD'}
end

redis.call('PUBLISH', ARGV[4], ARGV[5])
redis.call('SADD', KEYS[3], user)
redis.call('HSET', KEYS[4], user, live)
local left = string.format('%.0f', math.max(0, total - redis.call('SCARD', KEYS[3])))
redis.call('SET', KEYS[2], left)
return {'MARKED', left}

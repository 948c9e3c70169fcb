-- release: give one unit back, if this user still holds it by this order.
--
-- KEYS[1]  voucher hash    window, total, version, state
-- KEYS[2]  stock   string  units left
-- KEYS[3]  buyers  set     users that hold an order
-- KEYS[4]  tickets hash    user id -> order id
-- ARGV[1]  user    user id
-- ARGV[2]  order   order id that is given up
-- ARGV[3]  channel that hears of it
-- ARGV[4]  voucher voucher id
-- USES     books
-- RETURNS  {"RELEASED", left}  {"NOT_HELD"}
-- REPLAY   safe: the second run finds no ticket of this order and changes nothing
-- COST     O(1), at most 3 writes
local user, order = ARGV[1], ARGV[2]

if redis.call('HGET', KEYS[4], user) ~= order then
  return {'NOT_HELD'}
end
local v = redis.call('HMGET', KEYS[1], 'state', 'total')
local total = plain(v[2])

redis.call('PUBLISH', ARGV[3], ARGV[4])
redis.call('SREM', KEYS[3], user)
redis.call('HDEL', KEYS[4], user)
if v[1] ~= 'open' or not total then
  return {'RELEASED', ''} -- a sync is under way, and will write the stock itself
end
local left = string.format('%.0f', math.max(0, total - redis.call('SCARD', KEYS[3])))
redis.call('SET', KEYS[2], left)
return {'RELEASED', left}

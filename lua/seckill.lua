-- seckill: admit one buyer: one unit, one ticket and one entry for the workers, or a reason why not.
--
-- KEYS[1]  voucher hash    window, total, version, state
-- KEYS[2]  stock   string  units left
-- KEYS[3]  buyers  set     users that hold an order
-- KEYS[4]  tickets hash    user id -> order id
-- KEYS[5]  stream  stream  accepted orders
-- ARGV[1]  user    user id
-- ARGV[2]  order   order id, minted before the first try
-- ARGV[3]  voucher voucher id
-- ARGV[4+] fields  further names and values for the entry
-- USES     books
-- RETURNS  {"ACCEPTED", order, left}  {"ORDERED", order}  {"SOLD_OUT"}  {"NOT_STARTED", begin, now}  {"ENDED"}  {"NOT_LOADED"}
-- REPLAY   safe: the second run finds the user among the buyers and answers ORDERED with the same order
-- COST     O(1), at most 4 writes
local user, order = ARGV[1], ARGV[2]

local v = redis.pcall('HMGET', KEYS[1], 'state', 'begin', 'end', 'total')
if v[1] ~= 'open' then
  return {'NOT_LOADED'}
end
if redis.pcall('SISMEMBER', KEYS[3], user) == 1 then
  local held = redis.pcall('HGET', KEYS[4], user)
  if type(held) == 'string' then
    return {'ORDERED', held}
  end
  return {'NOT_LOADED'}
end

local from, to = plain(v[2]), plain(v[3])
if not from or not to then
  return {'NOT_LOADED'}
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if now < from then
  return {'NOT_STARTED', v[2], string.format('%.0f', now)}
end
if now >= to then
  return {'ENDED'}
end

local stock = plain(redis.pcall('GET', KEYS[2]))
if not balanced(plain(v[4]), stock, KEYS[3], KEYS[4]) then
  return {'NOT_LOADED'}
end
if stock == 0 then
  return {'SOLD_OUT'}
end

redis.call('XADD', KEYS[5], '*', 'id', order, 'userId', user, 'voucherId', ARGV[3], unpack(ARGV, 4))
redis.call('SADD', KEYS[3], user)
redis.call('HSET', KEYS[4], user, order)
return {'ACCEPTED', order, string.format('%.0f', redis.call('DECR', KEYS[2]))}

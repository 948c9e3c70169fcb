-- seckill: admit buyers of one voucher, each with one unit, one ticket and one entry for the workers, or tell why not.
--
-- KEYS[1]  voucher hash    window, total, version, state, server that it was loaded by
-- KEYS[2]  stock   string  units left
-- KEYS[3]  buyers  set     users that hold an order
-- KEYS[4]  tickets hash    user id -> order id
-- KEYS[5]  server  string  the server that this is
-- KEYS[6]  stream  stream  accepted orders
-- ARGV[1]  voucher voucher id
-- ARGV[2]  width   how many of the following each buyer has: 2, or 3 where one of them is traced
-- ARGV[3+] buyers  for each, in the order they came: user id, order id minted before the first try, traceparent or ''
-- USES     books
-- RETURNS  for each buyer {"ACCEPTED", order, left}  {"ORDERED", order}  {"SOLD_OUT"}  {"NOT_STARTED", begin, now}  {"ENDED"}  {"NOT_LOADED"}  or the error of XADD
-- REPLAY   safe: the second run finds the users among the buyers and answers ORDERED with the same orders
-- COST     O(buyers): a write for each who is accepted, and three for all of them
local voucher, width, users, orders = ARGV[1], tonumber(ARGV[2]), {}, {}
for i = 3, #ARGV, width do
  users[#users + 1], orders[#orders + 1] = ARGV[i], ARGV[i + 1]
end

local v = redis.pcall('HMGET', KEYS[1], 'state', 'begin', 'end', 'total', 'server')
-- What another server opened may be older than SQL: it sells only after a sync.
local have = redis.call('MGET', KEYS[2], KEYS[5])
local closed = v[1] ~= 'open' or (v[5] or '') ~= (have[2] or '')
local member = redis.pcall('SMISMEMBER', KEYS[3], unpack(users))

-- Why nobody may buy, or nil and the units left.
local function refusal()
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
  local stock = plain(have[1])
  if not balanced(plain(v[4]), stock, KEYS[3], KEYS[4]) then
    return {'NOT_LOADED'}
  end
  return nil, stock
end

local refused, left = refusal()
local accepted, sold, tickets = {}, {}, {}

-- Why this one gets nothing new, or nil.
local function denied(i)
  if closed then
    return {'NOT_LOADED'}
  end
  local held = accepted[users[i]]
  if member[i] == 1 then
    held = redis.pcall('HGET', KEYS[4], users[i])
    if type(held) ~= 'string' then
      return {'NOT_LOADED'}
    end
  end
  if held then
    return {'ORDERED', held}
  end
  if not refused and left == 0 then
    return {'SOLD_OUT'}
  end
  return refused
end

-- The entry goes first: it alone can fail, and then nothing was done for this buyer.
local function admit(i)
  local user, order, entry = users[i], orders[i]
  local trace = width == 3 and ARGV[3 * i + 2] or ''
  if trace == '' then
    entry = redis.pcall('XADD', KEYS[6], '*', 'id', order, 'userId', user, 'voucherId', voucher)
  else
    entry = redis.pcall('XADD', KEYS[6], '*', 'id', order, 'userId', user, 'voucherId', voucher, 'traceparent', trace)
  end
  if type(entry) ~= 'string' then
    return entry
  end
  accepted[user], left = order, left - 1
  sold[#sold + 1] = user
  tickets[#tickets + 1], tickets[#tickets + 2] = user, order
  return {'ACCEPTED', order, string.format('%.0f', left)}
end

local answers = {}
for i = 1, #users do
  answers[i] = denied(i) or admit(i)
end
if #sold > 0 then
  redis.call('SADD', KEYS[3], unpack(sold))
  redis.call('HSET', KEYS[4], unpack(tickets))
  redis.call('DECRBY', KEYS[2], #sold)
end
return answers

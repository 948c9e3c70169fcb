-- fill: make users buyers with tickets while their voucher is being loaded.
--
-- KEYS[1]  voucher hash  window, total, version, state
-- KEYS[2]  buyers  set   users that hold an order
-- KEYS[3]  tickets hash  user id -> order id
-- ARGV[1]  token   of this sync
-- ARGV[2+] holders user id, order id, user id, order id, ..., at most 2000 pairs
-- RETURNS  {"FILLED"}  {"STALE"}
-- REPLAY   safe: it writes the same again
-- COST     O(N) of the pairs, at most 2 N writes
local v = redis.call('HMGET', KEYS[1], 'token', 'state')
if v[1] ~= ARGV[1] or v[2] ~= 'loading' then
  return {'STALE'}
end
for i = 2, #ARGV, 2 do
  redis.call('SADD', KEYS[2], ARGV[i])
  redis.call('HSET', KEYS[3], ARGV[i], ARGV[i + 1])
end
return {'FILLED'}

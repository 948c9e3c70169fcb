-- forget: take users off the books of a voucher that is being loaded, where the ticket is still the one that was read.
--
-- KEYS[1]  voucher hash  window, total, version, state
-- KEYS[2]  buyers  set   users that hold an order
-- KEYS[3]  tickets hash  user id -> order id
-- ARGV[1]  token   of this sync
-- ARGV[2+] holders member, ticket as read or "" for none, member, ticket, ..., at most 2000 pairs
-- RETURNS  {"FORGOTTEN"}  {"STALE"}
-- REPLAY   safe: what is gone is passed over
-- COST     O(N) of the pairs, at most 2 N writes
local v = redis.call('HMGET', KEYS[1], 'token', 'state')
if v[1] ~= ARGV[1] or v[2] ~= 'loading' then
  return {'STALE'}
end
for i = 2, #ARGV, 2 do
  if (redis.call('HGET', KEYS[3], ARGV[i]) or '') == ARGV[i + 1] then
    redis.call('SREM', KEYS[2], ARGV[i])
    redis.call('HDEL', KEYS[3], ARGV[i])
  end
end
return {'FORGOTTEN'}

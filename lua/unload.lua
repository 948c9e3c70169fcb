-- unload: take the keys of a voucher away whose sale is long over.
--
-- KEYS[1]  voucher hash    window, total, version, state
-- KEYS[2]  stock   string  units left
-- KEYS[3]  buyers  set     users that hold an order
-- KEYS[4]  tickets hash    user id -> order id
-- ARGV[1]  life    ms that the keys are kept after the end
-- USES     books
-- RETURNS  {"UNLOADED"}  {"KEPT"}
-- REPLAY   safe: the second run finds nothing
-- COST     O(1), at most 1 write; the keys are freed in the background
local v = redis.pcall('HMGET', KEYS[1], 'state', 'end')
local to, time = plain(v[2]), redis.call('TIME')
if v[1] ~= 'open' or not to or time[1] * 1000 < to + tonumber(ARGV[1]) then
  return {'KEPT'}
end
redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3], KEYS[4])
return {'UNLOADED'}

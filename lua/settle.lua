-- settle: acknowledge entries and delete those that were still pending.
--
-- KEYS[1]  stream  stream  accepted orders
-- ARGV[1]  group   consumer group
-- ARGV[2+] entries stream entry ids, at most 4096
-- RETURNS  how many were pending, an integer
-- REPLAY   safe: what is no longer pending is passed over
-- COST     O(N) of the entries, at most N + 1 writes
local acked = {}
for i = 2, #ARGV do
  if redis.call('XACK', KEYS[1], ARGV[1], ARGV[i]) == 1 then
    acked[#acked + 1] = ARGV[i]
  end
end
if #acked > 0 then
  redis.call('XDEL', KEYS[1], unpack(acked))
end
return #acked

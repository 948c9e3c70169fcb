-- settle: acknowledge entries and delete those that were still pending.
--
-- KEYS[1]  stream  stream  accepted orders
-- ARGV[1]  group   consumer group
-- ARGV[2+] entries stream entry ids, at most 4096
-- RETURNS  how many were pending, an integer
-- REPLAY   safe: what is no longer pending is passed over
-- COST     O(N) of the entries, at most N + 2 writes
local acked = {}
for i = 2, #ARGV do
  if redis.call('XACK', KEYS[1], ARGV[1], ARGV[i]) == 1 then
    acked[#acked + 1] = ARGV[i]
  end
end
if #acked == 0 then
  return 0
end
-- XDEL looks for each entry from the start of its node, which costs more than all the rest.
-- A trim drops whole nodes. It may where the first settled one leads the stream and nothing
-- up to the last is pending: what stands between them was then given out, and settled. What
-- a group never gave out, because someone moved it past, stands before them, and stays.
local count, first, last, trimmed = #acked, acked[1], acked[#acked], 0
local head = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1]
if head and head[1] == first and #redis.call('XPENDING', KEYS[1], ARGV[1], '-', last, 1) == 0 then
  trimmed = redis.call('XTRIM', KEYS[1], 'MINID', last)
end
if trimmed >= count - 1 then
  acked = {last}
end
redis.call('XDEL', KEYS[1], unpack(acked))
return count

-- retire: take off the group each consumer, or the one named, that holds nothing and has been silent for so long.
--
-- KEYS[1]  stream   stream  accepted orders
-- ARGV[1]  group    consumer group
-- ARGV[2]  idle     ms of silence, -1 for any
-- ARGV[3]  consumer the one to look at, "" for all
-- RETURNS  the names that were taken off; none where stream or group is missing
-- REPLAY   safe: who spoke or got something meanwhile stays, and who is gone comes back by reading
-- COST     O(N) of the consumers, at most N writes
local retired = {}
for _, fields in ipairs(redis.pcall('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])) do
  local c = {}
  for i = 1, #fields, 2 do
    c[fields[i]] = fields[i + 1]
  end
  local asked = ARGV[3] == '' or ARGV[3] == c.name
  if asked and c.pending == 0 and c.idle >= tonumber(ARGV[2]) then
    redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], c.name)
    retired[#retired + 1] = c.name
  end
end
return retired

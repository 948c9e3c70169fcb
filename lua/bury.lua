-- bury: move one entry that is still pending to the dead stream.
--
-- KEYS[1]  stream   stream  accepted orders
-- KEYS[2]  dead     stream  buried messages
-- ARGV[1]  group    consumer group
-- ARGV[2]  entry    stream entry id
-- ARGV[3]  reason   why
-- ARGV[4]  attempts how often it was delivered
-- RETURNS  {"BURIED", entry}  {"GONE"}
-- REPLAY   safe: the second run finds nothing pending
-- COST     O(1), at most 3 writes
local entry = ARGV[2]

if #redis.call('XPENDING', KEYS[1], ARGV[1], entry, entry, 1) == 0 then
  return {'GONE'}
end
local found = redis.call('XRANGE', KEYS[1], entry, entry)
local fields = found[1] and found[1][2] or {}

-- Ours come first and are read by their place, so that no field of the message can pose as one.
local buried = redis.call('XADD', KEYS[2], '*', 'entry', entry, 'reason', ARGV[3], 'attempts', ARGV[4], unpack(fields))
redis.call('XACK', KEYS[1], ARGV[1], entry)
redis.call('XDEL', KEYS[1], entry)
return {'BURIED', buried}

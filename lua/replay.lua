-- replay: write down under which order id a buried message is admitted anew; the first id stands.
--
-- KEYS[1]  dead    stream  buried messages
-- KEYS[2]  replays hash    dead entry -> order id
-- ARGV[1]  entry   dead entry id
-- ARGV[2]  order   order id to write where there is none yet
-- RETURNS  {"REPLAY", order}  {"GONE"}
-- REPLAY   safe: the second run finds the id that the first one wrote
-- COST     O(1), at most 1 write
if #redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1]) == 0 then
  return {'GONE'}
end
redis.call('HSETNX', KEYS[2], ARGV[1], ARGV[2])
return {'REPLAY', redis.call('HGET', KEYS[2], ARGV[1])}

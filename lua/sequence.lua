-- sequence: reserve a block of order id numbers of one day.
--
-- KEYS[1]  counter string last number given out
-- ARGV[1]  n       size of the block
-- ARGV[2]  floor   where a missing counter starts, "" to be told that it is missing
-- ARGV[3]  ttl     seconds until the counter of a past day goes away
-- RETURNS  {"TAKEN", last}  {"MISSING"}
-- REPLAY   safe: another block is taken, and no number is given out twice
-- COST     O(1), at most 3 writes
local missing = redis.call('EXISTS', KEYS[1]) == 0
if missing and ARGV[2] == '' then
  return {'MISSING'}
end
if missing then
  redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
end
return {'TAKEN', string.format('%.0f', redis.call('INCRBY', KEYS[1], ARGV[1]))}

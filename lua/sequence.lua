-- sequence: reserve a block of order id numbers of one day.
--
-- KEYS[1]  counter string last number given out
-- KEYS[2]  run     string run id of the server that gave it out
-- ARGV[1]  n       size of the block
-- ARGV[2]  floor   where a counter that cannot be trusted goes on, "" to be told that it cannot
-- ARGV[3]  ttl     seconds until both keys of a past day go away
-- RETURNS  {"TAKEN", last}  {"DOUBTFUL", last number that is known, "0" for none}
-- REPLAY   safe: another block is taken, and no number is given out twice
-- COST     O(1), at most 3 writes
local counter = redis.call('GET', KEYS[1])
local info = redis.pcall('INFO', 'server')
local run = type(info) == 'string' and string.match(info, 'run_id:(%x+)') or 'unknown'

-- A server that restarted, or took a master's place, may have an older counter than the one
-- that numbers were given out by.
local trusted = counter and redis.call('GET', KEYS[2]) == run
if not trusted and ARGV[2] == '' then
  return {'DOUBTFUL', counter or '0'}
end
if not trusted then
  if tonumber(counter or '0') < tonumber(ARGV[2]) then
    redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
  end
  redis.call('SET', KEYS[2], run, 'EX', ARGV[3])
end
return {'TAKEN', string.format('%.0f', redis.call('INCRBY', KEYS[1], ARGV[1]))}

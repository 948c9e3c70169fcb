-- lock: take each key that is free or already ours.
--
-- KEYS[1+] locks strings owner token
-- ARGV[1]  token the owner
-- ARGV[2]  ttl   ms
-- RETURNS  1 for each key that is ours now, 0 for each that is another's, in the order of the keys
-- REPLAY   safe: the owner takes its own keys again, so a lost reply locks nobody out
-- COST     O(N) of the keys, at most N writes
local ours = {}
for i, key in ipairs(KEYS) do
  if redis.call('SET', key, ARGV[1], 'NX', 'PX', ARGV[2]) then
    ours[i] = 1
  elseif redis.call('GET', key) == ARGV[1] then
    ours[i] = redis.call('PEXPIRE', key, ARGV[2])
  else
    ours[i] = 0
  end
end
return ours

-- extend: give each key that is still ours its full time again.
--
-- KEYS[1+] locks strings owner token
-- ARGV[1]  token the owner
-- ARGV[2]  ttl   ms
-- RETURNS  1 for each key that is still ours, 0 for each that is not, in the order of the keys
-- REPLAY   safe: it counts from the last run
-- COST     O(N) of the keys, at most N writes
local ours = {}
for i, key in ipairs(KEYS) do
  ours[i] = redis.call('GET', key) == ARGV[1] and redis.call('PEXPIRE', key, ARGV[2]) or 0
end
return ours

-- unlock: delete each key that is still ours.
--
-- KEYS[1+] locks strings owner token
-- ARGV[1]  token the owner
-- RETURNS  1 for each key that was ours, 0 for each that was not, in the order of the keys
-- REPLAY   safe: a key that was deleted, or taken by another since, is left alone
-- COST     O(N) of the keys, at most N writes
local ours = {}
for i, key in ipairs(KEYS) do
  ours[i] = redis.call('GET', key) == ARGV[1] and redis.call('DEL', key) or 0
end
return ours

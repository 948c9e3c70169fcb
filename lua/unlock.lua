-- unlock: delete each key that is still ours.
--
-- KEYS[1+] locks strings owner token; at most 4096
-- ARGV[1]  token the owner
-- RETURNS  1 for each key that was ours, 0 for each that was not, in the order of the keys
-- REPLAY   safe: a key that was deleted, or taken by another since, is left alone
-- COST     O(N) of the keys, at most 1 write
local owners, ours, held = redis.call('MGET', unpack(KEYS)), {}, {}
for i, key in ipairs(KEYS) do
  ours[i] = owners[i] == ARGV[1] and 1 or 0
  if ours[i] == 1 then
    held[#held + 1] = key
  end
end
if #held > 0 then
  redis.call('DEL', unpack(held))
end
return ours

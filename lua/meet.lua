-- meet: note which server this is. What was opened under another one, or in an earlier life of this one, sells no more.
--
-- KEYS[1]  server string  run id of the server that last met a program of ours, and a token
-- ARGV[1]  run     run id of this server
-- ARGV[2]  fresh   run id and a new token
-- RETURNS  {"MET", server}
-- REPLAY   safe: the second run finds what the first one noted
-- COST     O(1), at most 1 write
local noted = redis.pcall('GET', KEYS[1])
if type(noted) == 'string' and string.sub(noted, 1, #ARGV[1]) == ARGV[1] then
  return {'MET', noted}
end
redis.call('SET', KEYS[1], ARGV[2])
return {'MET', ARGV[2]}

-- trim: drop the events that every group has read and acknowledged, exactly; without a group, all but the newest.
--
-- KEYS[1]  events  stream  changes of orders
-- ARGV[1]  keep    how many stay where there is no group
-- RETURNS  how many were dropped, an integer
-- REPLAY   safe: what a group still needs is never dropped
-- COST     O(N) of the groups and of the events dropped, at most 2 writes
local groups = redis.call('EXISTS', KEYS[1]) == 1 and redis.call('XINFO', 'GROUPS', KEYS[1]) or {}
if #groups == 0 then
  return redis.call('XTRIM', KEYS[1], 'MAXLEN', ARGV[1])
end
-- A group needs what follows the last event that it was given, and its oldest pending one.
local ms, seq
for _, fields in ipairs(groups) do
  local g = {}
  for i = 1, #fields, 2 do
    g[fields[i]] = fields[i + 1]
  end
  local pending = redis.call('XPENDING', KEYS[1], g.name, '-', '+', 1)[1]
  local m, s = string.match(pending and pending[1] or g['last-delivered-id'], '(%d+)-(%d+)')
  m, s = tonumber(m), tonumber(s) + (pending and 0 or 1)
  if not ms or m < ms or (m == ms and s < seq) then
    ms, seq = m, s
  end
end
return redis.call('XTRIM', KEYS[1], 'MINID', string.format('%.0f-%.0f', ms, seq))

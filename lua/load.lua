-- load: close a voucher, so that a sync can bring its keys in line with SQL.
--
-- KEYS[1]  voucher hash    window, total, version, state
-- KEYS[2]  stock   string  units left
-- KEYS[3]  buyers  set     users that hold an order
-- KEYS[4]  tickets hash    user id -> order id
-- KEYS[5]  server  string  the server that this is
-- ARGV[1]  token   of this sync; it ends an earlier one that still runs
-- RETURNS  {"LOADING", server}
-- REPLAY   safe: it writes the same again
-- COST     O(1), at most 5 writes; freeing a key of another type happens in the background
local types = {'hash', 'string', 'set', 'hash'}
for i = 1, 4 do
  local t = redis.call('TYPE', KEYS[i]).ok
  if t ~= 'none' and t ~= types[i] then
    redis.call('UNLINK', KEYS[i])
  end
end
local server = redis.pcall('GET', KEYS[5])
if type(server) ~= 'string' then
  server = '' -- missing, or of another type
end
redis.call('HSET', KEYS[1], 'state', 'loading', 'token', ARGV[1], 'server', server)
return {'LOADING', server}

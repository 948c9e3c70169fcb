-- adopt: let a user's ticket name the order that exists, where it names a duplicate of it.
--
-- KEYS[1]  tickets  hash  user id -> order id
-- ARGV[1]  user     user id
-- ARGV[2]  order    order id of the duplicate, which the ticket must name
-- ARGV[3]  existing order id of the live row
-- ARGV[4]  channel  that hears of it
-- ARGV[5]  voucher  voucher id
-- RETURNS  {"ADOPTED"}  {"NOT_HELD"}
-- REPLAY   safe: the second run finds the existing order and changes nothing
-- COST     O(1), at most 1 write
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then
  return {'NOT_HELD'}
end
redis.call('PUBLISH', ARGV[4], ARGV[5])
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return {'ADOPTED'}

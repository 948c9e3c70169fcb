-- requeue: queue an order again whose entry was lost, if this user still holds a ticket of it.
--
-- KEYS[1]  tickets hash    user id -> order id
-- KEYS[2]  stream  stream  accepted orders
-- ARGV[1]  user    user id
-- ARGV[2]  order   order id
-- ARGV[3]  voucher voucher id
-- RETURNS  {"QUEUED"}  {"NOT_HELD"}
-- REPLAY   safe: a second entry of a stored order is settled without effect
-- COST     O(1), at most 1 write
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then
  return {'NOT_HELD'}
end
redis.call('XADD', KEYS[2], '*', 'id', ARGV[2], 'userId', ARGV[1], 'voucherId', ARGV[3])
return {'QUEUED'}

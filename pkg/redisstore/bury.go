package redisstore

import (
	"context"
	"strconv"

	"github.com/openseckill/seckill/lua"
	"github.com/openseckill/seckill/pkg/seckill"
)

// Bury moves a message that is still pending to the dead stream, with the reason and how
// often it was delivered. False: it was not pending any more. The unit must have been
// released before, and the rejected row committed before that.
func (s *Store) Bury(ctx context.Context, d seckill.Delivery, reason seckill.Reason) (buried bool, err error) {
	return s.decide(ctx, "redisstore.Bury", "BURIED", "GONE",
		lua.Bury, []string{s.keys.stream(d.Partition), s.keys.dead(d.Partition)},
		group, d.Entry, string(reason), strconv.FormatInt(d.Attempts, 10))
}

// CountTry counts a lone try of an entry before it starts, and returns how many there have
// been that did not come back, this one included. It is kept until ForgetTries.
func (s *Store) CountTry(ctx context.Context, p int, entry string) (int64, error) {
	n, err := s.db.HIncrBy(ctx, s.keys.tries(p), entry, 1).Result()
	return n, fault("redisstore.CountTry", err)
}

// SetTries makes the count of an entry's lone tries what it was before one that never began.
func (s *Store) SetTries(ctx context.Context, p int, entry string, n int64) error {
	if n <= 0 {
		return s.ForgetTries(ctx, p, []string{entry})
	}
	return fault("redisstore.SetTries", s.db.HSet(ctx, s.keys.tries(p), entry, n).Err())
}

// ForgetTries forgets the lone tries of entries, because one came back.
func (s *Store) ForgetTries(ctx context.Context, p int, entries []string) error {
	if len(entries) == 0 {
		return nil
	}
	return fault("redisstore.ForgetTries", s.db.HDel(ctx, s.keys.tries(p), entries...).Err())
}

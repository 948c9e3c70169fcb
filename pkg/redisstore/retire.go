package redisstore

import (
	"context"
	"time"

	"github.com/openseckill/seckill/lua"
)

// Retire takes off the group each consumer of partition p that holds nothing and has not
// asked for anything for idle or longer, and returns their names. One that is only slow
// comes back under its name with its next read.
func (s *Store) Retire(ctx context.Context, p int, idle time.Duration) ([]string, error) {
	return s.retire(ctx, "redisstore.Retire", p, idle, "")
}

// DropConsumer takes a consumer off the group, if it holds nothing.
func (s *Store) DropConsumer(ctx context.Context, p int, consumer string) error {
	const ever = -time.Millisecond // less than 0, which the embedded server says of everyone
	_, err := s.retire(ctx, "redisstore.DropConsumer", p, ever, consumer)
	return err
}

func (s *Store) retire(ctx context.Context, op string, p int, idle time.Duration, consumer string) ([]string, error) {
	names, err := lua.Retire.Run(ctx, s.db, []string{s.keys.stream(p)}, group, idle.Milliseconds(), consumer).StringSlice()
	return names, fault(op, err)
}

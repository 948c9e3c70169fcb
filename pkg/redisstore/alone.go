package redisstore

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/openseckill/seckill/lua"
	"github.com/openseckill/seckill/pkg/seckill"
)

const (
	turnTTL  = 5 * time.Second // after which the turn of a process that died is over
	turnRest = time.Second     // that a turn lasts on, so that whoever comes for the same reason finds it done
)

// Alone runs fn unless another process is at the same for this voucher, or was a second ago;
// then it returns false. It saves work and decides nothing: a turn that Redis loses is not
// noticed.
func (s *Store) Alone(ctx context.Context, v seckill.VoucherID, fn func(ctx context.Context) error) (ran bool, err error) {
	const op = "redisstore.Alone"
	l := &Lease{store: s, token: rand.Text(), ttl: turnTTL, keys: []string{s.keys.syncing(v)}}
	since := time.Now()
	ours, err := l.run(ctx, op, lua.Lock, l.keys, l.token, turnTTL.Milliseconds())
	if err != nil || ours[0] == 0 {
		return false, err
	}
	l.keep(ctx, since)
	if err := fn(ctx); err != nil {
		_ = l.Release() // it runs out by itself
		return true, err
	}
	l.end()
	_, _ = l.run(ctx, op, lua.Extend, l.keys, l.token, turnRest.Milliseconds()) // or a little later
	return true, nil
}

// Syncing reports whether somebody runs alone for this voucher, or did a second ago.
func (s *Store) Syncing(ctx context.Context, v seckill.VoucherID) (bool, error) {
	n, err := s.db.Exists(ctx, s.keys.syncing(v)).Result()
	return n > 0, fault("redisstore.Syncing", err)
}

package app

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/seckill"
)

type judged func() (time.Time, error)

func (j judged) Clock(context.Context, seckill.VoucherID) (time.Time, error) { return j() }

func TestClock(t *testing.T) {
	noon := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	own, redis, away := noon, noon.Add(3*time.Hour), error(nil)
	c := &clock{own: func() time.Time { return own }, born: own, judge: judged(func() (time.Time, error) {
		own = own.Add(20 * time.Millisecond) // on the way there and back
		redis = redis.Add(10 * time.Millisecond)
		return redis, away
	})}
	require.Equal(t, noon, c.now(), "nobody was asked yet")

	c.look(t.Context())
	require.Equal(t, redis.Add(10*time.Millisecond), c.now(), "half of the trip is over since Redis answered")

	own = own.Add(time.Minute)
	away = seckill.Unavailable
	before := c.now()
	c.look(t.Context())
	require.Equal(t, before.Add(20*time.Millisecond), c.now(), "it goes on without Redis")
}

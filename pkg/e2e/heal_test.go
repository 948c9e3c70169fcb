package e2e

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// crowd buys with many users at two nodes until all of them hold an order or are told that
// nothing is left. Whoever is told to come back comes back, as every client does.
type crowd struct {
	*stack
	voucher string
	nodes   []string

	mu       sync.Mutex
	accepted map[string]string // orders by their users
	bought   chan struct{}     // one for each acceptance
}

func (c *crowd) run(users int64) error {
	g, ctx := errgroup.WithContext(c.t.Context())
	g.SetLimit(50)
	for u := range users {
		g.Go(func() error { return c.insist(ctx, u+1) })
	}
	return g.Wait()
}

func (c *crowd) insist(ctx context.Context, user int64) error {
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for try := int64(0); ; try++ {
		node := *c.stack
		node.api = c.nodes[(user+try)%int64(len(c.nodes))]
		a, err := node.buy(ctx, c.voucher, user)
		if err != nil {
			return err
		}
		switch {
		case a.status == http.StatusAccepted || a.status == http.StatusOK:
			c.mu.Lock()
			c.accepted[strconv.FormatInt(user, 10)] = a.OrderID
			c.mu.Unlock()
			c.bought <- struct{}{}
			return nil
		case a.Code == "SOLD_OUT":
			return nil
		}
		select {
		case <-again.C: // NOT_READY, for as long as a sync takes
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// A2: keys of a voucher go in the middle of its sale, alone and together, while two nodes of
// each program run. Every unit is sold, none twice, and whoever was told an order has it.
func TestHealAmidASale(t *testing.T) {
	t.Parallel()
	const total, users = 300, 400
	s := newStack(t)
	s.startAPI()
	first := s.api
	s.startAPI()
	s.startWorkers(2)
	voucher := s.createOpen(total)
	c := &crowd{stack: s, voucher: voucher, nodes: []string{first, s.api}, accepted: map[string]string{}, bought: make(chan struct{}, users)}

	done := make(chan error, 1)
	go func() { done <- c.run(users) }()
	key := func(what string) string { return "seckill:" + what + ":" + voucher }
	for _, gone := range [][]string{
		{key("voucher")}, {key("stock")}, {key("order")}, {key("ticket")}, {"seckill:server"},
		{key("order"), key("ticket")}, {key("voucher"), key("stock"), key("order"), key("ticket")},
	} {
		for range total / 10 {
			<-c.bought
		}
		require.NoError(t, s.redis.Del(t.Context(), gone...).Err())
	}
	require.NoError(t, <-done)
	require.Len(t, c.accepted, total)
	s.drained()
	s.law(voucher, total, total, c.accepted)
}

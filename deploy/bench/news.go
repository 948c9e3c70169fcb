package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/openseckill/seckill/pkg/seckill"
)

// news hears when workers say that orders are stored.
type news struct {
	from  *redis.PubSub
	heard sync.WaitGroup

	mu sync.Mutex
	at map[seckill.OrderID]time.Time
}

// listen hears all that is said from now on.
func (b bare) listen(ctx context.Context) (*news, error) {
	n := &news{from: b.db.Subscribe(ctx, "seckill:settled"), at: make(map[seckill.OrderID]time.Time)}
	if _, err := n.from.Receive(ctx); err != nil { // it hears from the answer on
		return nil, joinClose(err, n.from)
	}
	said := n.from.Channel(redis.WithChannelSize(1 << 16))
	n.heard.Go(func() {
		for m := range said {
			n.note(m.Payload, time.Now())
		}
	})
	return n, nil
}

func (n *news) note(ids string, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for text := range strings.FieldsSeq(ids) {
		if id, err := seckill.ParseOrderID(text); err == nil {
			n.at[id] = now
		}
	}
}

// Close stops listening.
func (n *news) Close() error {
	err := n.from.Close()
	n.heard.Wait()
	return err
}

// newsMax is how long an announcement may come after its row.
const newsMax = 5 * time.Second

// stored is how long after its acceptance each order was said to be stored.
func (n *news) stored(ctx context.Context, orders []accepted) ([]time.Duration, error) {
	tick := time.NewTicker(storedEvery)
	defer tick.Stop()
	end := time.NewTimer(newsMax)
	defer end.Stop()
	for {
		if all, ok := n.lags(orders); ok {
			return all, nil
		}
		select {
		case <-tick.C:
		case <-end.C:
			return nil, fmt.Errorf("not all of %d orders were announced", len(orders))
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (n *news) lags(orders []accepted) ([]time.Duration, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := make([]time.Duration, len(orders))
	for i, o := range orders {
		at, ok := n.at[o.ID]
		if !ok {
			return nil, false
		}
		// The worker may be done before the buyer has read the answer.
		all[i] = max(0, at.Sub(o.At))
	}
	return all, true
}

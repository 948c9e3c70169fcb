package main

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/redisstore"
	"github.com/openseckill/seckill/pkg/redistest"
	"github.com/openseckill/seckill/pkg/seckill"
)

// paper is what a follower prints on.
type paper struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (p *paper) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.buf.Write(b)
}

func (p *paper) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.buf.String()
}

// A follower prints each event once and in order, over a life that read some and did not
// acknowledge them, and over events that are told twice.
func TestFollow(t *testing.T) {
	server := redistest.New(t)
	store, err := redisstore.Open(t.Context(), redisstore.Options{Addrs: []string{server.Addr()}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	event := func(number int, status seckill.Status) seckill.Event {
		return seckill.Event{ID: fmt.Sprintf("%d-0", number), Order: 7, User: 42, Voucher: 1001, Status: status, At: time.Now()}
	}
	tell := func(events ...seckill.Event) { require.NoError(t, store.PublishEvents(t.Context(), events)) }

	out := new(paper)
	f := &follower{redis: server.ClientOf(t), stream: "seckill:events", group: "g", out: out}
	tell(event(1, seckill.Created))
	n, err := f.page(t.Context(), ">")
	require.NoError(t, err)
	require.Equal(t, 1, n)
	tell(event(1, seckill.Created), event(2, seckill.Paid))
	require.NoError(t, f.redis.Do(t.Context(), "XREADGROUP", "GROUP", "g", "c1", "STREAMS", f.stream, ">").Err()) // and dies

	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { f.run(ctx) })
	tell(event(2, seckill.Paid))
	const want = "1-0 7 created \n2-0 7 paid \n"
	require.Eventually(t, func() bool {
		p, err := f.redis.XPending(t.Context(), f.stream, "g").Result()
		return err == nil && p.Count == 0 && out.String() == want
	}, time.Minute, 10*time.Millisecond)
	require.Eventually(t, func() bool {
		left, err := store.TrimEvents(t.Context())
		return err == nil && left == 0
	}, time.Minute, 10*time.Millisecond)
	require.Equal(t, want, out.String())
	stop()
	running.Wait()
}

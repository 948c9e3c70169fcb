package redisstore

import (
	"context"
	"errors"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/openseckill/seckill/pkg/seckill"
)

const (
	beat      = 300 * time.Millisecond // of silence before the server is asked whether it is there
	beatsMax  = 3                      // that it may miss
	listenGap = 100 * time.Millisecond // before the next try to listen
)

// News are told of what any process announces. They are called one after the other and
// must not wait for anything.
type News struct {
	Settled func(ids []seckill.OrderID) // the status of these orders changed
	Changed func(v seckill.VoucherID)   // units came back, tickets changed hands, or window or total changed
	Resumed func()                      // listening begins, or begins again: what came before may have been missed
	Live    func(live bool)             // a sign of life, several a second; false: the line broke
}

// Listen tells the news until ctx ends, over one connection. While the line is live no
// message is missed; one that breaks, or stays silent when asked, is replaced.
func (s *Store) Listen(ctx context.Context, news News) {
	s.keepOn(ctx, func() {
		s.hear(ctx, beat, news.tell, settled, changed)
		news.Live(false)
		s.lookAround(ctx)
	})
}

// keepOn runs fn again and again until ctx ends, with a short rest between.
func (s *Store) keepOn(ctx context.Context, fn func()) {
	gap := time.NewTimer(0)
	defer gap.Stop()
	for {
		select {
		case <-gap.C:
			fn()
			gap.Reset(listenGap)
		case <-ctx.Done():
			return
		}
	}
}

// hear tells what is said on the channels until the line breaks: it is asked whether it is
// there after each silence, and may miss a few answers.
func (s *Store) hear(ctx context.Context, silence time.Duration, tell func(message any), channels ...string) {
	sub := s.db.Subscribe(ctx, channels...)
	hangUp := func() { _ = sub.Close() } // nothing is lost with it
	defer hangUp()
	// The end of a context does not interrupt a read that waits; the end of its connection does.
	defer context.AfterFunc(ctx, hangUp)()
	for missed := 0; missed <= beatsMax; {
		message, err := sub.ReceiveTimeout(ctx, silence)
		var quiet net.Error
		switch {
		case err == nil:
			missed = 0
			tell(message)
		case errors.As(err, &quiet) && quiet.Timeout() && ctx.Err() == nil:
			missed++
			if sub.Ping(ctx) != nil {
				return
			}
		default:
			return
		}
	}
}

func (n News) tell(message any) {
	if m, ok := message.(*redis.Message); ok {
		n.announced(m)
	}
	if _, ok := message.(*redis.Subscription); ok {
		n.Resumed()
	}
	n.Live(true)
}

func (n News) announced(m *redis.Message) {
	if m.Channel == changed {
		if v, err := seckill.ParseVoucherID(m.Payload); err == nil {
			n.Changed(v)
		}
		return
	}
	var ids []seckill.OrderID
	for text := range strings.FieldsSeq(m.Payload) {
		if id, err := seckill.ParseOrderID(text); err == nil {
			ids = append(ids, id)
		}
	}
	n.Settled(ids)
}

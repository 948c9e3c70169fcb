package redisstore

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	pulseBeat = 2 * time.Second        // of silence before the server is asked whether it is there
	pulseGap  = 500 * time.Millisecond // between two answers, however many ask
)

// Attend answers, until ctx ends, whoever asks how the processes of the sale are. say returns
// what this one has to tell; everybody who watches hears it. While nobody asks it costs one
// silent connection. Nothing is kept in Redis: who dies says no more.
func (s *Store) Attend(ctx context.Context, say func() []byte) {
	var said time.Time
	s.keepOn(ctx, func() {
		s.hear(ctx, pulseBeat, func(message any) {
			if _, ok := message.(*redis.Message); ok && time.Since(said) >= pulseGap {
				said = time.Now()
				_ = s.db.Publish(ctx, pulses, say()).Err() // whoever watches asks again
			}
		}, asked)
		s.lookAround(ctx)
	})
}

// AskPulses asks every process to say how it is.
func (s *Store) AskPulses(ctx context.Context) error {
	return fault("redisstore.AskPulses", s.db.Publish(ctx, asked, "").Err())
}

// HearPulses tells what the processes say, until ctx ends. What is said while the line is
// broken is missed.
func (s *Store) HearPulses(ctx context.Context, tell func(pulse []byte)) {
	s.keepOn(ctx, func() {
		s.hear(ctx, beat, func(message any) {
			if m, ok := message.(*redis.Message); ok {
				tell([]byte(m.Payload))
			}
		}, pulses)
		s.lookAround(ctx)
	})
}

package redisstore

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// listening waits until a channel has that many subscribers.
func listening(t *testing.T, s *Store, channel string, n int64) {
	t.Helper()
	require.Eventually(t, func() bool {
		return s.db.PubSubNumSub(t.Context(), channel).Val()[channel] == n
	}, time.Minute, time.Millisecond)
}

// Whoever asks hears every process that lives, and nothing stays in Redis.
func TestAttend(t *testing.T) {
	s, _ := open(t)
	ctx, end := context.WithCancel(t.Context())
	heard, done := make(chan string, 99), make(chan struct{}, 3)
	for _, name := range []string{"a", "b"} {
		go func() { s.Attend(ctx, func() []byte { return []byte(name) }); done <- struct{}{} }()
	}
	go func() { s.HearPulses(ctx, func(p []byte) { heard <- string(p) }); done <- struct{}{} }()
	listening(t, s, asked, 2)
	listening(t, s, pulses, 1)

	before := s.db.DBSize(t.Context()).Val()
	require.NoError(t, s.AskPulses(t.Context()))
	require.NoError(t, s.AskPulses(t.Context()), "two who ask at once hear the same answer")
	require.ElementsMatch(t, []string{"a", "b"}, []string{await(t, heard), await(t, heard)})
	require.Equal(t, before, s.db.DBSize(t.Context()).Val())
	end()
	for range 3 {
		await(t, done)
	}
	require.Empty(t, heard)
}

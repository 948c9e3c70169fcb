package redisstore

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/seckill"
)

// A server that is busy, or loads, refuses new connections: nothing that was asked by one may
// look as if it had been answered.
func TestExecWithoutAConnection(t *testing.T) {
	s, c := open(t)
	require.NoError(t, c.ConfigSet(t.Context(), "busy-reply-threshold", "1").Err())
	require.NoError(t, c.Do(t.Context(), "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes").Err())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = c.Eval(t.Context(), "while true do end", nil).Err() // until it is killed
	}()
	require.Eventually(t, func() bool { return hasPrefix(c.Ping(t.Context()).Err(), "BUSY") }, time.Minute, time.Millisecond)
	defer func() {
		require.NoError(t, c.ScriptKill(t.Context()).Err())
		<-ended
	}()

	_, err := s.Tickets(t.Context(), 42, []seckill.VoucherID{voucher})
	require.ErrorIs(t, err, seckill.Unavailable)
	_, err = s.Books(t.Context(), voucher)
	require.ErrorIs(t, err, seckill.Unavailable)
	_, err = s.StreamInfo(t.Context(), 0)
	require.ErrorIs(t, err, seckill.Unavailable)
	_, _, err = s.InHand(t.Context(), voucher)
	require.ErrorIs(t, err, seckill.Unavailable)
	_, err = s.Admit(t.Context(), seckill.Order{ID: 1, User: 42, Voucher: voucher})
	require.ErrorIs(t, err, seckill.Unavailable)
}

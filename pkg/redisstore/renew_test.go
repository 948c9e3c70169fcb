package redisstore

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/lua"
	"github.com/openseckill/seckill/pkg/faultnet"
	"github.com/openseckill/seckill/pkg/redistest"
)

// E8: a renewal that fails once ends neither the lease, which is renewed again in time, nor
// the renewals of the next one on the same key.
func TestRenewalFailsOnce(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	proxy := faultnet.New(t, server.Addr())
	s, c := openAt(t, Options{Addrs: []string{proxy.Addr()}}), server.ClientOf(t)
	extend := faultnet.Has(lua.Extend.Hash())
	o := LockOptions{TTL: 3 * time.Second}

	first := lock(t, s, o, 1)
	failing := proxy.Hold(extend)
	<-failing.Arrived()
	proxy.Cut()
	failing.Release()
	renewed := func() bool {
		return c.PTTL(t.Context(), "lock:order:1").Val() > o.TTL*9/10
	}
	require.Eventually(t, renewed, o.TTL, time.Millisecond)
	require.NoError(t, first.Context().Err())
	require.NoError(t, first.Release())

	second := lock(t, s, o, 1)
	require.Eventually(t, func() bool { return !renewed() }, o.TTL, time.Millisecond)
	require.Eventually(t, renewed, o.TTL, time.Millisecond)
	require.NoError(t, second.Release())
}

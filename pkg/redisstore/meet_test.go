package redisstore

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/redistest"
	"github.com/openseckill/seckill/pkg/seckill"
)

// leader starts a server that a replica need not wait for.
func leader(t *testing.T) *redistest.Server {
	t.Helper()
	return redistest.NewWith(t, redistest.Options{TCP: true, Args: []string{"--repl-diskless-sync-delay", "0"}})
}

// replicaOf returns a server that has all that the master has.
func replicaOf(t *testing.T, master *redistest.Server) *redistest.Server {
	t.Helper()
	server := redistest.NewWith(t, redistest.Options{TCP: true})
	host, port, err := net.SplitHostPort(master.Addr())
	require.NoError(t, err)
	c := server.ClientOf(t)
	require.NoError(t, c.ReplicaOf(t.Context(), host, port).Err())
	require.Eventually(t, func() bool {
		return infoField(c.Info(t.Context(), "replication").Val(), "master_link_status") == "up"
	}, time.Minute, 10*time.Millisecond)
	return server
}

// The replica that becomes the master lags: it forgot an order that was acknowledged. Its
// keys are all there and balance, and still it sells nothing before a sync.
func TestOlderServerSellsNothing(t *testing.T) {
	t.Parallel()
	master := leader(t)
	s := openAt(t, Options{Addrs: []string{master.Addr()}})
	v := sell(t, s, voucher, 2)
	admit(t, s, order(1, 11))
	replica := replicaOf(t, master)
	c := replica.ClientOf(t)

	fresh := openAt(t, Options{Addrs: []string{replica.Addr()}})
	require.ErrorIs(t, fresh.Ping(t.Context()), seckill.Unavailable, "no connection outlives the promotion")

	require.NoError(t, c.ReplicaOf(t.Context(), "NO", "ONE").Err())
	admit(t, s, order(2, 12)) // which the new master never hears of
	b, err := fresh.Books(t.Context(), voucher)
	require.NoError(t, err)
	require.EqualValues(t, 1, b.Buyers)
	require.True(t, b.Balanced())
	require.Equal(t, "stale", b.State)
	_, err = fresh.Admit(t.Context(), order(3, 13))
	require.ErrorIs(t, err, seckill.NotReady)

	require.NoError(t, fresh.Load(t.Context(), voucher, "mine"))
	_, err = fresh.OpenSale(t.Context(), v, "mine")
	require.NoError(t, err)
	admit(t, fresh, order(3, 13))
	other := openAt(t, Options{Addrs: []string{replica.Addr()}})
	_, err = other.Admit(t.Context(), order(3, 13))
	require.NoError(t, err, "who meets the same server later changes nothing")
}

// A sync that began on the old master must not open the new one, which has part of it.
func TestSyncDoesNotOutliveItsServer(t *testing.T) {
	t.Parallel()
	master := leader(t)
	s := openAt(t, Options{Addrs: []string{master.Addr()}})
	v := sell(t, s, voucher, 2)
	require.NoError(t, s.Load(t.Context(), voucher, "mine"))
	replica := replicaOf(t, master)
	require.NoError(t, replica.ClientOf(t).ReplicaOf(t.Context(), "NO", "ONE").Err())
	_, err := openAt(t, Options{Addrs: []string{replica.Addr()}}).OpenSale(t.Context(), v, "mine")
	require.ErrorIs(t, err, seckill.Outdated)
}

// A server that comes back with its data may have forgotten the last of it.
func TestRestartedServerSellsNothing(t *testing.T) {
	t.Parallel()
	server := redistest.NewWith(t, redistest.Options{AOF: "everysec"})
	s := openAt(t, Options{Addrs: []string{server.Addr()}})
	v := sell(t, s, voucher, 2)
	admit(t, s, order(1, 11))
	require.NoError(t, server.Stop())
	require.NoError(t, server.Restart())
	require.Eventually(t, func() bool { return s.Ping(t.Context()) == nil }, time.Minute, 10*time.Millisecond)
	_, err := s.Admit(t.Context(), order(2, 12))
	require.ErrorIs(t, err, seckill.NotReady)
	require.NoError(t, s.Load(t.Context(), voucher, "mine"))
	left, err := s.OpenSale(t.Context(), v, "mine")
	require.NoError(t, err)
	require.EqualValues(t, 1, left)
	admit(t, s, order(2, 12))
}

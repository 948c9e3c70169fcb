package redisstore

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/redistest"
	"github.com/openseckill/seckill/pkg/seckill"
)

// other is a voucher of another partition than the usual one, on another master.
const other = voucher + 2

func master(t *testing.T, c *redistest.Cluster, s *Store, v seckill.VoucherID) *redistest.Server {
	t.Helper()
	owner, err := c.Owner(t.Context(), s.keys.voucher(v))
	require.NoError(t, err)
	return owner
}

// admitWithin asks for an order within a short request.
func admitWithin(t *testing.T, s *Store, o seckill.Order, limit time.Duration) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	_, err := s.Admit(ctx, o)
	return err
}

// resync opens a sale again on a server that was not met before, as a worker would.
func resync(t *testing.T, s *Store, v seckill.Voucher) {
	t.Helper()
	require.NoError(t, s.Load(t.Context(), v.ID, "again"))
	_, err := s.OpenSale(t.Context(), v, "again")
	require.NoError(t, err)
}

func TestAdmitWhileTheSlotMoves(t *testing.T) {
	t.Parallel()
	cluster := redistest.NewCluster(t, 0, redistest.Options{})
	s := openAt(t, Options{Addrs: cluster.Addrs(), Partitions: 4})
	v := sell(t, s, voucher, 100)
	sell(t, s, other, 100)
	admit(t, s, order(1, 1))
	to := master(t, cluster, s, other)
	require.NotEqual(t, to, master(t, cluster, s, voucher))

	move, err := cluster.BeginMove(t.Context(), s.keys.voucher(voucher), to)
	require.NoError(t, err)
	admit(t, s, order(2, 2)) // every key is still where it was
	_, err = move.Take(t.Context(), 2)
	require.NoError(t, err)
	err = admitWithin(t, s, order(3, 3), 100*time.Millisecond)
	require.ErrorIs(t, err, seckill.Unavailable, "its keys are on two masters")
	require.NoError(t, admitWithin(t, s, seckill.Order{ID: 4, User: 4, Voucher: other}, time.Second), "the other partitions sell on")

	waits := make(chan error, 1) // one who came while the keys moved gets the order within the request
	go func() { waits <- admitWithin(t, s, order(5, 5), 10*time.Second) }()
	_, err = move.Take(t.Context(), 100)
	require.NoError(t, err)
	require.NoError(t, <-waits, "all keys are at the new master, which does not own them yet")
	require.NoError(t, move.End(t.Context()))
	require.NoError(t, admitWithin(t, s, order(6, 6), time.Second), "the old master redirects")

	fresh := openAt(t, Options{Addrs: cluster.Addrs(), Partitions: 4})
	require.ErrorIs(t, admitWithin(t, fresh, order(7, 7), time.Second), seckill.NotReady, "the voucher was opened on another server")
	resync(t, fresh, v)
	require.NoError(t, admitWithin(t, s, order(7, 7), time.Second))
	requireBooks(t, s, 95, 5)
	info, err := s.StreamInfo(t.Context(), s.keys.partition(voucher))
	require.NoError(t, err)
	require.EqualValues(t, 5, info.Length)
}

// What a replica held when its master died is there, and the sale goes on as soon as it is
// the master: the client does not wait to be told.
func TestAdmitOverAFailover(t *testing.T) {
	t.Parallel()
	cluster := redistest.NewCluster(t, 1, redistest.Options{})
	s := openAt(t, Options{Addrs: cluster.Addrs()[:1], Partitions: 4, WaitReplicas: 1})
	v := sell(t, s, voucher, 10)
	sell(t, s, other, 10)
	require.NoError(t, admitWithin(t, s, order(1, 1), time.Second))
	dead := master(t, cluster, s, voucher)
	require.NoError(t, dead.Kill())
	require.ErrorIs(t, admitWithin(t, s, order(2, 2), 100*time.Millisecond), seckill.Unavailable)
	require.NoError(t, admitWithin(t, s, seckill.Order{ID: 3, User: 3, Voucher: other}, time.Second))
	require.NoError(t, s.Ping(t.Context()), "what other masters serve can be sold")
	require.ErrorIs(t, s.PingPartition(t.Context(), s.keys.partition(voucher)), seckill.Unavailable)

	require.NoError(t, cluster.AwaitOtherThan(t.Context(), s.keys.voucher(voucher), dead))
	require.Eventually(t, func() bool { return errors.Is(admitWithin(t, s, order(2, 2), 5*time.Second), seckill.NotReady) }, time.Minute, 10*time.Millisecond)
	b, err := s.Books(t.Context(), voucher)
	require.NoError(t, err)
	require.EqualValues(t, 1, b.Buyers)
	resync(t, s, v)
	require.NoError(t, dead.Restart()) // as a replica
	require.Eventually(t, func() bool { return admitWithin(t, s, order(2, 2), time.Second) == nil }, time.Minute, 10*time.Millisecond)
	requireBooks(t, s, 8, 2)
}

// eofAfter loses the reply of the first command of a name.
type eofAfter struct {
	name string
	lost *atomic.Bool
}

func (h eofAfter) DialHook(next redis.DialHook) redis.DialHook { return next }
func (h eofAfter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h eofAfter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if cmd.Name() == h.name && !h.lost.Swap(true) {
			return io.EOF
		}
		return err
	}
}

// The client of a cluster would read again by itself, and nobody would know of the entries
// that the first read was given.
func TestReadOnAClusterRunsOnce(t *testing.T) {
	t.Parallel()
	cluster := redistest.NewCluster(t, 0, redistest.Options{})
	s := openAt(t, Options{Addrs: cluster.Addrs(), Partitions: 1})
	sell(t, s, voucher, 10)
	admit(t, s, order(1, 1))
	_, err := s.Read(t.Context(), 0, "b", 1, short) // makes the group
	require.NoError(t, err)
	admit(t, s, order(2, 2))
	lost := new(atomic.Bool)
	s.reader.(*redis.ClusterClient).OnNewNode(func(node *redis.Client) { node.AddHook(eofAfter{"xreadgroup", lost}) })
	require.NoError(t, s.reader.(*redis.ClusterClient).ForEachMaster(t.Context(), func(_ context.Context, node *redis.Client) error {
		node.AddHook(eofAfter{"xreadgroup", lost})
		return nil
	}))
	_, err = s.Read(t.Context(), 0, "a", 10, short)
	require.ErrorIs(t, err, seckill.Unavailable)
	ds, _, _, err := s.ReadOwn(t.Context(), 0, "a", "0", 10)
	require.NoError(t, err)
	require.Len(t, ds, 1)
}

// The one who listens is told by whoever is the master afterwards.
func TestListenOverAFailover(t *testing.T) {
	t.Parallel()
	cluster := redistest.NewCluster(t, 1, redistest.Options{})
	s := openAt(t, Options{Addrs: cluster.Addrs(), Partitions: 4})
	h := listenTo(t, s)
	_, err := cluster.Failover(t.Context(), settled)
	require.NoError(t, err)
	await(t, h.broken)
	await(t, h.resumed)
	await(t, h.resumed)
	require.NoError(t, s.Announce(t.Context(), []seckill.OrderID{7}))
	require.Equal(t, []seckill.OrderID{7}, await(t, h.settled))
}

// One sentinel of several may be away, and the master may change.
func TestSentinels(t *testing.T) {
	t.Parallel()
	watched := redistest.NewWatched(t, 1, redistest.Options{})
	s := openAt(t, Options{Addrs: append([]string{"127.0.0.1:1"}, watched.Sentinels...), Master: redistest.MasterName})
	v := sell(t, s, voucher, 10)
	admit(t, s, order(1, 1))
	require.NoError(t, watched.Failover(t.Context()))
	require.NoError(t, watched.Agree(t.Context()))
	require.Eventually(t, func() bool { return errors.Is(admitWithin(t, s, order(2, 2), 5*time.Second), seckill.NotReady) }, time.Minute, 10*time.Millisecond)
	resync(t, s, v)
	admit(t, s, order(2, 2))
}

package redisstore

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/redistest"
	"github.com/openseckill/seckill/pkg/seckill"
)

const voucher = seckill.VoucherID(1001)

// open returns a store on a server of its own, and a plain client beside it.
func open(t *testing.T) (*Store, *redis.Client) {
	t.Helper()
	if shared != nil {
		return onShared(t)
	}
	server := redistest.New(t)
	s := openAt(t, Options{Addrs: []string{server.Addr()}})
	require.NoError(t, s.Ping(t.Context())) // and the server is noted
	return s, server.ClientOf(t)
}

func openAt(t *testing.T, o Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// sell puts total units of voucher v on sale for an hour.
func sell(t *testing.T, s *Store, v seckill.VoucherID, total int64) seckill.Voucher {
	t.Helper()
	now := time.Now().Truncate(time.Millisecond)
	voucher := seckill.Voucher{ID: v, Total: total, Begin: now.Add(-time.Minute), End: now.Add(time.Hour), Version: 1}
	require.NoError(t, s.Load(t.Context(), v, "first"))
	left, err := s.OpenSale(t.Context(), voucher, "first")
	require.NoError(t, err)
	require.Equal(t, total, left)
	return voucher
}

func order(user, id int64) seckill.Order {
	return seckill.Order{ID: seckill.OrderID(id), User: seckill.UserID(user), Voucher: voucher}
}

func admit(t *testing.T, s *Store, o seckill.Order) {
	t.Helper()
	_, err := s.Admit(t.Context(), o)
	require.NoError(t, err)
}

func requireBooks(t *testing.T, s *Store, stock, buyers int64) {
	t.Helper()
	b, err := s.Books(t.Context(), voucher)
	require.NoError(t, err)
	require.Equal(t, stock, b.Stock)
	require.Equal(t, buyers, b.Buyers)
	require.Equal(t, buyers, b.Tickets)
	require.True(t, b.Balanced())
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	t.Run("nobody listens", func(t *testing.T) {
		_, err := Open(t.Context(), Options{Addrs: []string{"127.0.0.1:1"}, Timeout: 200 * time.Millisecond})
		require.ErrorIs(t, err, seckill.Unavailable)
	})
	t.Run("a cluster without partitions", func(t *testing.T) {
		server := redistest.NewWith(t, redistest.Options{TCP: true, Args: []string{"--cluster-enabled", "yes"}})
		_, err := Open(t.Context(), Options{Addrs: []string{server.Addr()}})
		require.ErrorIs(t, err, seckill.Invalid)
		require.ErrorContains(t, err, "SECKILL_PARTITIONS")
	})
	t.Run("several addresses that are no cluster", func(t *testing.T) {
		one, another := redistest.NewWith(t, redistest.Options{TCP: true}), redistest.NewWith(t, redistest.Options{TCP: true})
		_, err := Open(t.Context(), Options{Addrs: []string{one.Addr(), another.Addr()}, Partitions: 4})
		require.ErrorIs(t, err, seckill.Invalid)
		require.ErrorContains(t, err, "name one of SECKILL_REDIS_ADDRS, or set SECKILL_REDIS_MASTER")
	})
	t.Run("a master's name, and a Redis in place of its sentinels", func(t *testing.T) {
		addr := redistest.NewWith(t, redistest.Options{TCP: true}).Addr()
		_, err := Open(t.Context(), Options{Addrs: []string{addr}, Master: "main"})
		require.ErrorIs(t, err, seckill.Invalid)
		require.ErrorContains(t, err, "name the Sentinels in SECKILL_REDIS_ADDRS, or leave SECKILL_REDIS_MASTER out")
	})
	t.Run("one that evicts keys, stock and stream among them (C28)", func(t *testing.T) {
		server := redistest.NewWith(t, redistest.Options{Args: []string{"--maxmemory-policy", "allkeys-lru"}})
		_, err := Open(t.Context(), Options{Addrs: []string{server.Addr()}})
		require.ErrorIs(t, err, seckill.Invalid)
		require.ErrorContains(t, err, "allkeys-lru")
	})
}

func TestGeneration(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	s := openAt(t, Options{Addrs: []string{server.Addr()}})
	require.NoError(t, s.Ping(t.Context()))
	before := s.Generation()
	require.NoError(t, s.Ping(t.Context()))
	require.Equal(t, before, s.Generation())
	require.NoError(t, server.Kill())
	require.NoError(t, server.Restart())
	require.Eventually(t, func() bool { return s.Ping(t.Context()) == nil }, time.Minute, 10*time.Millisecond)
	require.Greater(t, s.Generation(), before)
}

func TestKeys(t *testing.T) {
	t.Run("without partitions they are those that operators type", func(t *testing.T) {
		k := keys{}
		require.Equal(t, []string{"seckill:voucher:7", "seckill:stock:7", "seckill:order:7", "seckill:ticket:7"}, k.books(7))
		require.Equal(t, "seckill:stream", k.stream(0))
		require.Equal(t, "seckill:dead", k.dead(0))
		require.Equal(t, "seckill:events", k.events(0))
		require.Equal(t, "lock:order:42", k.lock(0, 42))
		require.Equal(t, "icr:order:20250101", k.sequence(0, "20250101"))
		require.Equal(t, "{icr:order:20250101}:run", k.sequenceRun(0, "20250101"))
	})
	// D7: no script ever spans two slots.
	t.Run("with partitions each carries the tag of its own", func(t *testing.T) {
		k := keys{4}
		require.Equal(t, "seckill:stock:{3}:1003", k.stock(1003))
		require.Equal(t, "seckill:stream:{3}", k.stream(3))
		require.Equal(t, "lock:order:{3}:42", k.lock(3, 42))
		require.Equal(t, "icr:order:{3}:20250101", k.sequence(3, "20250101"))
		server := redistest.NewWith(t, redistest.Options{TCP: true, Args: []string{"--cluster-enabled", "yes"}})
		c := server.ClientOf(t)
		slot := func(key string) int64 { return c.ClusterKeySlot(t.Context(), key).Val() }
		for v := seckill.VoucherID(1); v <= 1000; v++ {
			p := k.partition(v)
			want := slot(k.stream(p))
			require.NotZero(t, want)
			for _, key := range append(k.books(v), k.dead(p), k.events(p), k.tries(p), k.replays(p), k.lock(p, 42), k.sequence(p, "20250101"), k.sequenceRun(p, "20250101")) {
				require.Equal(t, want, slot(key), key)
			}
		}
	})
}

func TestFault(t *testing.T) {
	_, c := open(t)
	wrongType := func() error {
		require.NoError(t, c.LPush(t.Context(), "list", "x").Err())
		return c.Get(t.Context(), "list").Err()
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, fault("op", nil))
	require.ErrorIs(t, fault("op", wrongType()), seckill.Internal)
	require.ErrorIs(t, fault("op", c.Get(ended, "list").Err()), seckill.Unavailable)
	require.ErrorIs(t, fault("op", redis.ErrPoolTimeout), seckill.Unavailable)
	for _, text := range []string{"LOADING x", "READONLY x", "MASTERDOWN x", "CLUSTERDOWN x", "OOM command not allowed", "MISCONF x", "ERR max number of clients reached", "NOREPLICAS x"} {
		require.ErrorIs(t, fault("op", serverError(text)), seckill.Unavailable, text)
	}
	require.ErrorIs(t, fault("op", serverError("ERR no such thing")), seckill.Internal)
}

type serverError string

func (e serverError) Error() string { return string(e) }
func (e serverError) RedisError()   {}

func TestSequence(t *testing.T) {
	s, c := open(t)
	const day, key = "20260101", "icr:order:20260101"
	known, err := s.TakeSequence(t.Context(), 0, day, 100, -1)
	require.ErrorIs(t, err, seckill.NotReady)
	require.Zero(t, known)
	require.Zero(t, c.Exists(t.Context(), key).Val())
	for i, want := range []int64{5100, 5200, 5300} {
		last, err := s.TakeSequence(t.Context(), 0, day, 100, []int64{5000, -1, 9000}[i])
		require.NoError(t, err)
		require.Equal(t, want, last)
	}
	require.Positive(t, c.TTL(t.Context(), key).Val())
	require.Positive(t, c.TTL(t.Context(), "{"+key+"}:run").Val())
	require.NoError(t, c.Set(t.Context(), key, "9007199254740993", 0).Err())
	last, err := s.TakeSequence(t.Context(), 0, day, 1, -1)
	require.NoError(t, err)
	require.Equal(t, strconv.Itoa(9007199254740994), strconv.FormatInt(last, 10))
}

// A server that comes back after a crash may have a counter that is older than the numbers
// which were given out by it.
func TestSequenceAfterTheServerCameBack(t *testing.T) {
	t.Parallel()
	server := redistest.NewWith(t, redistest.Options{AOF: "always"})
	s, err := Open(t.Context(), Options{Addrs: []string{server.Addr()}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	const day = "20260101"
	_, err = s.TakeSequence(t.Context(), 0, day, 100, 5000)
	require.NoError(t, err)

	require.NoError(t, server.Restart())
	require.Eventually(t, func() bool { return s.Ping(t.Context()) == nil }, time.Minute, time.Millisecond) // its old connections are closed
	known, err := s.TakeSequence(t.Context(), 0, day, 100, -1)
	require.ErrorIs(t, err, seckill.NotReady)
	require.EqualValues(t, 5100, known)
	last, err := s.TakeSequence(t.Context(), 0, day, 100, 9000)
	require.NoError(t, err)
	require.EqualValues(t, 9100, last)
	last, err = s.TakeSequence(t.Context(), 0, day, 100, -1)
	require.NoError(t, err)
	require.EqualValues(t, 9200, last, "it is trusted again")

	require.NoError(t, server.Restart())
	require.Eventually(t, func() bool { return s.Ping(t.Context()) == nil }, time.Minute, time.Millisecond)
	last, err = s.TakeSequence(t.Context(), 0, day, 100, 1000)
	require.NoError(t, err)
	require.EqualValues(t, 9300, last, "never back to a floor")
}

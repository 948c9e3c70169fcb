// Package redisstore owns all that is kept in Redis: names of keys, admission, the order
// stream, locks, id sequences, and the scripts of a sync. It imports go-redis, the scripts
// and the words of the sale. Its errors carry seckill codes.
package redisstore

import (
	"context"
	"crypto/tls"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/openseckill/seckill/pkg/seckill"
)

// The client's own logger writes past ours, and only what its errors say as well.
func init() { redis.SetLogger(silent{}) }

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// Options say which Redis, and how long to hold and wait. The zero value of a number or
// duration means its default.
type Options struct {
	Addrs      []string // one server, several nodes of a cluster, or sentinels; a path is a unix socket
	Master     string   // name of the master that the sentinels at Addrs watch
	Username   string
	Password   string
	DB         int
	TLS        bool
	Partitions int           // of the vouchers; 0: one, with plain key names
	LockTTL    time.Duration // of user locks, 10 s
	Timeout    time.Duration // of one command, 3 s; a shorter context wins
	PoolSize   int           // connections for commands, 64

	BatchMax     int           // admissions that share a trip to Redis, 128
	QueueMax     int           // admissions of one partition that wait for a trip, 4096; the next is Overloaded
	WaitReplicas int           // replicas that must hold an order before it is admitted; 0: none
	WaitTimeout  time.Duration // how long to wait for them, 500 ms; at most Timeout
}

func (o Options) withDefaults() Options {
	if len(o.Addrs) == 0 {
		o.Addrs = []string{"127.0.0.1:6379"}
	}
	if o.LockTTL == 0 {
		o.LockTTL = 10 * time.Second
	}
	if o.Timeout == 0 {
		o.Timeout = 3 * time.Second
	}
	if o.PoolSize == 0 {
		o.PoolSize = 64
	}
	if o.BatchMax == 0 {
		o.BatchMax = 128
	}
	if o.QueueMax == 0 {
		o.QueueMax = 4096
	}
	if o.WaitTimeout == 0 {
		o.WaitTimeout = 500 * time.Millisecond
	}
	return o
}

// Store is one process's access to the sale's Redis. It is safe for concurrent use.
type Store struct {
	keys    keys
	db      redis.UniversalClient // commands
	reader  redis.UniversalClient // blocking reads, which would starve commands of connections
	lockTTL time.Duration
	batches []*batcher // of admissions, one for each partition

	forgets    string // what the server may forget, by its settings
	generation atomic.Uint64
	groupsMade atomic.Uint64
	locksLost  atomic.Uint64
	masters    atomic.Int64 // of a cluster, as Health saw them last
	met        sync.Map     // the servers that were met, by run id and as each partition noted them
}

// Open connects and refuses a server that cannot serve: older than 7.0, one that evicts
// keys, a cluster without partitions, and keys of another number of partitions.
func Open(ctx context.Context, o Options) (*Store, error) {
	o = o.withDefaults()
	s := &Store{keys: keys{o.Partitions}, lockTTL: o.LockTTL}
	o, cluster, err := s.inspect(ctx, o)
	if err != nil {
		return nil, err
	}
	s.db = behave(redis.NewUniversalClient(s.options(o, cluster, o.PoolSize)))
	s.reader = behave(redis.NewUniversalClient(s.options(o, cluster, max(1, o.Partitions)+2)))
	s.batches = newBatchers(context.WithoutCancel(ctx), s, o)
	return s, nil
}

// options are those of every client. No client retries a command by itself: the caller
// knows whether it may run again, and for how long it is worth trying.
func (s *Store) options(o Options, cluster bool, pool int) *redis.UniversalOptions {
	u := &redis.UniversalOptions{
		Addrs: o.Addrs, MasterName: o.Master, IsClusterMode: cluster && o.Master == "",
		Username: o.Username, Password: o.Password, DB: o.DB,
		MaxRetries: -1, DialTimeout: o.Timeout, ReadTimeout: o.Timeout, WriteTimeout: o.Timeout,
		ContextTimeoutEnabled: true, PoolSize: pool, PoolTimeout: o.Timeout,
		OnConnect: s.meet, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	if u.IsClusterMode {
		u.ConnMaxIdleTime = clusterIdle
		u.DialerRetries = 1 // a node that is gone is not waited for: another one knows who follows it
	}
	if o.TLS {
		u.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return u
}

func infoField(text, name string) string {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// Partitions is how many streams there are, at least 1.
func (s *Store) Partitions() int { return max(1, s.keys.partitions) }

// Partition is the one of them that holds the voucher, from 0.
func (s *Store) Partition(v seckill.VoucherID) int { return s.keys.partition(v) }

// Ping reports whether Redis answers and takes writes in one partition at least: while a
// master of a cluster is away, the others sell on.
func (s *Store) Ping(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan error, s.Partitions())
	for p := range s.Partitions() {
		go func() { answers <- s.PingPartition(ctx, p) }()
	}
	for range s.Partitions() {
		if err = <-answers; err == nil {
			break
		}
	}
	return err
}

// PingPartition reports whether the server of partition p answers and takes writes: one that
// is full, a replica, or cannot save refuses them. It writes nothing in place of nothing,
// which is refused alike.
func (s *Store) PingPartition(ctx context.Context, p int) error {
	return fault("redisstore.Ping", s.db.SetRange(ctx, s.keys.server(p), 0, "").Err())
}

// Close ends all connections. Blocked reads and admissions under way end with an error.
func (s *Store) Close() error {
	for _, b := range s.batches {
		b.end()
	}
	err := errors.Join(s.db.Close(), s.reader.Close())
	for _, b := range s.batches {
		b.out.Wait()
	}
	return err
}

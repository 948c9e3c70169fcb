package durability

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/redistest"
)

// mode is one way of running Redis, and one way in which it dies.
type mode struct {
	name     string
	promise  string // of a 202, as the README says it
	lossless bool   // nothing that was accepted may be forgotten
	open     func(t *testing.T) *place
}

var modes = []mode{
	{
		name:    "no persistence, Redis killed",
		promise: "what waited for a worker is forgotten; its receipt finds it admitted again, or an end: `rejected`, `lost`",
		open:    func(t *testing.T) *place { return alone(t, redistest.Options{}) },
	},
	{
		name:    "AOF everysec, Redis killed",
		promise: "kept, as the system has what Redis wrote; what Redis had yet to write, up to 2 s while the disk is slow, as above",
		open:    func(t *testing.T) *place { return alone(t, redistest.Options{AOF: "everysec", Dir: t.TempDir()}) },
	},
	{
		name:    "AOF everysec, power lost",
		promise: "what was accepted in the last one or two seconds is forgotten; its receipt finds it, as above",
		open:    func(t *testing.T) *place { return torn(t, t.TempDir()) },
	},
	{
		name: "AOF always, Redis killed", lossless: true,
		promise: "kept: it is on disk before the answer",
		open:    func(t *testing.T) *place { return alone(t, redistest.Options{AOF: "always", Dir: t.TempDir()}) },
	},
	{
		name: "replica, `WAIT` 1, Sentinel; master killed", lossless: true,
		promise: "kept where the replica that acknowledged takes over: with one replica, always, unless the master is back, empty, before Sentinel has acted",
		open:    watched,
	},
}

// place is a Redis that can die.
type place struct {
	env   []string // by which programs find it
	rdb   redis.UniversalClient
	mark  func() error                    // what comes later is lost with the power; nil: all is kept that can be
	crash func(ctx context.Context) error // it dies, and is back
}

func alone(t *testing.T, o redistest.Options) *place {
	server := redistest.NewWith(t, o)
	return &place{
		env: []string{"SECKILL_REDIS_ADDRS=" + server.Addr()},
		rdb: server.ClientOf(t),
		crash: func(context.Context) error {
			return errors.Join(server.Kill(), server.Restart())
		},
	}
}

// torn loses the end of its file, as a machine does that loses its power: what the system had
// not yet brought to the disk.
func torn(t *testing.T, dir string) *place {
	server := redistest.NewWith(t, redistest.Options{AOF: "everysec", Dir: dir})
	file, size := "", int64(0)
	return &place{
		env: []string{"SECKILL_REDIS_ADDRS=" + server.Addr()},
		rdb: server.ClientOf(t),
		mark: func() error {
			found, err := filepath.Glob(filepath.Join(dir, "appendonlydir", "*.incr.aof"))
			if err != nil || len(found) != 1 {
				return errors.Join(err, errors.New("not one append-only file: "+strings.Join(found, " ")))
			}
			info, err := os.Stat(found[0])
			if err == nil {
				file, size = found[0], info.Size()
			}
			return err
		},
		crash: func(context.Context) error {
			return errors.Join(server.Kill(), os.Truncate(file, size), server.Restart())
		},
	}
}

func watched(t *testing.T) *place {
	w := redistest.NewWatched(t, 1, redistest.Options{})
	rdb := redis.NewUniversalClient(&redis.UniversalOptions{Addrs: w.Sentinels, MasterName: redistest.MasterName, ContextTimeoutEnabled: true})
	t.Cleanup(func() { require.NoError(t, rdb.Close()) })
	return &place{
		env: []string{
			"SECKILL_REDIS_ADDRS=" + strings.Join(w.Sentinels, ","), "SECKILL_REDIS_MASTER=" + redistest.MasterName,
			"SECKILL_REDIS_WAIT_REPLICAS=1",
		},
		rdb: rdb,
		crash: func(ctx context.Context) error {
			if err := w.Failover(ctx); err != nil {
				return err
			}
			return w.Agree(ctx) // the buyers went on meanwhile; who counts asks the successor
		},
	}
}

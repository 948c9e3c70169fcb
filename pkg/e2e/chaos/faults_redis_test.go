package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/openseckill/seckill/pkg/redistest"
)

// redisFaults strike Redis itself, or what it keeps.
var redisFaults = []*fault{
	{name: "redis-kill", modes: single, forgets: []mode{bare, everysec}, brk: killRedis}, // a flush that takes long keeps back what was answered, up to two seconds,
	{name: "redis-restart", modes: single, forgets: []mode{bare}, brk: restartRedis},
	{name: "redis-power", modes: []mode{everysec}, forgets: []mode{everysec}, brk: cutPower},
	{name: "redis-freeze", modes: single, brk: freezeRedis},
	{name: "redis-disk-full", modes: kept, brk: fillDisk},
	{name: "flushall", modes: single, forgets: single, brk: func(w *world, _ step) error { return w.rdb.FlushAll(w.pass()).Err() }},
	{name: "script-flush", modes: single, brk: func(w *world, _ step) error { return w.rdb.ScriptFlush(w.pass()).Err() }},
	{name: "group-destroy", modes: single, brk: func(w *world, _ step) error {
		err := w.rdb.XGroupDestroy(w.pass(), "seckill:stream", "seckillGroup").Err()
		var said redis.Error
		if errors.As(err, &said) {
			return nil // the stream is not there
		}
		return err
	}},
	{name: "drop-stream", modes: single, brk: drop("seckill:stream")},
	{name: "drop-tickets", modes: single, brk: drop("seckill:ticket:*")},
	{name: "drop-buyers", modes: single, brk: drop("seckill:order:*")},
	{name: "drop-stock", modes: single, brk: drop("seckill:stock:*")},
	{name: "drop-voucher", modes: single, brk: drop("seckill:voucher:*")},
	{name: "drop-sequence", modes: single, brk: drop("icr:order:*")},
	{name: "drop-locks", modes: single, brk: drop("lock:order:*")},
	{name: "failover-kill", modes: []mode{sentinel}, forgets: []mode{sentinel}, brk: failOver},
	{name: "failover-ask", modes: []mode{sentinel}, forgets: []mode{sentinel}, brk: askForFailover},
}

// failOver kills the master; another one takes its place.
func failOver(w *world, _ step) error {
	w.redisMu.Lock()
	defer w.redisMu.Unlock()
	return w.watched.Failover(w.pass())
}

// askForFailover has the sentinels change the master though it is well.
func askForFailover(w *world, _ step) error {
	c := redis.NewSentinelClient(&redis.Options{Addr: w.watched.Sentinels[0]})
	defer c.Close()
	err := c.Failover(w.pass(), redistest.MasterName).Err()
	w.tale.add(w.since(), "the sentinel says %v", err) // one may be under way
	return nil
}

// drop deletes the keys of a pattern, as an operator's slip does. A server that is away by
// another fault has none.
func drop(pattern string) func(*world, step) error {
	return func(w *world, _ step) error {
		ctx, cancel := context.WithTimeout(w.pass(), 2*time.Second)
		defer cancel()
		keys, err := w.rdb.Keys(ctx, pattern).Result()
		if err == nil && len(keys) > 0 {
			err = w.rdb.Del(ctx, keys...).Err()
		}
		w.tale.add(w.since(), "%d keys of %s dropped, %v", len(keys), pattern, err)
		return nil
	}
}

func killRedis(w *world, s step) error {
	w.redisMu.Lock()
	defer w.redisMu.Unlock()
	if err := w.redis.Kill(); err != nil {
		return err
	}
	w.last(s)
	return w.redis.Restart()
}

func restartRedis(w *world, s step) error {
	w.redisMu.Lock()
	defer w.redisMu.Unlock()
	if err := w.redis.Stop(); err != nil {
		return err
	}
	w.last(s)
	return w.redis.Restart()
}

// cutPower kills Redis and takes from its file what it wrote last: what the machine had not
// yet flushed to the disk.
func cutPower(w *world, s step) error {
	w.redisMu.Lock()
	defer w.redisMu.Unlock()
	before, err := w.appended()
	if err != nil {
		return err
	}
	w.last(s)
	if err := w.redis.Kill(); err != nil {
		return err
	}
	after, err := w.appended()
	if err == nil && after.path == before.path && after.size > before.size {
		w.tale.add(w.since(), "the last %d bytes of Redis' file are gone", after.size-before.size)
		err = os.Truncate(after.path, before.size)
	}
	return errors.Join(err, w.redis.Restart())
}

type file struct {
	path string
	size int64
}

// appended is the file that Redis appends to.
func (w *world) appended() (f file, err error) {
	paths, err := filepath.Glob(filepath.Join(w.dir, "appendonlydir", "*.incr.aof"))
	if err != nil || len(paths) == 0 {
		return f, fmt.Errorf("no append-only file in %s: %w", w.dir, err)
	}
	f.path = paths[len(paths)-1]
	info, err := os.Stat(f.path)
	if err != nil {
		return f, err
	}
	f.size = info.Size()
	return f, nil
}

func freezeRedis(w *world, s step) error {
	w.redisMu.Lock()
	defer w.redisMu.Unlock()
	return freeze(w, w.redis.Pid(), s)
}

func freeze(w *world, pid int, s step) error {
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return err
	}
	w.last(s)
	return syscall.Kill(pid, syscall.SIGCONT)
}

// fillDisk lets Redis' file grow no further. Redis then refuses to write or, where it has to
// write before it answers, ends, and can be started again once there is room.
func fillDisk(w *world, s step) error {
	w.redisMu.Lock()
	defer w.redisMu.Unlock()
	f, err := w.appended()
	if err != nil {
		return err
	}
	pid := w.redis.Pid()
	if err := limitFiles(w.pass(), pid, strconv.FormatInt(f.size, 10)); err != nil {
		return err
	}
	w.last(s)
	if err := limitFiles(w.pass(), pid, "unlimited"); err == nil && w.rdb.Ping(w.pass()).Err() == nil {
		return nil
	}
	return w.redis.Restart()
}

// limitFiles sets how long a file may become that a process writes; it is told as it is told
// of a full disk. Anybody may do that to their own process, which no mount allows.
func limitFiles(ctx context.Context, pid int, bytes string) error {
	out, err := exec.CommandContext(ctx, "prlimit", "--pid", strconv.Itoa(pid), "--fsize="+bytes+":").CombinedOutput()
	if err != nil {
		return fmt.Errorf("prlimit: %w: %s", err, out)
	}
	return nil
}

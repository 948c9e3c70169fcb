package redisstore

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/openseckill/seckill/lua"
	"github.com/openseckill/seckill/pkg/seckill"
)

var errReplica = errors.New("READONLY this server is a replica")

// meet runs on each new connection, before its first command. It notes in each partition
// which server this is: a voucher that another one opened, or this one in an earlier life,
// may be older than SQL, and sells no more until a sync. So no admission can come before
// the look, whoever sends it. A connection to a replica is refused: it could outlive the
// moment at which that becomes the master.
func (s *Store) meet(ctx context.Context, cn *redis.Conn) error {
	text, err := cn.Info(ctx, "server", "replication").Result()
	var reply redis.Error
	if errors.As(err, &reply) && !refusedForNow(reply) {
		return nil // a server that does not tell counts as always the same
	}
	if err != nil {
		return err
	}
	id := infoField(text, "run_id")
	switch {
	case id == "" || infoField(text, "redis_mode") == "sentinel":
		return nil
	case infoField(text, "role") == "slave":
		return errReplica
	}
	if _, known := s.met.Load(id); !known {
		if err := s.agree(ctx, cn); err != nil {
			return err
		}
	}
	changed, err := s.note(ctx, cn, id)
	if changed {
		s.generation.Add(1)
	}
	return err
}

// note reports whether this process has met this server, in its present life, before.
func (s *Store) note(ctx context.Context, cn *redis.Conn, id string) (changed bool, err error) {
	_, known := s.met.Swap(id, id)
	pipe, cmds := cn.Pipeline(), make([]*redis.Cmd, s.Partitions())
	for p := range cmds {
		cmds[p] = lua.Meet.Eval(ctx, pipe, []string{s.keys.server(p)}, id, id+" "+rand.Text())
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	changed = !known
	for p, cmd := range cmds {
		met, err := cmd.StringSlice()
		if hasPrefix(err, "MOVED") || hasPrefix(err, "ASK") {
			continue // of another node
		}
		if err != nil {
			return changed, err
		}
		_, rest := head(met)
		if len(rest) != 1 {
			return changed, foreign("redisstore.meet", met)
		}
		if was, _ := s.met.Swap(p, rest[0]); was != rest[0] {
			changed = true
		}
	}
	return changed, nil
}

// meetAgain notes the server of a voucher where nothing is noted any more.
func (s *Store) meetAgain(ctx context.Context, v seckill.VoucherID) error {
	node, err := s.master(ctx, v)
	if err != nil {
		return err
	}
	cn := node.Conn()
	return errors.Join(s.meet(ctx, cn), cn.Close())
}

// Generation changes whenever a server is met that was not met before, or not in its
// present life.
func (s *Store) Generation() uint64 { return s.generation.Load() }

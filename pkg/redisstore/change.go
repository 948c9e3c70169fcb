package redisstore

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/openseckill/seckill/lua"
	"github.com/openseckill/seckill/pkg/seckill"
)

// Change brings total and window of a voucher that sells in line with v, as SQL has it.
// Outdated: Redis holds a newer version. NotReady: the voucher is not loaded or its books
// do not balance, which a sync mends.
func (s *Store) Change(ctx context.Context, v seckill.Voucher) error {
	const op = "redisstore.Change"
	reply, err := lua.Change.Run(ctx, s.db, s.keys.books(v.ID),
		v.Total, v.Begin.UnixMilli(), v.End.UnixMilli(), v.Version, changed, v.ID.String()).StringSlice()
	return changeFault(op, "CHANGED", reply, err)
}

// Cut lowers the total of a voucher that sells at this version, and makes the next one.
// BelowSold, with a Held: more is held. Outdated: the version is another.
// NotReady: as with Change.
func (s *Store) Cut(ctx context.Context, v seckill.VoucherID, total, version int64) error {
	const op = "redisstore.Cut"
	reply, err := lua.Cut.Run(ctx, s.db, s.keys.books(v), total, version, version+1, changed, v.String()).StringSlice()
	return changeFault(op, "CUT", reply, err)
}

func changeFault(op, done string, reply []string, err error) error {
	if err != nil {
		return fault(op, err)
	}
	switch tag, rest := head(reply); {
	case tag == done:
		return nil
	case tag == "BELOW_SOLD" && len(rest) == 1:
		return &seckill.Error{Op: op, Code: seckill.BelowSold, Err: seckill.Held(number(rest[0]))}
	case tag == "STALE":
		return &seckill.Error{Op: op, Code: seckill.Outdated}
	case tag == "NOT_LOADED":
		return &seckill.Error{Op: op, Code: seckill.NotReady}
	default:
		return foreign(op, reply)
	}
}

// Clock is the time that judges the window of a voucher: in a cluster that of its own node.
func (s *Store) Clock(ctx context.Context, v seckill.VoucherID) (time.Time, error) {
	const op = "redisstore.Clock"
	var node redis.Cmdable = s.db
	if cluster, ok := s.db.(*redis.ClusterClient); ok {
		master, err := cluster.MasterForKey(ctx, s.keys.voucher(v))
		if err != nil {
			return time.Time{}, fault(op, err)
		}
		node = master
	}
	now, err := node.Time(ctx).Result()
	return now.UTC(), fault(op, err)
}

package redisstore

import (
	"cmp"
	"context"
	"math"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Rescue gives the consumer what stands in partition p's stream, was passed over or
// acknowledged by hand (XGROUP SETID, XACK), and is therefore nobody's: not pending, and not
// new either. It returns how many entries they were; they count as idle for long, so that
// the next Claim takes them. Where all is well it costs two looks at the oldest entry, since
// what is nobody's stays in the stream until it is the oldest.
func (s *Store) Rescue(ctx context.Context, p int, consumer string) (rescued int, err error) {
	const op, size = "redisstore.Rescue", 1000
	read, err := s.lastRead(ctx, p)
	if err != nil || read == "" {
		return 0, fault(op, err)
	}
	for from, count := "-", int64(1); ; count = size {
		standing, err := s.db.XRangeN(ctx, s.keys.stream(p), from, read, count).Result()
		if err != nil || len(standing) == 0 {
			return rescued, fault(op, err)
		}
		n, err := s.rescue(ctx, p, consumer, standing)
		rescued += n
		if err != nil || rescued == 0 {
			return rescued, fault(op, err)
		}
		from = "(" + standing[len(standing)-1].ID
	}
}

// lastRead is the newest entry that a consumer was given; "" where there is no group.
func (s *Store) lastRead(ctx context.Context, p int) (string, error) {
	groups, err := s.db.XInfoGroups(ctx, s.keys.stream(p)).Result()
	return newest(groups), unlessMissing(err)
}

func newest(groups []redis.XInfoGroup) string {
	for _, g := range groups {
		if g.Name == group {
			return g.LastDeliveredID
		}
	}
	return ""
}

// rescue takes those of the entries that are nobody's. One look tells what is pending and
// what was read: a group that was begun anew meanwhile has yet to read them. One that is
// settled meanwhile is gone from the stream, and Redis claims nothing that is not there.
func (s *Store) rescue(ctx context.Context, p int, consumer string, standing []redis.XMessage) (int, error) {
	look := s.db.TxPipeline()
	groups := look.XInfoGroups(ctx, s.keys.stream(p))
	pending := look.XPendingExt(ctx, &redis.XPendingExtArgs{
		Stream: s.keys.stream(p), Group: group, Start: standing[0].ID, End: standing[len(standing)-1].ID, Count: int64(len(standing)),
	})
	if _, err := look.Exec(ctx); err != nil {
		return 0, err
	}
	read := newest(groups.Val())
	somebodys := make(map[string]bool, len(pending.Val()))
	for _, e := range pending.Val() {
		somebodys[e.ID] = true
	}
	args := []any{"xclaim", s.keys.stream(p), group, consumer, 0}
	before := len(args)
	for _, m := range standing {
		if !somebodys[m.ID] && !later(m.ID, read) {
			args = append(args, m.ID)
		}
	}
	if len(args) == before {
		return 0, nil
	}
	taken, err := s.db.Do(ctx, append(args, "idle", math.MaxInt32, "force", "justid")...).StringSlice()
	return len(taken), err
}

// later reports whether entry a is newer than entry b, both as milliseconds-number.
func later(a, b string) bool {
	aTime, aNumber, _ := strings.Cut(a, "-")
	bTime, bNumber, _ := strings.Cut(b, "-")
	return cmp.Or(
		cmp.Compare(len(aTime), len(bTime)), strings.Compare(aTime, bTime),
		cmp.Compare(len(aNumber), len(bNumber)), strings.Compare(aNumber, bNumber),
	) > 0
}

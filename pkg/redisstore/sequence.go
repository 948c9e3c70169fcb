package redisstore

import (
	"context"
	"strconv"
	"time"

	"github.com/openseckill/seckill/lua"
	"github.com/openseckill/seckill/pkg/seckill"
)

// sequenceTTL keeps the counter of a day longer than any clock can be wrong.
const sequenceTTL = 7 * 24 * time.Hour

// TakeSequence reserves n order id numbers of a UTC day, yyyyMMdd, in partition p: last-n+1 to
// last. Each partition counts for itself, so that its orders need no other master. A counter
// that is missing, or was last used on another server or in an earlier life of this one, may
// have given out more than it knows: it goes on from floor. With a negative floor that is
// NotReady instead, with the last number that is known.
func (s *Store) TakeSequence(ctx context.Context, p int, day string, n, floor int64) (last int64, err error) {
	const op = "redisstore.TakeSequence"
	from := ""
	if floor >= 0 {
		from = strconv.FormatInt(floor, 10)
	}
	reply, err := lua.Sequence.Run(ctx, s.db, []string{s.keys.sequence(p, day), s.keys.sequenceRun(p, day)}, n, from, int(sequenceTTL.Seconds())).StringSlice()
	if err != nil {
		return 0, fault(op, err)
	}
	tag, rest := head(reply)
	if len(rest) == 1 {
		last, err = strconv.ParseInt(rest[0], 10, 64)
	}
	switch {
	case err != nil || len(rest) != 1:
		return 0, foreign(op, reply)
	case tag == "DOUBTFUL":
		return last, &seckill.Error{Op: op, Code: seckill.NotReady}
	case tag == "TAKEN":
		return last, nil
	default:
		return 0, foreign(op, reply)
	}
}

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

// TakeSequence reserves n order id numbers of a UTC day, yyyyMMdd: last-n+1 to last. A
// missing counter is created at floor; with a negative floor it is NotReady instead, so
// that the caller can find out where a lost one must start.
func (s *Store) TakeSequence(ctx context.Context, day string, n, floor int64) (last int64, err error) {
	const op = "redisstore.TakeSequence"
	from := ""
	if floor >= 0 {
		from = strconv.FormatInt(floor, 10)
	}
	reply, err := lua.Sequence.Run(ctx, s.db, []string{s.keys.sequence(day)}, n, from, int(sequenceTTL.Seconds())).StringSlice()
	if err != nil {
		return 0, fault(op, err)
	}
	tag, rest := head(reply)
	if tag == "MISSING" {
		return 0, &seckill.Error{Op: op, Code: seckill.NotReady}
	}
	if tag == "TAKEN" && len(rest) == 1 {
		if last, err = strconv.ParseInt(rest[0], 10, 64); err == nil {
			return last, nil
		}
	}
	return 0, foreign(op, reply)
}

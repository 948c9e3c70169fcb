package redisstore

import (
	"context"
	"strconv"
	"time"

	"github.com/openseckill/seckill/lua"
	"github.com/openseckill/seckill/pkg/seckill"
)

// Admit asks for one unit under o's id. It answers nil when the order is admitted, also
// when an earlier call with the same id was, whose reply got lost; AlreadyOrdered with the
// order that the user holds; SoldOut, NotStarted with the begin, Ended, or NotReady where
// the voucher is not loaded or its books do not balance. After Unavailable it is not known
// what happened: asking again with any id tells.
func (s *Store) Admit(ctx context.Context, o seckill.Order) (seckill.Admission, error) {
	const op = "redisstore.Admit"
	keys := append(s.keys.books(o.Voucher), s.keys.stream(s.keys.partition(o.Voucher)))
	reply, err := lua.Seckill.Run(ctx, s.db, keys, o.User.String(), o.ID.String(), o.Voucher.String()).StringSlice()
	if err != nil {
		return seckill.Admission{}, fault(op, err)
	}
	return admission(op, o.ID, reply)
}

func admission(op string, asked seckill.OrderID, reply []string) (a seckill.Admission, err error) {
	tag, rest := head(reply)
	refused := func(c seckill.Code) (seckill.Admission, error) { return a, &seckill.Error{Op: op, Code: c} }
	switch {
	case tag == "ACCEPTED" && len(rest) == 2 && rest[0] == asked.String():
		a.Order = asked
		if a.Left, err = strconv.ParseInt(rest[1], 10, 64); err == nil {
			return a, nil
		}
	case tag == "ORDERED" && len(rest) == 1:
		if a.Order, err = seckill.ParseOrderID(rest[0]); err != nil {
			break
		}
		if a.Order == asked {
			return a, nil
		}
		return refused(seckill.AlreadyOrdered)
	case tag == "SOLD_OUT":
		return refused(seckill.SoldOut)
	case tag == "NOT_STARTED" && len(rest) == 1:
		var ms int64
		if ms, err = strconv.ParseInt(rest[0], 10, 64); err == nil {
			a.Begin = time.UnixMilli(ms).UTC()
			return refused(seckill.NotStarted)
		}
	case tag == "ENDED":
		return refused(seckill.Ended)
	case tag == "NOT_LOADED":
		return refused(seckill.NotReady)
	}
	return seckill.Admission{}, foreign(op, reply)
}

func head(reply []string) (tag string, rest []string) {
	if len(reply) == 0 {
		return "", nil
	}
	return reply[0], reply[1:]
}

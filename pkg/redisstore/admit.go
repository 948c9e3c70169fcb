package redisstore

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/trace"

	"github.com/openseckill/seckill/pkg/seckill"
)

// Admit asks for one unit under o's id. It answers nil when the order is admitted, also
// when an earlier call with the same id was, whose reply got lost; AlreadyOrdered with the
// order that the user holds; SoldOut, NotStarted with the begin, Ended, or NotReady where
// the voucher is not loaded or its books do not balance. Overloaded: too many wait for
// Redis, and nothing was done. After Unavailable it is not known what happened, or too few
// replicas hold the order that was made: asking again with any id tells. The order of an
// earlier call comes with that error: too few replicas hold it, but SQL may.
func (s *Store) Admit(ctx context.Context, o seckill.Order) (a seckill.Admission, err error) {
	const op = "redisstore.Admit"
	ctx, span := begin(ctx, op, trace.SpanKindProducer)
	defer func() { end(span, o, err) }()
	b := s.batches[s.keys.partition(o.Voucher)]
	reply, err := b.ask(ctx, op, o)
	if lost(err) && ctx.Err() == nil {
		// Whatever became of the first, a second one under the same id finds it.
		if again, failed := b.ask(ctx, op, o); failed == nil {
			reply, err = again, nil
		}
	}
	if err != nil {
		return doubtful(reply), err
	}
	return admission(op, o.ID, reply)
}

// doubtful is the order that a user holds already, where too few replicas are sure of it.
func doubtful(reply []string) (a seckill.Admission) {
	if tag, rest := head(reply); tag == "ORDERED" && len(rest) == 1 {
		a.Order, _ = seckill.ParseOrderID(rest[0])
	}
	return a
}

// lost reports whether err is the loss of a reply: the server, or what stands for it, said
// nothing at all.
func lost(err error) bool {
	var said redis.Error
	return errors.Is(err, seckill.Unavailable) && !errors.As(err, &said) && !errors.Is(err, errReplicas) && !errors.Is(err, errClosed)
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
	case tag == "NOT_STARTED" && len(rest) == 2:
		begin, now := number(rest[0]), number(rest[1])
		if begin >= 0 && now >= 0 {
			a.Begin, a.Now = time.UnixMilli(begin).UTC(), time.UnixMilli(now).UTC()
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

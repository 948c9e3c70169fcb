package redisstore

import (
	"context"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/trace"

	"github.com/openseckill/seckill/lua"
	"github.com/openseckill/seckill/pkg/seckill"
)

// Release gives the unit of a dead order back to the sale. It may be called any number of
// times, from any process: only the first finds the ticket.
func (s *Store) Release(ctx context.Context, o seckill.Order) (released bool, err error) {
	return s.decide(ctx, "redisstore.Release", "RELEASED", "NOT_HELD",
		lua.Release, s.keys.books(o.Voucher), o.User.String(), o.ID.String(), changed, o.Voucher.String())
}

// Adopt lets the user's ticket name existing where it names o, a duplicate of it.
func (s *Store) Adopt(ctx context.Context, o seckill.Order, existing seckill.OrderID) (adopted bool, err error) {
	return s.decide(ctx, "redisstore.Adopt", "ADOPTED", "NOT_HELD",
		lua.Adopt, []string{s.keys.tickets(o.Voucher)}, o.User.String(), o.ID.String(), existing.String(), changed, o.Voucher.String())
}

// Requeue queues an order again whose entry was lost, if the user still holds its ticket.
func (s *Store) Requeue(ctx context.Context, o seckill.Order) (queued bool, err error) {
	p := s.keys.partition(o.Voucher)
	return s.decide(ctx, "redisstore.Requeue", "QUEUED", "NOT_HELD",
		lua.Requeue, []string{s.keys.tickets(o.Voucher), s.keys.stream(p)}, o.User.String(), o.ID.String(), o.Voucher.String())
}

// Mark lets the user hold a unit by the live order o, if the ticket is still the one that
// was read (0: none). Books that do not balance are NotReady: they are the sync's to mend.
func (s *Store) Mark(ctx context.Context, o seckill.Order, read seckill.OrderID) (marked bool, err error) {
	was := ""
	if read != 0 {
		was = read.String()
	}
	return s.decide(ctx, "redisstore.Mark", "MARKED", "NOT_HELD",
		lua.Mark, s.keys.books(o.Voucher), o.User.String(), was, o.ID.String(), changed, o.Voucher.String())
}

// decide runs a script that does one thing or, for a reason of its own, nothing.
func (s *Store) decide(ctx context.Context, op, did, didNot string, script *redis.Script, keys []string, args ...any) (done bool, err error) {
	ctx, span := begin(ctx, op, trace.SpanKindClient)
	defer func() { end(span, seckill.Order{}, err) }()
	reply, err := script.Run(ctx, s.db, keys, args...).StringSlice()
	if err != nil {
		return false, fault(op, err)
	}
	switch tag, _ := head(reply); tag {
	case did:
		return true, nil
	case didNot:
		return false, nil
	case "NOT_LOADED":
		return false, &seckill.Error{Op: op, Code: seckill.NotReady}
	default:
		return false, foreign(op, reply)
	}
}

package redisstore

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/openseckill/seckill/lua"
	"github.com/openseckill/seckill/pkg/seckill"
)

// scanPage is how many members a scan asks for at a time, and pairsMax how many pairs one
// script call takes: each keeps Redis busy for about a millisecond.
const (
	scanPage = 1000
	pairsMax = 1000
)

// Load closes a voucher and makes token the one sync that may fill and open it.
func (s *Store) Load(ctx context.Context, v seckill.VoucherID, token string) error {
	server, err := s.load(ctx, v, token)
	if err != nil || server != "" {
		return err
	}
	// The keys were flushed: whoever connects next would note the server, and close again
	// what is about to be opened.
	if err := s.meetAgain(ctx, v); err != nil {
		return fault("redisstore.Load", err)
	}
	_, err = s.load(ctx, v, token)
	return err
}

func (s *Store) load(ctx context.Context, v seckill.VoucherID, token string) (server string, err error) {
	const op = "redisstore.Load"
	reply, err := lua.Load.Run(ctx, s.db, s.keys.sync(v), token).StringSlice()
	if err != nil {
		return "", fault(op, err)
	}
	if tag, rest := head(reply); tag == "LOADING" && len(rest) == 1 {
		return rest[0], nil
	}
	return "", foreign(op, reply)
}

// Shut closes a voucher until the next sync. It also ends a sync that is under way, whose
// picture may be the one that proved wrong.
func (s *Store) Shut(ctx context.Context, v seckill.VoucherID) error {
	return s.Load(ctx, v, "shut")
}

// Fill makes users buyers with tickets. Outdated: another sync has begun.
func (s *Store) Fill(ctx context.Context, v seckill.VoucherID, token string, holders []seckill.Holder) error {
	return inPairs(holders, token,
		func(h seckill.Holder) (user, order string) { return h.User.String(), h.Order.String() },
		func(args []any) error { return s.pairs(ctx, "redisstore.Fill", "FILLED", lua.Fill, v, args) })
}

// Forget takes buyers off the books whose ticket is still the one that was read. Outdated:
// another sync has begun.
func (s *Store) Forget(ctx context.Context, v seckill.VoucherID, token string, tickets []seckill.Ticket) error {
	return inPairs(tickets, token,
		func(t seckill.Ticket) (buyer, order string) { return t.Buyer, t.Order },
		func(args []any) error { return s.pairs(ctx, "redisstore.Forget", "FORGOTTEN", lua.Forget, v, args) })
}

// inPairs hands out what a script takes, a part at a time: all of it would be a hundred
// bytes for each.
func inPairs[T any](all []T, token string, pair func(T) (string, string), run func(args []any) error) error {
	for part := range slices.Chunk(all, pairsMax) {
		args := append(make([]any, 0, 1+2*len(part)), token)
		for _, one := range part {
			x, y := pair(one)
			args = append(args, x, y)
		}
		if err := run(args); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) pairs(ctx context.Context, op, done string, script *redis.Script, v seckill.VoucherID, args []any) error {
	keys := []string{s.keys.voucher(v), s.keys.buyers(v), s.keys.tickets(v)}
	reply, err := script.Run(ctx, s.db, keys, args...).StringSlice()
	if err != nil {
		return fault(op, err)
	}
	switch tag, _ := head(reply); tag {
	case done:
		return nil
	case "STALE":
		return &seckill.Error{Op: op, Code: seckill.Outdated}
	default:
		return foreign(op, reply)
	}
}

// OpenSale ends a sync: the voucher sells again, with what its total leaves. Outdated:
// another sync has begun, Redis holds a newer version, or this is not the server that was
// closed. NotReady: buyers and tickets differ, so the sync has to start over.
func (s *Store) OpenSale(ctx context.Context, v seckill.Voucher, token string) (left int64, err error) {
	const op = "redisstore.OpenSale"
	reply, err := lua.Open.Run(ctx, s.db, s.keys.sync(v.ID),
		token, v.Total, v.Begin.UnixMilli(), v.End.UnixMilli(), v.Version, changed, v.ID.String()).StringSlice()
	if err != nil {
		return 0, fault(op, err)
	}
	tag, rest := head(reply)
	switch {
	case tag == "OPEN" && len(rest) == 1:
		if left, err = strconv.ParseInt(rest[0], 10, 64); err == nil {
			return left, nil
		}
	case tag == "STALE":
		return 0, &seckill.Error{Op: op, Code: seckill.Outdated}
	case tag == "UNEVEN":
		return 0, &seckill.Error{Op: op, Code: seckill.NotReady}
	}
	return 0, foreign(op, reply)
}

// Books returns the books of a voucher in Redis, read at one moment.
func (s *Store) Books(ctx context.Context, v seckill.VoucherID) (b seckill.RedisBooks, err error) {
	const op = "redisstore.Books"
	p := s.db.TxPipeline()
	voucher, stock := p.HGetAll(ctx, s.keys.voucher(v)), p.Get(ctx, s.keys.stock(v))
	server := p.Get(ctx, s.keys.server(s.keys.partition(v)))
	buyers, tickets := p.SCard(ctx, s.keys.buyers(v)), p.HLen(ctx, s.keys.tickets(v))
	if err := exec(ctx, p); err != nil {
		return b, fault(op, err)
	}
	for _, cmd := range []redis.Cmder{voucher, stock, server, buyers, tickets} {
		if err := unlessType(cmd.Err()); err != nil && !errors.Is(err, redis.Nil) {
			return b, fault(op, err)
		}
	}
	hash := voucher.Val()
	b = seckill.RedisBooks{State: hash["state"], Total: number(hash["total"]), Version: number(hash["version"]),
		Begin: number(hash["begin"]), End: number(hash["end"]),
		Stock: number(stock.Val()), Buyers: count(buyers), Tickets: count(tickets)}
	if b.State == "open" && hash["server"] != server.Val() {
		b.State = "stale"
	}
	return b, nil
}

// count is how many a key holds, or -1 where it is of another type.
func count(cmd *redis.IntCmd) int64 {
	if cmd.Err() != nil {
		return -1
	}
	return cmd.Val()
}

// number reads a plain non-negative decimal; anything else is -1.
func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != text {
		return -1
	}
	return n
}

// Buyers hands out all buyers of a voucher with the tickets that they hold, each at least
// once, in pages: every ticket, then the buyers that have none.
func (s *Store) Buyers(ctx context.Context, v seckill.VoucherID, page func([]seckill.Ticket) error) error {
	const op = "redisstore.Buyers"
	err := scan(op, func(cursor uint64) ([]string, uint64, error) {
		return s.db.HScan(ctx, s.keys.tickets(v), cursor, "", scanPage).Result()
	}, func(found []string) error {
		tickets := make([]seckill.Ticket, 0, len(found)/2)
		for i := 0; i+1 < len(found); i += 2 {
			tickets = append(tickets, seckill.Ticket{Buyer: found[i], Order: found[i+1]})
		}
		return page(tickets)
	})
	if err != nil {
		return err
	}
	return scan(op, func(cursor uint64) ([]string, uint64, error) {
		return s.db.SScan(ctx, s.keys.buyers(v), cursor, "", scanPage).Result()
	}, func(found []string) error {
		tickets, err := s.without(ctx, v, found)
		if err != nil {
			return fault(op, err)
		}
		return page(tickets)
	})
}

// without returns those of the buyers that have no ticket.
func (s *Store) without(ctx context.Context, v seckill.VoucherID, buyers []string) (tickets []seckill.Ticket, err error) {
	if len(buyers) == 0 {
		return nil, nil
	}
	orders, err := s.db.HMGet(ctx, s.keys.tickets(v), buyers...).Result()
	if unlessType(err) != nil {
		return nil, err
	}
	for i, buyer := range buyers {
		if err != nil || orders[i] == nil {
			tickets = append(tickets, seckill.Ticket{Buyer: buyer})
		}
	}
	return tickets, nil
}

func scan(op string, next func(cursor uint64) ([]string, uint64, error), page func([]string) error) error {
	for cursor := uint64(0); ; {
		found, to, err := next(cursor)
		if err = unlessType(err); err != nil {
			return fault(op, err)
		}
		if err := page(found); err != nil {
			return err
		}
		if to == 0 {
			return nil
		}
		cursor = to
	}
}

package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/openseckill/seckill/lua"
	"github.com/openseckill/seckill/pkg/seckill"
)

// The names that bury puts in front of a message's own fields.
var burial = [...]string{"entry", "reason", "attempts"}

// Dead returns up to count buried messages of partition p, oldest first, after the entry
// named ("" for the first).
func (s *Store) Dead(ctx context.Context, p int, after string, count int) ([]seckill.Dead, error) {
	from := "-"
	if after != "" {
		from = "(" + after
	}
	return s.deadRange(ctx, "redisstore.Dead", p, from, "+", count)
}

// Buried returns up to count buried messages of all partitions after the one named (the zero
// id: from the first), one partition after the other, each oldest first.
func (s *Store) Buried(ctx context.Context, after seckill.DeadID, count int) (found []seckill.Dead, err error) {
	for p := after.Partition; p < s.Partitions() && len(found) < count; p++ {
		page, err := s.Dead(ctx, p, after.Entry, count-len(found))
		if err != nil {
			return nil, err
		}
		found, after.Entry = append(found, page...), ""
	}
	return found, nil
}

// DeadMessage returns one buried message; DeadNotFound if there is none of this id.
func (s *Store) DeadMessage(ctx context.Context, id seckill.DeadID) (seckill.Dead, error) {
	const op = "redisstore.DeadMessage"
	if id.Partition >= s.Partitions() {
		return seckill.Dead{}, noSuchDead(op, id)
	}
	found, err := s.deadRange(ctx, op, id.Partition, id.Entry, id.Entry, 1)
	if err != nil {
		return seckill.Dead{}, err
	}
	if len(found) == 0 {
		return seckill.Dead{}, noSuchDead(op, id)
	}
	return found[0], nil
}

// DropDead deletes a buried message. False: there is none of this id.
func (s *Store) DropDead(ctx context.Context, id seckill.DeadID) (dropped bool, err error) {
	if id.Partition >= s.Partitions() {
		return false, nil
	}
	tx := s.db.TxPipeline()
	n := tx.XDel(ctx, s.keys.dead(id.Partition), id.Entry)
	tx.HDel(ctx, s.keys.replays(id.Partition), id.Entry)
	_, err = tx.Exec(ctx)
	return n.Val() == 1, fault("redisstore.DropDead", err)
}

// Replay admits the user of a buried message anew and drops the message. The order gets
// fresh as its id, or the id that an earlier replay of the message wrote down before it
// was cut short: so any number of replays make one order. The old id stays dead, since
// its row is rejected. A message that is not there is DeadNotFound, one without a
// readable user and voucher Invalid; the refusals are those of Admit, come with the order
// that was asked for, and leave the message buried.
func (s *Store) Replay(ctx context.Context, id seckill.DeadID, fresh seckill.OrderID) (seckill.Order, error) {
	const op = "redisstore.Replay"
	d, err := s.DeadMessage(ctx, id)
	if err != nil {
		return seckill.Order{}, err
	}
	o := d.Order
	if o.User == 0 || o.Voucher == 0 {
		return o, &seckill.Error{Op: op, Code: seckill.Invalid, Err: errors.New("the message names no user or no voucher")}
	}
	if o.ID, err = s.replayID(ctx, id, fresh); err != nil {
		return o, err
	}
	if _, err = s.Admit(ctx, o); err != nil {
		return o, err
	}
	_, err = s.DropDead(ctx, id)
	return o, err
}

// replayID writes down the id of the order before anything is done under it, and returns
// the one that stands there.
func (s *Store) replayID(ctx context.Context, id seckill.DeadID, fresh seckill.OrderID) (seckill.OrderID, error) {
	const op = "redisstore.Replay"
	keys := []string{s.keys.dead(id.Partition), s.keys.replays(id.Partition)}
	reply, err := lua.Replay.Run(ctx, s.db, keys, id.Entry, fresh.String()).StringSlice()
	if err != nil {
		return 0, fault(op, err)
	}
	switch tag, rest := head(reply); {
	case tag == "REPLAY" && len(rest) == 1:
		return seckill.ParseOrderID(rest[0])
	case tag == "GONE":
		return 0, noSuchDead(op, id)
	default:
		return 0, foreign(op, reply)
	}
}

func noSuchDead(op string, id seckill.DeadID) error {
	return &seckill.Error{Op: op, Code: seckill.DeadNotFound, Err: fmt.Errorf("no message is buried under %s", id)}
}

// deadRange asks for the entries as they are: the client's own reply type is a map, which
// loses the order of the fields and all but one of those that share a name.
func (s *Store) deadRange(ctx context.Context, op string, p int, from, to string, count int) ([]seckill.Dead, error) {
	entries, err := s.db.Do(ctx, "XRANGE", s.keys.dead(p), from, to, "COUNT", count).Slice()
	if err != nil {
		return nil, fault(op, err)
	}
	found := make([]seckill.Dead, len(entries))
	for i, e := range entries {
		pair, ok := e.([]any)
		if !ok || len(pair) != 2 {
			return nil, foreign(op, e)
		}
		id, _ := pair[0].(string)
		values, _ := pair[1].([]any)
		found[i] = dead(seckill.DeadID{Partition: p, Entry: id}, values)
	}
	return found, nil
}

// dead reads an entry by the places at which bury put things. One that another program
// wrote keeps all its fields.
func dead(id seckill.DeadID, values []any) seckill.Dead {
	d := seckill.Dead{ID: id, BuriedAt: entryTime(id.Entry)}
	for _, v := range values {
		text, _ := v.(string)
		d.Fields = append(d.Fields, text)
	}
	if isBurial(d.Fields) {
		d.Original, d.Reason = d.Fields[1], seckill.Reason(d.Fields[3])
		d.Attempts, _ = strconv.ParseInt(d.Fields[5], 10, 64)
		d.Fields = d.Fields[2*len(burial):]
	}
	m := redis.XMessage{ID: d.Original, Values: map[string]any{}}
	for i := 0; i+1 < len(d.Fields); i += 2 {
		m.Values[d.Fields[i]] = d.Fields[i+1] // of two with one name the last counts, as for a worker
	}
	d.Order = delivery(id.Partition, m).Order
	return d
}

func isBurial(fields []string) bool {
	if len(fields) < 2*len(burial) {
		return false
	}
	for i, name := range burial {
		if fields[2*i] != name {
			return false
		}
	}
	return true
}

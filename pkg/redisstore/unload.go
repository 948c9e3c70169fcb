package redisstore

import (
	"context"
	"time"

	"github.com/openseckill/seckill/lua"
	"github.com/openseckill/seckill/pkg/seckill"
)

// Unload takes the keys of a voucher away if its sale has been over for life or longer, by
// Redis' clock: nobody can have bought since.
func (s *Store) Unload(ctx context.Context, v seckill.VoucherID, life time.Duration) (unloaded bool, err error) {
	return s.decide(ctx, "redisstore.Unload", "UNLOADED", "KEPT", lua.Unload, s.keys.books(v), life.Milliseconds())
}

// ForgetKeys takes the keys of a voucher away, whatever they hold.
func (s *Store) ForgetKeys(ctx context.Context, v seckill.VoucherID) error {
	return fault("redisstore.ForgetKeys", s.db.Unlink(ctx, s.keys.books(v)...).Err())
}

// ForgetMessages takes all messages of a voucher away, those that wait and those that are
// buried, and returns how many they were.
func (s *Store) ForgetMessages(ctx context.Context, v seckill.VoucherID) (waiting, buried int, err error) {
	if waiting, err = s.forgetWaiting(ctx, v); err == nil {
		buried, err = s.forgetBuried(ctx, v)
	}
	return waiting, buried, err
}

func (s *Store) forgetWaiting(ctx context.Context, v seckill.VoucherID) (n int, err error) {
	const op, size = "redisstore.ForgetMessages", 1000
	p := s.keys.partition(v)
	for from := "-"; ; {
		messages, err := s.db.XRangeN(ctx, s.keys.stream(p), from, "+", size).Result()
		if err != nil {
			return n, fault(op, err)
		}
		var entries []string
		for _, m := range messages {
			if delivery(p, m).Order.Voucher == v {
				entries = append(entries, m.ID)
			}
		}
		if err := s.forgetEntries(ctx, p, entries); err != nil {
			return n, err
		}
		if n += len(entries); len(messages) < size {
			return n, nil
		}
		from = "(" + messages[size-1].ID
	}
}

// forgetEntries deletes entries that nobody has read, too, which Settle is not for.
func (s *Store) forgetEntries(ctx context.Context, p int, entries []string) error {
	if len(entries) == 0 {
		return nil
	}
	tx := s.db.TxPipeline()
	tx.XAck(ctx, s.keys.stream(p), group, entries...)
	tx.XDel(ctx, s.keys.stream(p), entries...)
	tx.HDel(ctx, s.keys.tries(p), entries...)
	_, err := tx.Exec(ctx)
	return fault("redisstore.ForgetMessages", err)
}

func (s *Store) forgetBuried(ctx context.Context, v seckill.VoucherID) (n int, err error) {
	const size = 500
	for at := (seckill.DeadID{Partition: s.keys.partition(v)}); ; {
		page, err := s.Dead(ctx, at.Partition, at.Entry, size)
		if err != nil {
			return n, err
		}
		for _, d := range page {
			at = d.ID
			if d.Order.Voucher != v {
				continue
			}
			if _, err := s.DropDead(ctx, d.ID); err != nil {
				return n, err
			}
			n++
		}
		if len(page) < size {
			return n, nil
		}
	}
}

package sqlstore

import (
	"context"
	"math"

	"github.com/jmoiron/sqlx"
	"github.com/openseckill/seckill/pkg/seckill"
)

// LogDeed adds an entry to the log of what admins did, for a deed that changes nothing here.
func (s *Store) LogDeed(ctx context.Context, d seckill.Deed) error {
	return fault("sqlstore.LogDeed", s.insertDeed(ctx, s.db, d))
}

func (s *Store) insertDeed(ctx context.Context, e sqlx.ExecerContext, d seckill.Deed) error {
	detail := string(d.Detail)
	if detail == "" {
		detail = "{}"
	}
	query := "INSERT INTO admin_audit (at, actor, action, voucher_id, request_id, detail) VALUES (" + s.dialect.now + ", ?, ?, ?, ?, ?)"
	_, err := e.ExecContext(ctx, query, d.Actor, d.Action, d.Voucher, d.Request, detail)
	return err
}

// Deeds lists at most limit entries below an id, newest first; before 0 means from the newest.
func (s *Store) Deeds(ctx context.Context, before int64, limit int) ([]seckill.Deed, error) {
	var rows []struct {
		ID      int64             `db:"id"`
		At      int64             `db:"at"`
		Actor   seckill.UserID    `db:"actor"`
		Action  seckill.Action    `db:"action"`
		Voucher seckill.VoucherID `db:"voucher_id"`
		Request string            `db:"request_id"`
		Detail  []byte            `db:"detail"`
	}
	const query = `SELECT id, at, actor, action, voucher_id, request_id, detail FROM admin_audit
		WHERE id < ? ORDER BY id DESC LIMIT ?`
	if before == 0 {
		before = math.MaxInt64
	}
	if err := s.db.SelectContext(ctx, &rows, query, before, limit); err != nil {
		return nil, fault("sqlstore.Deeds", err)
	}
	deeds := make([]seckill.Deed, len(rows))
	for i, r := range rows {
		deeds[i] = seckill.Deed{
			ID: r.ID, At: fromMillis(r.At), Actor: r.Actor, Action: r.Action,
			Voucher: r.Voucher, Request: r.Request, Detail: r.Detail,
		}
	}
	return deeds, nil
}

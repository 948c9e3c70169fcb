package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/jmoiron/sqlx"
	"github.com/openseckill/seckill/pkg/seckill"
)

// Snapshot raises the epoch of a voucher and reads, in the same transaction, the voucher,
// its live orders by id, and those of the other orders in ask that have a row. A batch under an
// older epoch is in it or is never stored: the raise locks the row that a batch deducts
// from, so a batch has either committed before or finds another epoch after. VoucherNotFound
// if there is no such voucher.
func (s *Store) Snapshot(ctx context.Context, v seckill.VoucherID, ask []seckill.OrderID) (seckill.Snapshot, error) {
	var snap seckill.Snapshot
	err := s.inTx(ctx, func(tx *sqlx.Tx) (err error) {
		if _, err = tx.ExecContext(ctx, "UPDATE seckill_voucher SET epoch = epoch + 1 WHERE id = ?", v); err != nil {
			return err
		}
		if snap.Voucher, err = lockedVoucher(ctx, tx, "sqlstore.Snapshot", v); err != nil {
			return err
		}
		if snap.Live, err = holders(ctx, tx, v); err != nil {
			return err
		}
		ask = slices.DeleteFunc(slices.Clone(ask), snap.Stored)
		rows, err := selectIn[orderRow](ctx, tx, "SELECT "+orderColumns+" FROM voucher_order WHERE id IN (?)", ask)
		snap.Rows = byID(rows)
		return err
	})
	if err != nil {
		return seckill.Snapshot{}, fault("sqlstore.Snapshot", err)
	}
	return snap, nil
}

func lockedVoucher(ctx context.Context, tx *sqlx.Tx, op string, v seckill.VoucherID) (seckill.Voucher, error) {
	var row voucherRow
	err := tx.GetContext(ctx, &row, "SELECT "+voucherColumns+" FROM seckill_voucher WHERE id = ?", v)
	if errors.Is(err, sql.ErrNoRows) {
		err = &seckill.Error{Op: op, Code: seckill.VoucherNotFound}
	}
	return row.voucher(), err
}

const liveHolders = "SELECT user_id, id FROM voucher_order WHERE voucher_id = ? AND status IN ('created', 'paid')"

// holders keeps two numbers of each live row, since there may be millions. They are sorted
// here: the index that finds them has them by status first.
func holders(ctx context.Context, tx *sqlx.Tx, v seckill.VoucherID) ([]seckill.Holder, error) {
	rows, err := tx.QueryContext(ctx, liveHolders, v)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // rows.Err says what went wrong
	var live []seckill.Holder
	for rows.Next() {
		var h seckill.Holder
		if err := rows.Scan(&h.User, &h.Order); err != nil {
			return nil, err
		}
		live = append(live, h)
	}
	slices.SortFunc(live, func(a, b seckill.Holder) int { return cmp.Compare(a.Order, b.Order) })
	return live, rows.Err()
}

// HoldLive runs fn while the row of a live order is locked, so that the order cannot die
// meanwhile. It reports false, without running fn, if the order is not live. An error of
// fn comes back as it is. fn must not use this store: on SQLite, or with one connection, it
// would wait for itself.
func (s *Store) HoldLive(ctx context.Context, id seckill.OrderID, fn func(ctx context.Context) error) (held bool, err error) {
	var failure error // of fn, which need not speak in codes
	err = s.inTx(ctx, func(tx *sqlx.Tx) error {
		var status seckill.Status
		err := tx.GetContext(ctx, &status, "SELECT status FROM voucher_order WHERE id = ?"+s.dialect.forUpdate, id)
		if errors.Is(err, sql.ErrNoRows) || err == nil && !status.Live() {
			return nil
		}
		if err != nil {
			return err
		}
		held, failure = true, fn(ctx)
		return failure
	})
	if failure != nil {
		return held, failure
	}
	return held, fault("sqlstore.HoldLive", err)
}

// Books reads the books of a voucher in one statement, and so at one moment; while orders
// are stored they balance too. VoucherNotFound if there is no such voucher.
func (s *Store) Books(ctx context.Context, v seckill.VoucherID) (seckill.SQLBooks, error) {
	const op = "sqlstore.Books"
	const query = `SELECT v.total, v.stock, v.version, v.begin_at, v.end_at, o.status, o.orders, o.due
		FROM seckill_voucher v LEFT JOIN (
			SELECT voucher_id, status, COUNT(*) AS orders, SUM(release_due) AS due
			FROM voucher_order WHERE voucher_id = ? GROUP BY voucher_id, status
		) o ON o.voucher_id = v.id WHERE v.id = ?`
	var rows []struct {
		Total   int64          `db:"total"`
		Stock   int64          `db:"stock"`
		Version int64          `db:"version"`
		Begin   int64          `db:"begin_at"`
		End     int64          `db:"end_at"`
		Status  sql.NullString `db:"status"` // NULL: no orders yet
		Orders  sql.NullInt64  `db:"orders"`
		Due     sql.NullInt64  `db:"due"`
	}
	if err := s.db.SelectContext(ctx, &rows, query, v, v); err != nil {
		return seckill.SQLBooks{}, fault(op, err)
	}
	if len(rows) == 0 {
		return seckill.SQLBooks{}, &seckill.Error{Op: op, Code: seckill.VoucherNotFound}
	}
	books := seckill.SQLBooks{
		Total: rows[0].Total, Stock: rows[0].Stock, Version: rows[0].Version, Begin: rows[0].Begin, End: rows[0].End,
		ByStatus: make(map[seckill.Status]int64, len(rows)),
	}
	for _, row := range rows {
		if row.Status.Valid {
			books.ByStatus[seckill.Status(row.Status.String)] = row.Orders.Int64
			books.ReleaseDue += row.Due.Int64
		}
	}
	return books, nil
}

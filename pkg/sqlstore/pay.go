package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jmoiron/sqlx"
	"github.com/openseckill/seckill/pkg/seckill"
)

// Pay makes an order paid, once for each reference: the same call again returns the same
// order. AlreadyPaid: another reference has paid it. AmountMismatch: the amount is not the
// voucher's price. Conflict: the reference stands for another order. CodeCancelled,
// CodeRejected: the order died before; the payment is then kept in late_payment, once, so
// that the money can go back. OrderNotFound: it has no row, and may be queued.
//
// An order whose time is over, but that no worker has cancelled yet, can still be paid:
// whoever changes the row first decides, no clock.
func (s *Store) Pay(ctx context.Context, id seckill.OrderID, p seckill.Payment) (seckill.Order, error) {
	const op = "sqlstore.Pay"
	var row orderRow
	var refused seckill.Code // what is said once the late payment is committed
	err := s.contend(ctx, func(tx *sqlx.Tx) error {
		now, err := s.clock(ctx, tx)
		if err != nil {
			return err
		}
		won, err := leave(ctx, tx, id, seckill.Paid, now)
		if err != nil {
			return err
		}
		if row, err = orderIn(ctx, tx, op, id); err != nil {
			return err
		}
		if won {
			return pay(ctx, tx, row, p, now)
		}
		refused, err = late(ctx, tx, row, p, now)
		return err
	})
	if err == nil && refused != "" {
		err = &seckill.Error{Op: op, Code: refused}
	}
	if err != nil {
		return seckill.Order{}, fault(op, err)
	}
	return row.order(), nil
}

// pay completes the payment of an order that this transaction made paid; its errors undo that.
func pay(ctx context.Context, tx *sqlx.Tx, row orderRow, p seckill.Payment, now int64) error {
	if err := checkAmount(ctx, tx, row.Voucher, p.Amount); err != nil {
		return err
	}
	if _, err := claimReference(ctx, tx, row.ID, p, now); err != nil {
		return err
	}
	return note(ctx, tx, []seckill.Order{row.order()}, seckill.Paid, "", now)
}

// late says what a payment meets that found its order no longer unpaid; "" means that it is
// the one that paid it. A dead order stays dead, and the payment is kept.
func late(ctx context.Context, tx *sqlx.Tx, row orderRow, p seckill.Payment, now int64) (seckill.Code, error) {
	switch row.Status {
	case seckill.Paid:
		return "", repeated(ctx, tx, row, p)
	case seckill.Rejected:
		return seckill.CodeRejected, keepLate(ctx, tx, row.ID, p, now)
	case seckill.Cancelled:
		return seckill.CodeCancelled, keepLate(ctx, tx, row.ID, p, now)
	default: // stored between the two statements
		return seckill.CodeQueued, nil
	}
}

func keepLate(ctx context.Context, tx *sqlx.Tx, id seckill.OrderID, p seckill.Payment, now int64) error {
	fresh, err := claimReference(ctx, tx, id, p, now)
	if err == nil && fresh {
		err = insertPayment(ctx, tx, "late_payment", id, p, now)
	}
	return err
}

// repeated accepts the payment that has paid this order, and no other.
func repeated(ctx context.Context, tx *sqlx.Tx, row orderRow, p seckill.Payment) error {
	paid, err := payee(ctx, tx, p.Reference)
	if errors.Is(err, sql.ErrNoRows) || err == nil && paid != row.ID {
		return &seckill.Error{Op: "sqlstore.Pay", Code: seckill.AlreadyPaid}
	}
	if err != nil {
		return err
	}
	return checkAmount(ctx, tx, row.Voucher, p.Amount)
}

func checkAmount(ctx context.Context, tx *sqlx.Tx, v seckill.VoucherID, amount int64) error {
	var price int64
	if err := tx.GetContext(ctx, &price, "SELECT price FROM seckill_voucher WHERE id = ?", v); err != nil {
		return err
	}
	if amount != price {
		return &seckill.Error{Op: "sqlstore.Pay", Code: seckill.AmountMismatch, Err: fmt.Errorf("%d instead of %d", amount, price)}
	}
	return nil
}

// claimReference makes a reference this order's, for ever; fresh says that it was nobody's before.
// Conflict: it is another order's.
func claimReference(ctx context.Context, tx *sqlx.Tx, id seckill.OrderID, p seckill.Payment, now int64) (fresh bool, err error) {
	err = insertPayment(ctx, tx, "payment", id, p, now)
	if !isDuplicate(err) {
		return err == nil, err
	}
	owner, err := payee(ctx, tx, p.Reference)
	if err == nil && owner != id {
		err = &seckill.Error{Op: "sqlstore.Pay", Code: seckill.Conflict, Err: fmt.Errorf("the reference belongs to order %s", owner)}
	}
	return false, err
}

func insertPayment(ctx context.Context, tx *sqlx.Tx, table string, id seckill.OrderID, p seckill.Payment, now int64) error {
	query := "INSERT INTO " + table + " (reference, order_id, amount, created_at) VALUES (?, ?, ?, ?)"
	_, err := tx.ExecContext(ctx, query, []byte(p.Reference), id, p.Amount, now)
	return err
}

// payee is the order that a reference stands for; sql.ErrNoRows if there is none.
func payee(ctx context.Context, tx *sqlx.Tx, reference string) (id seckill.OrderID, err error) {
	err = tx.GetContext(ctx, &id, "SELECT order_id FROM payment WHERE reference = ?", []byte(reference))
	return id, err
}

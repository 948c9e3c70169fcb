package sqlstore

import (
	"context"
	"fmt"

	"github.com/jmoiron/sqlx"
	"github.com/openseckill/seckill/pkg/seckill"
)

// ChangeVoucher gives a voucher the title, total and window of want, and the next version,
// if its version is still that of want, and logs the deed in the same transaction. It
// returns the voucher as it is then. Outdated: the version is another. BelowSold, with a Held:
// the total is below what live orders hold. NotReady: a lower total was asked for, and the epoch is not
// that of want, so a sync may have opened the sale with the higher one. A voucher that does
// not validate is Invalid.
func (s *Store) ChangeVoucher(ctx context.Context, want seckill.Voucher, by seckill.Deed) (v seckill.Voucher, err error) {
	const op = "sqlstore.ChangeVoucher"
	if err := want.Validate(); err != nil {
		return v, err
	}
	by.Voucher = want.ID
	err = s.inTx(ctx, func(tx *sqlx.Tx) error {
		// Stock comes first: MySQL assigns from left to right, and it needs the old total.
		query := `UPDATE seckill_voucher SET title = ?, stock = stock + (? - total), total = ?, begin_at = ?, end_at = ?,
			version = version + 1, updated_at = ` + s.dialect.now + `
			WHERE id = ? AND version = ? AND stock + (? - total) >= 0 AND (? >= total OR epoch = ?)`
		result, err := tx.ExecContext(ctx, query, want.Title, want.Total, want.Total,
			want.Begin.UnixMilli(), want.End.UnixMilli(), want.ID, want.Version, want.Total, want.Total, want.Epoch)
		if err != nil {
			return err
		}
		changed, err := result.RowsAffected()
		if err != nil {
			return err
		}
		if v, err = lockedVoucher(ctx, tx, op, want.ID); err != nil {
			return err
		}
		if changed == 0 {
			return unchanged(v, want)
		}
		return s.insertDeed(ctx, tx, by)
	})
	if err != nil {
		return seckill.Voucher{}, fault(op, err)
	}
	return v, nil
}

// unchanged says why a voucher did not become what was wanted.
func unchanged(v, want seckill.Voucher) error {
	refused := func(c seckill.Code, format string, a ...any) error {
		return &seckill.Error{Op: "sqlstore.ChangeVoucher", Code: c, Err: fmt.Errorf(format, a...)}
	}
	held := v.Total - v.Stock
	switch {
	case v.Version != want.Version:
		return refused(seckill.Outdated, "the version is %d, not %d", v.Version, want.Version)
	case want.Total < v.Total && v.Epoch != want.Epoch:
		return refused(seckill.NotReady, "the epoch is %d, not %d", v.Epoch, want.Epoch)
	case want.Total < held:
		return refused(seckill.BelowSold, "%w", seckill.Held(held))
	default:
		return refused(seckill.Unavailable, "an order died in between")
	}
}

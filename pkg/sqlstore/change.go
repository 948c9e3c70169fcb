package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/jmoiron/sqlx"
	"github.com/openseckill/seckill/pkg/seckill"
)

// ChangeVoucher gives a voucher the title, total and window of want, and the next version,
// if its version is still that of want, and logs the deed in the same transaction. It
// returns the voucher as it is then. Outdated: the version is another. BelowSold: the total
// is below what live orders hold. A voucher that does not validate is Invalid.
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
			WHERE id = ? AND version = ? AND stock + (? - total) >= 0`
		result, err := tx.ExecContext(ctx, query, want.Title, want.Total, want.Total,
			want.Begin.UnixMilli(), want.End.UnixMilli(), want.ID, want.Version, want.Total)
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
	e := &seckill.Error{Op: "sqlstore.ChangeVoucher", Code: seckill.BelowSold, Err: fmt.Errorf("%d are held", v.Total-v.Stock)}
	if v.Version != want.Version {
		e.Code, e.Err = seckill.Outdated, fmt.Errorf("the version is %d, not %d", v.Version, want.Version)
	} else if want.Total >= v.Total-v.Stock {
		e.Code, e.Err = seckill.Unavailable, errors.New("an order died in between")
	}
	return e
}

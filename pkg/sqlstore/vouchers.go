package sqlstore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"math"

	"github.com/jmoiron/sqlx"
	"github.com/openseckill/seckill/pkg/seckill"
)

const keyMax = 255 // bytes of an idempotency key

// CreateVoucher adds a voucher with all its stock left; its id, version and epoch are
// given here. With a key that was seen before it returns the voucher of that time, as it
// is by now, and false; Conflict if that was asked for with other content. An empty key
// is none. A voucher that does not validate is Invalid. The deeds are logged in the same
// transaction, with the voucher's id.
func (s *Store) CreateVoucher(ctx context.Context, v seckill.Voucher, key string, by ...seckill.Deed) (seckill.Voucher, bool, error) {
	const op = "sqlstore.CreateVoucher"
	if err := v.Validate(); err != nil {
		return seckill.Voucher{}, false, err
	}
	if len(key) > keyMax {
		return seckill.Voucher{}, false, &seckill.Error{Op: op, Code: seckill.Invalid, Err: fmt.Errorf("the idempotency key is longer than %d bytes", keyMax)}
	}
	var id seckill.VoucherID
	err := s.inTx(ctx, func(tx *sqlx.Tx) (err error) {
		if id, err = s.insertVoucher(ctx, tx, v, key); err != nil {
			return err
		}
		for _, d := range by {
			d.Voucher = id
			if err := s.insertDeed(ctx, tx, d); err != nil {
				return err
			}
		}
		return nil
	})
	if key != "" && isDuplicate(err) {
		earlier, err := s.earlierVoucher(ctx, key, digest(v))
		return earlier, false, fault(op, err)
	}
	if err != nil {
		return seckill.Voucher{}, false, fault(op, err)
	}
	created, err := s.Voucher(ctx, id)
	return created, err == nil, err
}

func (s *Store) insertVoucher(ctx context.Context, tx *sqlx.Tx, v seckill.Voucher, key string) (seckill.VoucherID, error) {
	var keyBytes, keyDigest []byte // NULL without a key
	if key != "" {
		keyBytes, keyDigest = []byte(key), digest(v)
	}
	query := `INSERT INTO seckill_voucher
		(title, price, currency, total, stock, begin_at, end_at, idempotency_key, idempotency_digest, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ` + s.dialect.now + `, ` + s.dialect.now + `)`
	result, err := tx.ExecContext(ctx, query, v.Title, v.Price, v.Currency, v.Total, v.Total,
		v.Begin.UnixMilli(), v.End.UnixMilli(), keyBytes, keyDigest)
	if err != nil {
		return 0, err
	}
	id, err := result.LastInsertId()
	return seckill.VoucherID(id), err
}

func (s *Store) earlierVoucher(ctx context.Context, key string, asked []byte) (seckill.Voucher, error) {
	var row struct {
		voucherRow
		Digest []byte `db:"idempotency_digest"`
	}
	query := "SELECT " + voucherColumns + ", idempotency_digest FROM seckill_voucher WHERE idempotency_key = ?"
	if err := s.db.GetContext(ctx, &row, query, []byte(key)); err != nil {
		return seckill.Voucher{}, err
	}
	if string(row.Digest) != string(asked) {
		return seckill.Voucher{}, &seckill.Error{
			Op: "sqlstore.CreateVoucher", Code: seckill.Conflict,
			Err: fmt.Errorf("the idempotency key made voucher %d of other content", row.ID),
		}
	}
	return row.voucher(), nil
}

// digest stands for what was asked for. The row may have changed since, so a repetition
// cannot be compared with that.
func digest(v seckill.Voucher) []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %d %q %d %d %d",
		v.Title, v.Price, v.Currency, v.Total, v.Begin.UnixMilli(), v.End.UnixMilli()))
	return sum[:]
}

// Voucher reads one voucher; VoucherNotFound if there is none.
func (s *Store) Voucher(ctx context.Context, id seckill.VoucherID) (seckill.Voucher, error) {
	const op = "sqlstore.Voucher"
	var row voucherRow
	err := s.db.GetContext(ctx, &row, "SELECT "+voucherColumns+" FROM seckill_voucher WHERE id = ?", id)
	if errors.Is(err, sql.ErrNoRows) {
		return seckill.Voucher{}, &seckill.Error{Op: op, Code: seckill.VoucherNotFound}
	}
	if err != nil {
		return seckill.Voucher{}, fault(op, err)
	}
	return row.voucher(), nil
}

// Vouchers lists at most limit vouchers above an id, by id ascending.
func (s *Store) Vouchers(ctx context.Context, after seckill.VoucherID, limit int) ([]seckill.Voucher, error) {
	var rows []voucherRow
	query := "SELECT " + voucherColumns + " FROM seckill_voucher WHERE id > ? ORDER BY id LIMIT ?"
	if err := s.db.SelectContext(ctx, &rows, query, after, limit); err != nil {
		return nil, fault("sqlstore.Vouchers", err)
	}
	vouchers := make([]seckill.Voucher, len(rows))
	for i, row := range rows {
		vouchers[i] = row.voucher()
	}
	return vouchers, nil
}

// Epochs reads the epoch of each voucher that there is.
func (s *Store) Epochs(ctx context.Context, ids []seckill.VoucherID) (map[seckill.VoucherID]int64, error) {
	found, err := marks(ctx, s.db, ids)
	if err != nil {
		return nil, fault("sqlstore.Epochs", err)
	}
	epochs := make(map[seckill.VoucherID]int64, len(found))
	for id, m := range found {
		epochs[id] = m.Epoch
	}
	return epochs, nil
}

// RaiseVersion makes the version above+1 unless it is greater than above already. Redis
// that is ahead of SQL, by a crash between the two, is overtaken so.
func (s *Store) RaiseVersion(ctx context.Context, id seckill.VoucherID, above int64) error {
	const op = "sqlstore.RaiseVersion"
	if above == math.MaxInt64 {
		return &seckill.Error{Op: op, Code: seckill.Invalid, Err: fmt.Errorf("no version is above %d", above)}
	}
	query := "UPDATE seckill_voucher SET version = ?, updated_at = " + s.dialect.now + " WHERE id = ? AND version <= ?"
	result, err := s.db.ExecContext(ctx, query, above+1, id, above)
	if err != nil {
		return fault(op, err)
	}
	raised, err := result.RowsAffected()
	if err == nil && raised == 0 {
		_, err = s.Voucher(ctx, id) // newer already, or not there
	}
	return fault(op, err)
}

// mark is what a deduction depends on.
type mark struct {
	ID    seckill.VoucherID `db:"id"`
	Epoch int64             `db:"epoch"`
	Stock int64             `db:"stock"`
}

func marks(ctx context.Context, q sqlx.QueryerContext, ids []seckill.VoucherID) (map[seckill.VoucherID]mark, error) {
	rows, err := selectIn[mark](ctx, q, "SELECT id, epoch, stock FROM seckill_voucher WHERE id IN (?)", ids)
	if err != nil {
		return nil, err
	}
	found := make(map[seckill.VoucherID]mark, len(rows))
	for _, row := range rows {
		found[row.ID] = row
	}
	return found, nil
}

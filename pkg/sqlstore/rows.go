package sqlstore

import (
	"database/sql"
	"time"

	"github.com/openseckill/seckill/pkg/seckill"
)

const orderColumns = "id, user_id, voucher_id, status, release_due, reason, created_at, expires_at"

// orderRow is a row of voucher_order as the driver reads it.
type orderRow struct {
	ID         seckill.OrderID   `db:"id"`
	User       seckill.UserID    `db:"user_id"`
	Voucher    seckill.VoucherID `db:"voucher_id"`
	Status     seckill.Status    `db:"status"`
	ReleaseDue bool              `db:"release_due"`
	Reason     seckill.Reason    `db:"reason"`
	CreatedAt  int64             `db:"created_at"`
	ExpiresAt  sql.NullInt64     `db:"expires_at"`
}

func (r orderRow) order() seckill.Order {
	o := seckill.Order{
		ID: r.ID, User: r.User, Voucher: r.Voucher,
		Status: r.Status, Reason: r.Reason, ReleaseDue: r.ReleaseDue,
		CreatedAt: fromMillis(r.CreatedAt),
	}
	if r.ExpiresAt.Valid {
		o.ExpiresAt = fromMillis(r.ExpiresAt.Int64)
	}
	return o
}

const voucherColumns = "id, title, price, currency, total, stock, begin_at, end_at, version, epoch"

// voucherRow is a row of seckill_voucher as the driver reads it.
type voucherRow struct {
	ID       seckill.VoucherID `db:"id"`
	Title    string            `db:"title"`
	Price    int64             `db:"price"`
	Currency string            `db:"currency"`
	Total    int64             `db:"total"`
	Stock    int64             `db:"stock"`
	BeginAt  int64             `db:"begin_at"`
	EndAt    int64             `db:"end_at"`
	Version  int64             `db:"version"`
	Epoch    int64             `db:"epoch"`
}

func (r voucherRow) voucher() seckill.Voucher {
	return seckill.Voucher{
		ID: r.ID, Title: r.Title, Price: r.Price, Currency: r.Currency, Total: r.Total, Stock: r.Stock,
		Begin: fromMillis(r.BeginAt), End: fromMillis(r.EndAt), Version: r.Version, Epoch: r.Epoch,
	}
}

func fromMillis(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

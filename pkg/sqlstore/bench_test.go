package sqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/pkg/sqlstore"
	"github.com/openseckill/seckill/pkg/sqltest"
	"github.com/stretchr/testify/require"
)

const batchSize = 512

// disk is a database whose every commit is written to a disk before it is answered.
func disk(b *testing.B) (dsn string) {
	b.Helper()
	server, err := sqltest.Start(sqltest.Options{Parent: b.TempDir(), Flags: []string{
		"--innodb-flush-log-at-trx-commit=1", "--innodb-buffer-pool-size=512M", "--innodb-log-file-size=256M",
	}})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, server.Stop()) })
	dsn, err = server.NewDatabase(b.Context())
	require.NoError(b, err)
	return dsn
}

func benchStore(b *testing.B, dsn string) (*sqlstore.Store, seckill.VoucherID) {
	b.Helper()
	s, err := sqlstore.OpenMySQL(dsn, options)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, s.Close()) })
	require.NoError(b, s.Migrate(b.Context()))
	v, _, err := s.CreateVoucher(b.Context(), flashSale(seckill.TotalMax), "")
	require.NoError(b, err)
	return s, v.ID
}

func BenchmarkStoreOrders(b *testing.B) {
	s, v := benchStore(b, disk(b))
	epochs := map[seckill.VoucherID]int64{v: 1}
	batches := 0
	for b.Loop() {
		verdicts, err := s.StoreOrders(b.Context(), benchOrders(batches, v), epochs)
		if err != nil || verdicts[0].Outcome != seckill.Stored {
			b.Fatal(verdicts, err)
		}
		batches++
	}
	report(b, batches)
}

// BenchmarkPlain is the limit: the same rows in the same table by the shortest program.
func BenchmarkPlain(b *testing.B) {
	dsn := disk(b)
	_, v := benchStore(b, dsn)
	db, err := sql.Open("mysql", dsn+"?interpolateParams=true")
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, db.Close()) })
	batches := 0
	for b.Loop() {
		if err := plain(b.Context(), db, benchOrders(batches, v)); err != nil {
			b.Fatal(err)
		}
		batches++
	}
	report(b, batches)
}

func plain(ctx context.Context, db *sql.DB, batch []seckill.Order) error {
	const now = 1767225600000
	var insert strings.Builder
	insert.WriteString("INSERT INTO voucher_order (id, user_id, voucher_id, status, created_at, updated_at, expires_at) VALUES ")
	for i, o := range batch {
		if i > 0 {
			insert.WriteByte(',')
		}
		fmt.Fprintf(&insert, "(%d,%d,%d,'created',%d,%d,%d)", o.ID, o.User, o.Voucher, now, now, now)
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(ctx, insert.String()); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "UPDATE seckill_voucher SET stock = stock - ? WHERE id = ?", len(batch), batch[0].Voucher); err != nil {
		return err
	}
	return tx.Commit()
}

// benchOrders are of users in no order, as they come in a sale.
func benchOrders(batch int, v seckill.VoucherID) []seckill.Order {
	all := make([]seckill.Order, batchSize)
	for i := range all {
		id := int64(batch*batchSize + i + 1)
		all[i] = order(seckill.OrderID(id), seckill.UserID(id*2654435761%(1<<40)+1), v)
	}
	return all
}

func report(b *testing.B, batches int) {
	b.ReportMetric(float64(batches*batchSize)/b.Elapsed().Seconds(), "orders/s")
}

package sqlstore_test

import (
	"database/sql"
	"os"
	"testing"
	"time"

	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/pkg/sqlstore"
	"github.com/openseckill/seckill/pkg/sqltest"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) { os.Exit(sqltest.Main(m)) }

var (
	begin   = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	options = sqlstore.Options{PayTimeout: 15 * time.Minute}
)

// fixture is a migrated store with a way past it.
type fixture struct {
	*sqlstore.Store
	t   *testing.T
	raw *sql.DB
}

// onBoth runs a test on either kind of database: what it says holds for both.
func onBoth(t *testing.T, test func(t *testing.T, f fixture)) {
	t.Helper()
	t.Parallel()
	t.Run("mariadb", func(t *testing.T) {
		t.Parallel()
		test(t, onMariaDB(t, options))
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, onSQLite(t, options))
	})
}

func onMariaDB(t *testing.T, o sqlstore.Options) fixture {
	t.Helper()
	return onDSN(t, sqltest.New(t), o)
}

func onDSN(t *testing.T, dsn string, o sqlstore.Options) fixture {
	t.Helper()
	s, err := sqlstore.OpenMySQL(dsn, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	require.NoError(t, s.Migrate(t.Context()))
	return fixture{Store: s, t: t, raw: open(t, dsn)}
}

func onSQLite(t *testing.T, o sqlstore.Options) fixture {
	t.Helper()
	db := sqltest.SQLite(t)
	s := sqlstore.New(db, sqlstore.SQLite, o)
	require.NoError(t, s.Migrate(t.Context()))
	return fixture{Store: s, t: t, raw: db}
}

func open(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func flashSale(total int64) seckill.Voucher {
	return seckill.Voucher{
		Title: "一元秒杀", Price: 100, Currency: "CNY", Total: total, Begin: begin, End: begin.Add(time.Hour),
	}
}

// voucher creates a voucher of so many units.
func (f fixture) voucher(total int64) seckill.VoucherID {
	f.t.Helper()
	v, created, err := f.CreateVoucher(f.t.Context(), flashSale(total), "")
	require.NoError(f.t, err)
	require.True(f.t, created)
	return v.ID
}

func (f fixture) exec(query string, args ...any) {
	f.t.Helper()
	_, err := f.raw.ExecContext(f.t.Context(), query, args...)
	require.NoError(f.t, err)
}

// cancel does what a cancellation does.
func (f fixture) cancel(o seckill.Order) {
	f.t.Helper()
	f.exec("UPDATE voucher_order SET status = 'cancelled', release_due = 1 WHERE id = ?", o.ID)
	f.exec("UPDATE seckill_voucher SET stock = stock + 1 WHERE id = ?", o.Voucher)
}

// store stores orders under the epochs of now, and returns what became of them.
func (f fixture) store(orders ...seckill.Order) []seckill.Outcome {
	f.t.Helper()
	verdicts, err := f.StoreOrders(f.t.Context(), orders, f.epochs(orders))
	require.NoError(f.t, err)
	require.Len(f.t, verdicts, len(orders))
	return outcomes(verdicts)
}

func (f fixture) epochs(orders []seckill.Order) map[seckill.VoucherID]int64 {
	f.t.Helper()
	ids := make([]seckill.VoucherID, len(orders))
	for i, o := range orders {
		ids[i] = o.Voucher
	}
	epochs, err := f.Epochs(f.t.Context(), ids)
	require.NoError(f.t, err)
	return epochs
}

// requireBooks asserts that the books balance with so many units left.
func (f fixture) requireBooks(v seckill.VoucherID, stock int64) {
	f.t.Helper()
	books, err := f.Books(f.t.Context(), v)
	require.NoError(f.t, err)
	require.True(f.t, books.Balanced(), "%+v", books)
	require.Equal(f.t, stock, books.Stock)
}

func outcomes(verdicts []seckill.Verdict) []seckill.Outcome {
	all := make([]seckill.Outcome, len(verdicts))
	for i, v := range verdicts {
		all[i] = v.Outcome
	}
	return all
}

func order(id seckill.OrderID, u seckill.UserID, v seckill.VoucherID) seckill.Order {
	return seckill.Order{ID: id, User: u, Voucher: v}
}

// orders are n orders of as many users, from these on.
func orders(n int, id seckill.OrderID, u seckill.UserID, v seckill.VoucherID) []seckill.Order {
	all := make([]seckill.Order, n)
	for i := range all {
		all[i] = order(id+seckill.OrderID(i), u+seckill.UserID(i), v)
	}
	return all
}
